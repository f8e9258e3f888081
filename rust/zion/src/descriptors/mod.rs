//! Lists of descriptors of packfiles as columns: a table has a million of them, and a query wants few.
//!
//! A descriptor is *plain* if it is as writers make it, so that nothing is left to check. Of any other nothing is
//! reported here: a reader of the whole list finds what is wrong with it, or that nothing is.

mod plain;
mod times;

use std::collections::HashMap;

use crate::codec::zstd::Decompressor;
use crate::error::{Error, Result};
use crate::ion::value::{self, Items, Name, Value};
use plain::Plain;
pub use plain::UNKNOWN;

/// The descriptors of a list, the members of each in columns.
#[derive(Debug, Default)]
pub struct Columns {
    /// Where each lies in the content.
    spans: Vec<(u32, u32)>,
    /// Keys of packfiles, one behind the other; empty where a descriptor is not plain.
    keys: String,
    ends: Vec<u32>,
    /// Sizes of packfiles.
    pub sizes: Vec<i64>,
    /// Numbers of rows.
    pub rows: Vec<i64>,
    /// Numbers of blocks.
    pub blocks: Vec<i64>,
    /// Bytes of all blocks.
    pub stored: Vec<i64>,
    /// Bytes of all chunks when they are decompressed.
    pub decompressed: Vec<i64>,
    /// The packfiles that have an index of a path, in order, with the first and the last time.
    times: HashMap<Vec<Name>, Vec<(u32, i64, i64)>>,
    /// What is constant in packfiles, each once.
    pub constants: Vec<Value>,
    /// For each packfile which of the constants it has; `u32::MAX` where that is not known.
    groups: Vec<u32>,
}

impl Columns {
    /// Reads the content of a list: `{contents: [...]}`.
    pub fn read(content: &[u8]) -> Result<Self> {
        let mut columns = Self::default();
        let mut known = HashMap::new();
        let mut blobs = Decompressor::new(true)?;
        let mut items = Items::of_member(content, "contents")?;
        while let Some((value, start, end)) = items.next()? {
            let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else {
                return Err(Error::corrupt("ion", start, "a list of 4 GiB"));
            };
            columns.spans.push((start, end));
            match plain::read(value, &mut blobs) {
                Some(found) => columns.push(found, &mut known),
                None => columns.push_other(),
            }
        }
        Ok(columns)
    }

    fn push(&mut self, found: Plain, known: &mut HashMap<String, u32>) {
        let row = self.ends.len() as u32;
        for (path, first, last) in found.times {
            self.times.entry(path).or_default().push((row, first, last));
        }
        let is_same = |&last: &u32| self.constants.get(last as usize) == Some(&found.constants);
        let group = self.groups.last().copied().filter(is_same).unwrap_or_else(|| {
            // The text tells values of all types apart.
            *known.entry(format!("{:?}", found.constants)).or_insert_with(|| {
                self.constants.push(found.constants);
                self.constants.len() as u32 - 1
            })
        });
        self.groups.push(group);
        self.keys.push_str(&found.key);
        self.ends.push(self.keys.len() as u32);
        self.sizes.push(found.size);
        self.rows.push(found.rows);
        self.blocks.push(found.blocks);
        self.stored.push(found.stored);
        self.decompressed.push(found.decompressed);
    }

    fn push_other(&mut self) {
        self.groups.push(u32::MAX);
        self.ends.push(self.keys.len() as u32);
        for column in
            [&mut self.sizes, &mut self.rows, &mut self.blocks, &mut self.stored, &mut self.decompressed]
        {
            column.push(UNKNOWN);
        }
    }

    /// The number of descriptors.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether a descriptor is plain.
    pub fn is_plain(&self, number: usize) -> bool {
        self.groups.get(number).is_some_and(|&group| group != u32::MAX)
    }

    /// The key of a packfile; empty where the descriptor is not plain.
    pub fn key(&self, number: usize) -> &str {
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(number).and_then(|&end| self.keys.get(start as usize..end as usize)).unwrap_or("")
    }

    /// One descriptor, from the content that the columns were read from.
    pub fn value(&self, content: &[u8], number: usize) -> Result<Value> {
        let none = || Error::argument(format!("there is no descriptor {number}"));
        let &(start, end) = self.spans.get(number).ok_or_else(none)?;
        value::decode_at(content, start as usize, end as usize)
    }

    /// The packfiles that may have a time at a path from `first` to `last`, both included, as half-open ranges
    /// of their numbers. What has no index of the path may.
    pub fn within(&self, path: &[Name], first: i64, last: i64) -> Vec<(usize, usize)> {
        let mut found = vec![];
        let mut at = 0;
        for &(row, lo, hi) in self.times.get(path).map_or(&[][..], Vec::as_slice) {
            if hi < first || lo > last {
                add(&mut found, at, row as usize);
                at = row as usize + 1;
            }
        }
        add(&mut found, at, self.len());
        found
    }

    /// The packfiles whose constants are among some, by their numbers, or not known, as half-open ranges.
    pub fn having(&self, constants: &[u32]) -> Vec<(usize, usize)> {
        let mut wanted = vec![false; self.constants.len()];
        for &one in constants {
            if let Some(flag) = wanted.get_mut(one as usize) {
                *flag = true;
            }
        }
        let mut found = vec![];
        let mut at = 0;
        for (row, &group) in self.groups.iter().enumerate() {
            if !wanted.get(group as usize).copied().unwrap_or(true) {
                add(&mut found, at, row);
                at = row + 1;
            }
        }
        add(&mut found, at, self.len());
        found
    }
}

fn add(found: &mut Vec<(usize, usize)>, start: usize, stop: usize) {
    if start < stop {
        found.push((start, stop));
    }
}

#[cfg(test)]
mod tests;
