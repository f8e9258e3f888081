//! The one error type of the crate: every variant says what was wrong and where.

use std::borrow::Cow;
use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. `offset` is a position in the bytes that the failing call was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Bytes of the format (Ion, zion, iguana, zstd) that break its rules.
    Corrupt {
        /// The layer that noticed: "ion", "zion chunk", "iguana", "zstd", "frame", ...
        layer: &'static str,
        /// Byte position in the input of the failing call.
        offset: u64,
        /// What is wrong, and what was expected instead.
        message: Cow<'static, str>,
    },
    /// Malformed input text (JSON, CSV, TSV, `CloudTrail`, hints).
    Syntax {
        /// Byte position in the decompressed input.
        offset: u64,
        /// Line number, counted from 1; 0 when it is not known.
        line: u64,
        /// What is wrong, and what was expected instead.
        message: Cow<'static, str>,
    },
    /// A row, item or output that is larger than the format or the caller allows.
    TooLarge {
        /// Byte position in the input.
        offset: u64,
        /// Line number, counted from 1; 0 when it is not known.
        line: u64,
        /// What is too large, and what the limit is.
        message: Cow<'static, str>,
    },
    /// A valid request that this build does not serve (an unknown algorithm, `s2`).
    Unsupported {
        /// What was asked for, and what would work.
        message: Cow<'static, str>,
    },
    /// Bytes of a block that could not be read from where they are.
    Read {
        /// Byte position in the block.
        offset: u64,
        /// The number that the operating system has for the reason; none: the end was met.
        code: Option<i32>,
        /// What happened.
        message: Cow<'static, str>,
    },
    /// An argument of the caller that makes no sense.
    Argument {
        /// Which argument, and what was expected.
        message: Cow<'static, str>,
    },
    /// A thread panicked: a mistake of this crate, not of its input.
    Bug {
        /// Which thread.
        message: Cow<'static, str>,
    },
}

impl Error {
    /// A [`Error::Corrupt`].
    #[cold]
    pub fn corrupt(layer: &'static str, offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt { layer, offset: offset as u64, message: message.into() }
    }

    /// A [`Error::Syntax`] whose line the caller fills in with [`Error::at_line`].
    #[cold]
    pub fn syntax(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Syntax { offset: offset as u64, line: 0, message: message.into() }
    }

    /// A [`Error::TooLarge`].
    #[cold]
    pub fn too_large(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self::TooLarge { offset: offset as u64, line: 0, message: message.into() }
    }

    /// A [`Error::Unsupported`].
    #[cold]
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported { message: message.into() }
    }

    /// A [`Error::Argument`].
    #[cold]
    pub fn argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Argument { message: message.into() }
    }

    /// A [`Error::Bug`] of a thread of this kind.
    #[cold]
    pub fn panicked(thread: &'static str) -> Self {
        Self::Bug { message: format!("a thread that {thread} panicked: this is a bug of sdb").into() }
    }

    /// The same error with its position moved `base` bytes on: for a caller that handed out a part.
    #[must_use]
    pub fn shifted(mut self, base: u64) -> Self {
        match &mut self {
            Self::Corrupt { offset, .. } | Self::Syntax { offset, .. } | Self::TooLarge { offset, .. } => {
                *offset += base;
            }
            Self::Unsupported { .. } | Self::Read { .. } | Self::Argument { .. } | Self::Bug { .. } => {}
        }
        self
    }

    /// The same error with its line number set.
    #[must_use]
    pub fn at_line(mut self, number: u64) -> Self {
        match &mut self {
            Self::Syntax { line, .. } | Self::TooLarge { line, .. } => *line = number,
            Self::Corrupt { .. }
            | Self::Unsupported { .. }
            | Self::Read { .. }
            | Self::Argument { .. }
            | Self::Bug { .. } => {}
        }
        self
    }

    /// The line number of an error in a text; 0 when it is not known.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Syntax { line, .. } | Self::TooLarge { line, .. } => Some(*line),
            Self::Corrupt { .. }
            | Self::Unsupported { .. }
            | Self::Read { .. }
            | Self::Argument { .. }
            | Self::Bug { .. } => None,
        }
    }

    /// The message alone, without its position.
    pub fn message(&self) -> &str {
        match self {
            Self::Corrupt { message, .. }
            | Self::Syntax { message, .. }
            | Self::TooLarge { message, .. }
            | Self::Unsupported { message }
            | Self::Read { message, .. }
            | Self::Argument { message }
            | Self::Bug { message } => message,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { layer, offset, message } => write!(f, "{layer}: {message} (at byte {offset})"),
            Self::Read { offset, message, .. } => write!(f, "{message} (at byte {offset})"),
            Self::Syntax { offset, line: 0, message } | Self::TooLarge { offset, line: 0, message } => {
                write!(f, "{message} (at byte {offset})")
            }
            Self::Syntax { offset, line, message } | Self::TooLarge { offset, line, message } => {
                write!(f, "line {line}: {message} (at byte {offset})")
            }
            Self::Unsupported { message } | Self::Argument { message } | Self::Bug { message } => {
                f.write_str(message)
            }
        }
    }
}

impl std::error::Error for Error {}
