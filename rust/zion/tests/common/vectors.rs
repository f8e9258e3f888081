//! Where the test vectors are.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let given = std::env::var_os("SDB_VECTORS").filter(|given| !given.is_empty());
    given.map_or_else(unpacked, PathBuf::from)
});

/// The folder of the vectors of one format: below `SDB_VECTORS`, or where those that are checked in are unpacked.
pub fn folder(name: &str) -> PathBuf {
    let folder = ROOT.join(name);
    assert!(folder.is_dir(), "no vectors at {}", folder.display());
    folder
}

/// The folder of the vectors that are checked in; `tests/vectors/archive.py` unpacks them once.
#[allow(clippy::panic)]
fn unpacked() -> PathBuf {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/archive.py");
    match Command::new("python3").arg(&script).output() {
        Ok(done) if done.status.success() => PathBuf::from(String::from_utf8_lossy(&done.stdout).trim()),
        Ok(done) => panic!("{}: {}", script.display(), String::from_utf8_lossy(&done.stderr).trim()),
        Err(error) => panic!("python3 {}: {error}", script.display()),
    }
}
