//! Replays the corpus of the fuzz targets, and everything that was ever found with them.

use std::fs;
use std::path::Path;

use zion::Result;

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

fn replay(target: &str, check: fn(&[u8]) -> Result<()>) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut count = 0;
    let files = fs::read_dir(&folder).into_iter().flatten().flatten();
    for data in files.filter_map(|file| fs::read(file.path()).ok()) {
        check(&data)?;
        count += 1;
    }
    assert!(count > 0, "{} has no corpus", folder.display());
    Ok(())
}

#[test]
fn iguana() -> Result<()> {
    replay("iguana", fuzz::iguana::check)
}

#[test]
fn ion() -> Result<()> {
    replay("ion", fuzz::ion::check)
}

#[test]
fn json() -> Result<()> {
    replay("json", fuzz::json::check)
}

#[test]
fn file() -> Result<()> {
    replay("file", fuzz::file::check)
}

#[test]
fn lanes() -> Result<()> {
    // The same blocks as those of `block`, and some of its own.
    replay("lanes", fuzz::lanes::check)?;
    replay("block", fuzz::lanes::check)
}

#[test]
fn vectors() -> Result<()> {
    replay("vectors", fuzz::vectors::check)
}

#[test]
fn zion_chunk() -> Result<()> {
    replay("zion_chunk", fuzz::zion_chunk::check)
}

#[test]
fn block() -> Result<()> {
    replay("block", fuzz::block::check)
}

#[test]
fn hints() -> Result<()> {
    replay("hints", fuzz::hints::check)
}

#[test]
fn xsv() -> Result<()> {
    replay("xsv", fuzz::xsv::check)
}

#[test]
fn logs() -> Result<()> {
    replay("logs", fuzz::logs::check)
}

#[test]
fn resume() -> Result<()> {
    // The same blocks as those of `block`, and some of its own.
    replay("resume", fuzz::resume::check)?;
    replay("block", fuzz::resume::check)
}

#[test]
fn unfold() -> Result<()> {
    replay("unfold", fuzz::unfold::check)
}
