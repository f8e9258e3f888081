//! Names that come twice in one object, or in one header.

use crate::error::{Error, Result};

/// Which value counts of those that have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The first, as the original has it.
    #[default]
    First,
    /// The last, as most readers of JSON have it.
    Last,
    /// None: the record is an error.
    Fail,
}

impl Duplicates {
    /// The choice that an option names.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            "fail" => Ok(Self::Fail),
            _ => Err(Error::argument(format!(
                "duplicates is {name:?}, where first, last or fail was expected"
            ))),
        }
    }
}
