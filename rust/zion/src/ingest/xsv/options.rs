//! Options of an input without hints: `header=no;skip=2;comment=#;separator=|;columns=id:text,n:int`.

use crate::error::{Error, Result};
use crate::ingest::Duplicates;
use crate::ingest::typing::{self, Type};

/// Whether the first record names the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Header {
    /// Unless it has a number or a time, which name nothing.
    #[default]
    Auto,
    Yes,
    No,
}

/// What the user says of the form of an input.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub header: Header,
    /// Lines at the start that do not count.
    pub skip: u64,
    /// What a line that does not count begins with.
    pub comment: Option<u8>,
    pub separator: Option<u8>,
    /// Names of the columns, for an input whose first record does not name them.
    pub names: Vec<Box<[u8]>>,
    /// What counts where columns have one name; all of them if nothing is said.
    pub duplicates: Option<Duplicates>,
    /// Types of columns.
    pub columns: Vec<(Box<[u8]>, Type)>,
}

impl Options {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut options = Self::default();
        for item in text.split(';').filter(|item| !item.trim().is_empty()) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            options.set(key.trim(), value)?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "header" => match (value, value.parse::<u64>()) {
                ("auto", _) => self.header = Header::Auto,
                ("yes", _) => self.header = Header::Yes,
                ("no", _) => self.header = Header::No,
                (_, Ok(line)) if line > 0 => {
                    self.header = Header::Yes;
                    self.skip = line - 1;
                }
                _ => return Err(bad(key, value, "yes, no, auto or the number of its line")),
            },
            "skip" => self.skip = value.parse().map_err(|_| bad(key, value, "a number of lines"))?,
            "comment" => self.comment = Some(byte(key, value)?),
            "separator" => self.separator = Some(byte(key, value)?),
            "names" => {
                self.names = value.split(',').map(|name| name.trim().as_bytes().into()).collect();
            }
            "duplicates" => self.duplicates = Some(Duplicates::from_name(value)?),
            "columns" => self.columns = typing::said(value)?,
            _ => {
                let known = "header, names, skip, comment, separator, duplicates, columns";
                return Err(Error::argument(format!("there is no option {key:?} of CSV and TSV: {known}")));
            }
        }
        Ok(())
    }
}

fn byte(key: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'"' | b'\r' | b'\n' | 0] => Err(bad(key, value, "another character")),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(bad(key, value, "one ASCII character")),
    }
}

fn bad(key: &str, value: &str, expected: &str) -> Error {
    Error::argument(format!("{key} is {value:?}, where {expected} was expected"))
}
