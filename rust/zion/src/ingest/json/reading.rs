//! How values of JSON are read: what users say of them.

use std::sync::Arc;

use super::hints::Hints;
use crate::error::{Error, Result};
use crate::ingest::Duplicates;

/// What users say of the values of an input.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Types of fields, and those that are left out.
    pub hints: Option<Arc<Hints>>,
    /// What counts where an object has a name twice.
    pub duplicates: Duplicates,
}

impl Reading {
    /// What hints and options say, `records=PATH;duplicates=last`, and the path of the records, if there is one.
    pub fn of(hints: Option<&[u8]>, options: &str) -> Result<(Self, Option<String>)> {
        let hints = hints.map(Hints::parse).transpose()?.map(Arc::new);
        let (mut reading, mut path) = (Self { hints, ..Self::default() }, None);
        for option in options.split(';').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("records", "none")) => path = None,
                Some(("records", records)) => path = Some(records.to_owned()),
                Some(("duplicates", name)) => reading.duplicates = Duplicates::from_name(name)?,
                _ => {
                    return Err(Error::argument(format!(
                        "json: unknown option {option:?}; there are records=PATH and duplicates=last"
                    )));
                }
            }
        }
        Ok((reading, path))
    }
}
