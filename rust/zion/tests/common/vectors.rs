//! Where the test vectors are.

use std::path::PathBuf;

/// The folder of the vectors of one format; none, said aloud, when they are not at hand. Where the tests decide
/// about a change (`CI` is set) that is a failure: nothing would be compared.
#[allow(clippy::panic, clippy::print_stderr)]
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SDB_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    let message = format!("no vectors at {}; set SDB_VECTORS", folder.display());
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty() || ci == "false"), "{message}");
    eprintln!("SKIPPED: {message}");
    None
}
