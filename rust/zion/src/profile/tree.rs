//! Fields in the order in which they came up, each behind the one that it is in.

use std::collections::{HashMap, HashSet};

use super::limits::Limits;
use super::stats::Stats;

/// One field, or the elements of a list.
#[derive(Debug, Clone)]
pub struct Field {
    /// The place of the struct or list that it is in; none at the top of a row.
    pub parent: Option<u32>,
    /// The name; none for the elements of a list.
    pub name: Option<Box<str>>,
    /// What is known of the values.
    pub stats: Stats,
    depth: u32,
    path_bytes: usize,
    /// Whether some rows may have had it unnoticed.
    is_partial: bool,
}

/// The place that a field is in, and its name.
type Key = (Option<u32>, Option<Box<str>>);

/// What is known of the fields of some rows.
#[derive(Debug, Clone)]
pub struct Profile {
    limits: Limits,
    pub(super) fields: Vec<Field>,
    places: HashMap<Key, u32>,
    path_bytes: usize,
    pub(super) rows: u64,
    /// Bytes of the chunks in the file.
    pub(super) compressed_bytes: u64,
    /// How many chunks there were.
    pub(super) chunks: u64,
    is_full: bool,
    is_deeper: bool,
}

impl Profile {
    /// What is known before any row.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            fields: Vec::new(),
            places: HashMap::new(),
            path_bytes: 0,
            rows: 0,
            compressed_bytes: 0,
            chunks: 0,
            is_full: false,
            is_deeper: false,
        }
    }

    /// What the rows have come to; none are left.
    pub(super) fn take(&mut self) -> Self {
        let fresh = Self::new(self.limits);
        std::mem::replace(self, fresh)
    }

    pub(super) fn compares(&self) -> bool {
        self.limits.values
    }

    /// Whether only the fields at the top of rows are wanted: what is in them is not walked.
    pub(super) fn is_flat(&self) -> bool {
        self.limits.depth == 1
    }

    /// The fields that are known in full: with the place of each, which [`Field::parent`] is about.
    pub fn fields(&self) -> impl Iterator<Item = (u32, &Field)> {
        (0..).zip(&self.fields).filter(|(_, field)| !field.is_partial)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Bytes of the chunks in the file.
    pub fn compressed_bytes(&self) -> u64 {
        self.compressed_bytes
    }

    /// Whether there are more fields than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether there are fields that lie deeper than is looked.
    pub fn is_deeper(&self) -> bool {
        self.is_deeper
    }

    /// The place of a field, made when it is new and there is room. Once room was lacking, it is lacking for all others:
    /// a field that comes later may have been left out before.
    pub(super) fn place(&mut self, parent: Option<u32>, name: Option<Box<str>>) -> Option<u32> {
        let key = (parent, name);
        if let Some(&place) = self.places.get(&key) {
            return Some(place);
        }
        let above = parent.and_then(|parent| self.fields.get(parent as usize));
        let depth = above.map_or(0, |above| above.depth) + 1;
        let path_bytes =
            above.map_or(0, |above| above.path_bytes) + key.1.as_ref().map_or(2, |name| name.len() + 1);
        if depth > self.limits.depth {
            self.is_deeper = true;
            return None;
        }
        if self.is_full
            || self.fields.len() >= self.limits.fields
            || self.path_bytes + path_bytes > self.limits.path_bytes
        {
            self.is_full = true;
            return None;
        }
        self.path_bytes += path_bytes;
        let place = self.fields.len() as u32;
        let (name, stats, is_partial) = (key.1.clone(), Stats::default(), false);
        self.fields.push(Field { parent, name, stats, depth, path_bytes, is_partial });
        self.places.insert(key, place);
        Some(place)
    }

    /// Adds what is known of the rows that follow.
    pub fn join(&mut self, other: &Self) {
        self.rows += other.rows;
        self.chunks += other.chunks;
        self.compressed_bytes += other.compressed_bytes;
        let mut places: Vec<Option<u32>> = Vec::with_capacity(other.fields.len());
        for field in &other.fields {
            let parent = match field.parent {
                None => Some(None),
                Some(parent) => places.get(parent as usize).copied().flatten().map(Some),
            };
            let place = parent.and_then(|parent| self.place(parent, field.name.clone()));
            if let Some(own) = place.and_then(|place| self.fields.get_mut(place as usize)) {
                own.stats.join(&field.stats);
            }
            places.push(place);
        }
        if other.is_full {
            // Of those that it has no place for it may have left out some.
            let known: HashSet<u32> = places.into_iter().flatten().collect();
            for (place, field) in (0..).zip(&mut self.fields) {
                field.is_partial |= !known.contains(&place);
            }
        }
        self.is_full |= other.is_full;
        self.is_deeper |= other.is_deeper;
    }

    /// The written paths of all fields: names joined by dots, `$items` for the elements of a list.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let name = field.name.as_deref().unwrap_or("$items");
            let above = field.parent.and_then(|parent| paths.get(parent as usize));
            paths.push(above.map_or_else(|| name.to_owned(), |above| format!("{above}.{name}")));
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str], limits: Limits) -> Profile {
        let mut profile = Profile::new(limits);
        for name in names {
            if let Some(place) = profile.place(None, Some((*name).into())) {
                profile.fields[place as usize].stats.rows += 1;
            }
        }
        profile
    }

    fn known(profile: &Profile) -> Vec<(&str, u64)> {
        let fields = profile.fields();
        fields.map(|(_, field)| (field.name.as_deref().unwrap_or_default(), field.stats.rows)).collect()
    }

    #[test]
    fn fields_beyond_the_limit_are_left_out_of_all_that_follows() {
        let limits = Limits { fields: 2, ..Limits::STATISTICS };
        let mut all = of(&["a"], limits);
        all.join(&of(&["b", "a"], limits));
        all.join(&of(&["c", "b"], limits));
        assert_eq!(known(&all), [("a", 2), ("b", 2)]);
        assert!(all.is_full() && !all.is_deeper());
    }

    #[test]
    fn a_field_that_was_left_out_of_some_rows_is_left_out() {
        let limits = Limits { fields: 2, ..Limits::STATISTICS };
        let mut all = of(&["a", "b"], limits);
        all.join(&of(&["c", "b", "a"], limits));
        all.join(&of(&["a", "b"], limits));
        assert_eq!(known(&all), [("b", 3)]);
    }

    #[test]
    fn a_long_name_ends_the_list() {
        // Were a shorter one let in behind it, a later part of the file could not tell that it is not counted in full.
        let limits = Limits { path_bytes: 10, ..Limits::STATISTICS };
        let profile = of(&["abc", "longer than that", "d"], limits);
        assert_eq!(profile.paths(), ["abc"]);
        assert!(profile.is_full());
    }

    #[test]
    fn depth_has_a_limit() {
        let mut profile = Profile::new(Limits { depth: 2, ..Limits::STATISTICS });
        let top = profile.place(None, Some("a".into()));
        let items = profile.place(top, None);
        assert_eq!((items, profile.place(items, None)), (Some(1), None));
        assert_eq!(profile.paths(), ["a", "a.$items"]);
        assert!(profile.is_deeper() && !profile.is_full());
    }
}
