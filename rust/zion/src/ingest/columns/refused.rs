//! Why rows could not be encoded, and where.

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;

/// Why rows could not be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Names from the column down, with dots between them.
    path: String,
    message: Cow<'static, str>,
}

impl Refused {
    #[cold]
    pub(super) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    #[cold]
    pub(super) fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "column {}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::new(error.message().to_owned())
    }
}

pub(super) type Result<T, E = Refused> = std::result::Result<T, E>;
