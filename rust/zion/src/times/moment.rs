//! An instant, and what was lost of it.

/// An instant that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970, UTC.
    pub us: i64,
    /// Whether it has digits beyond microseconds that are not 0, which are gone.
    pub is_cut: bool,
}

impl Moment {
    /// An instant of which nothing was cut.
    pub fn exact(us: i64) -> Self {
        Self { us, is_cut: false }
    }
}
