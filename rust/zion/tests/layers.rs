//! Who may use whom inside the crate: arrows run downward, as `docs/architecture.md` draws them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// A module, and those above it, which it does not know.
const ABOVE: &[(&str, &[&str])] = &[
    ("scan", &["aggregate", "pack", "unpack", "profile"]),
    ("aggregate", &["pack", "unpack", "profile"]),
    ("profile", &["pack", "unpack", "aggregate"]),
    ("block", &["pack", "unpack", "scan", "aggregate", "profile", "runs"]),
    ("codec", &["block", "bucket", "pack", "scan"]),
    ("json", &["ingest", "pack", "chunker"]),
    ("ion", &["pack", "chunker"]),
    ("key", &["scan", "aggregate", "natives", "pack", "profile"]),
    ("natives", &["scan", "aggregate", "profile"]),
];

fn sources(place: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if place.is_file() {
        found.push(place.to_owned());
    } else {
        for entry in fs::read_dir(place)? {
            sources(&entry?.path(), found)?;
        }
    }
    Ok(())
}

#[test]
fn no_module_uses_one_above_it() -> Result<(), Box<dyn Error>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (module, above) in ABOVE {
        let (mut files, file) = (Vec::new(), src.join(format!("{module}.rs")));
        sources(&if file.is_file() { file } else { src.join(module) }, &mut files)?;
        assert!(!files.is_empty(), "there is no module {module}");
        for file in files {
            let text = fs::read_to_string(&file)?;
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let uses = |name: &&&str| line.contains(&format!("crate::{name}"));
                wrong.extend(above.iter().filter(uses).map(|name| format!("{}: {name}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
