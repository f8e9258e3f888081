//! Which fields occur in rows, of which types, and in how many rows.

use std::collections::HashMap;

use crate::chunk::paths::Path;
use crate::limits::MAX_COUNTED_FIELDS;

/// A field that was seen, or the elements of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The place in the list of the struct or list that it is in; none at the top of a row.
    pub parent: Option<u32>,
    /// The name; none for the elements of a list.
    pub name: Option<Box<[u8]>>,
    /// Bit `k` is set when a value of Ion type `k` was seen.
    pub types: u16,
    /// Number of rows that have any.
    pub rows: u64,
}

/// The fields of some rows, each behind the one that it is in, in the order in which they came up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The fields.
    pub list: Vec<Seen>,
    /// Whether a path through structs only that is not in the list does not occur.
    pub complete: bool,
    /// The same for paths through lists.
    pub lists_complete: bool,
}

impl Fields {
    /// The paths through structs only with their types, sorted.
    pub fn types(&self) -> Vec<(Path, u16)> {
        let mut paths: Vec<Option<Path>> = Vec::with_capacity(self.list.len());
        let mut found = vec![];
        for seen in &self.list {
            let above = match seen.parent {
                None => Some(vec![]),
                Some(parent) => paths.get(parent as usize).cloned().flatten(),
            };
            let path = above.zip(seen.name.as_ref()).map(|(mut path, name)| {
                path.push(name.clone());
                path
            });
            found.extend(path.clone().map(|path| (path, seen.types)));
            paths.push(path);
        }
        found.sort_unstable();
        found
    }
}

/// The place that a field is in, and its name.
type Key = (Option<u32>, Option<Box<[u8]>>);

/// A place of a joined list.
#[derive(Debug, Clone)]
struct Joined {
    seen: Seen,
    /// In how many of the lists it is that may lack a path through structs.
    in_partial: u32,
    /// The same for those that may lack any path.
    in_lacking: u32,
}

/// Joins the fields of parts of a file.
#[derive(Debug, Default)]
pub struct Joiner {
    list: Vec<Joined>,
    places: HashMap<Key, u32>,
    partial: u32,
    lacking: u32,
    is_full: bool,
}

impl Joiner {
    /// Takes the fields of the rows that follow.
    pub fn add(&mut self, fields: Fields) {
        let Fields { list, complete, lists_complete } = fields;
        let is_lacking = !(complete && lists_complete);
        self.partial += u32::from(!complete);
        self.lacking += u32::from(is_lacking);
        let mut places: Vec<Option<u32>> = Vec::with_capacity(list.len());
        for seen in list {
            let parent = match seen.parent {
                None => Some(None),
                Some(parent) => places.get(parent as usize).copied().flatten().map(Some),
            };
            let place = parent.and_then(|parent| self.place(parent, seen.name));
            if let Some(joined) = place.and_then(|place| self.list.get_mut(place as usize)) {
                joined.seen.types |= seen.types;
                joined.seen.rows += seen.rows;
                joined.in_partial += u32::from(!complete);
                joined.in_lacking += u32::from(is_lacking);
            }
            places.push(place);
        }
    }

    /// The place of a field, made when it is new and there is room.
    fn place(&mut self, parent: Option<u32>, name: Option<Box<[u8]>>) -> Option<u32> {
        let key = (parent, name);
        if let Some(&place) = self.places.get(&key) {
            return Some(place);
        }
        // One that was not in all of the lists before that may lack it is not known, and never will be.
        if self.list.len() >= MAX_COUNTED_FIELDS {
            self.is_full = true;
            return None;
        }
        let place = self.list.len() as u32;
        let seen = Seen { parent, name: key.1.clone(), types: 0, rows: 0 };
        self.list.push(Joined { seen, in_partial: 0, in_lacking: 0 });
        self.places.insert(key, place);
        Some(place)
    }

    /// The types of all paths through structs, and whether none is missing. A path that a part may have left
    /// out is missing.
    pub fn types(&self) -> (Vec<(Path, u16)>, bool) {
        let known = self.chosen(|joined| joined.in_partial == self.partial);
        (known.types(), self.partial == 0 && !self.is_full)
    }

    /// All fields whose rows are known, and whether none is missing.
    pub fn fields(&self) -> Fields {
        self.chosen(|joined| joined.in_lacking == self.lacking && joined.seen.types != 0)
    }

    fn chosen(&self, is_known: impl Fn(&Joined) -> bool) -> Fields {
        let mut places: Vec<Option<u32>> = Vec::with_capacity(self.list.len());
        let mut list = vec![];
        for joined in &self.list {
            let parent = match joined.seen.parent {
                None => Some(None),
                Some(parent) => places.get(parent as usize).copied().flatten().map(Some),
            };
            let kept = parent.filter(|_| is_known(joined));
            places.push(kept.map(|_| list.len() as u32));
            list.extend(kept.map(|parent| Seen { parent, ..joined.seen.clone() }));
        }
        let complete = self.lacking == 0 && !self.is_full;
        Fields { list, complete, lists_complete: complete }
    }
}
