//! Compressors of chunks and of the segments inside them.

pub mod effort;
pub mod iguana;
pub mod special;
pub mod zstd;

use crate::error::{Error, Result};

/// How the chunks of a packfile are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Whole chunks as zstd frames.
    Zstd,
    /// zion, segments compressed with zstd.
    ZionZstd,
    /// zion, segments compressed with iguana.
    ZionIguana,
    /// zion, segments compressed with iguana or as vectors of numbers.
    ZionIguanaSpecialized,
}

impl Algorithm {
    /// The algorithm of a name as it stands in trailers.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "zstd" => Ok(Self::Zstd),
            "zion" | "zion+zstd" => Ok(Self::ZionZstd),
            "zion+iguana_v0" => Ok(Self::ZionIguana),
            "zion+iguana_v0/specialized" => Ok(Self::ZionIguanaSpecialized),
            _ => Err(Error::unsupported(format!("compression {name:?} is not supported"))),
        }
    }

    /// The name that trailers have for the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::ZionZstd => "zion+zstd",
            Self::ZionIguana => "zion+iguana_v0",
            Self::ZionIguanaSpecialized => "zion+iguana_v0/specialized",
        }
    }
}
