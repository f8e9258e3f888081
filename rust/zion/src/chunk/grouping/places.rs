//! Groups get a bucket each, such that few ids have to be passed over.

use std::iter::Peekable;

use super::pieces::Uses;
use crate::bucket::hash::{BUCKETS, hash};
use crate::chunk::placement::Placement;
use crate::ion::SymbolTable;
use crate::ion::symtab::FIRST_USER;

/// Ids from here on take two bytes.
const LONG: usize = 128;
/// So many bytes more of content make about a byte more when they are compressed.
const RATIO: u32 = 6;

/// The selector, and a table of the same symbols, under which each group of fields has a bucket of its own at the least
/// cost. Symbols that would make it longer than `limit` bytes are left out. None if all fields are together.
pub(super) fn place(
    symbols: &SymbolTable,
    groups: &[Vec<(u32, usize)>],
    uses: &[Uses],
    limit: usize,
) -> Option<Placement> {
    let mut fields = vec![None; uses.len()];
    for (group, members) in groups.iter().enumerate() {
        for &(id, size) in members {
            *fields.get_mut(id as usize)? = Some(Field { group, size });
        }
    }
    let mut hashes = vec![];
    let tried = (0..BUCKETS as u8).map(|selector| {
        let mut walk = Walk::new(selector, groups.len(), &mut hashes);
        walk.go(&fields, uses);
        (walk.cost, selector, walk.order)
    });
    let (_, selector, order) = tried.min_by_key(|&(cost, selector, _)| (cost, selector))?;
    let mut numbered = SymbolTable::new();
    for id in order {
        let name = id.and_then(|id| symbols.name(id as u32));
        numbered.push(name.unwrap_or_default());
        if numbered.full_size() > limit {
            numbered.truncate(numbered.max_id() - 1);
            break;
        }
    }
    (groups.len() > 1).then_some(Placement { selector, symbols: numbered })
}

#[derive(Clone, Copy)]
struct Field {
    group: usize,
    /// Compressed alone, in bytes.
    size: usize,
}

/// Numbers symbols under a selector. They stay in their order, save that symbols which are no names of fields may come
/// earlier, to fill the gap before a field that has to wait for its bucket. The names inside of fields keep their order
/// among each other, those of fields that come inside of fields, too, among them.
struct Walk<'h> {
    selector: u8,
    hashes: &'h mut Vec<u64>,
    /// The bucket of each group.
    buckets: Vec<Option<u8>>,
    /// Those that are taken, a bit each.
    taken: u16,
    /// What the symbols from the first one of a table on are; none for those without a name.
    order: Vec<Option<usize>>,
    /// What symbols without a name, longer ids and fields outside of their groups cost, in bytes.
    cost: usize,
}

impl<'h> Walk<'h> {
    fn new(selector: u8, groups: usize, hashes: &'h mut Vec<u64>) -> Self {
        Self { selector, hashes, buckets: vec![None; groups], taken: 0, order: vec![], cost: 0 }
    }

    fn bucket(&mut self, id: usize) -> u8 {
        while self.hashes.len() <= id {
            self.hashes.push(hash(self.hashes.len() as u32));
        }
        (self.hashes[id] >> (4 * self.selector)) as u8 & 15
    }

    /// The number of the next symbol.
    fn next(&self) -> usize {
        FIRST_USER as usize + self.order.len()
    }

    fn is_taken(&self, bucket: u8) -> bool {
        self.taken >> bucket & 1 != 0
    }

    /// Whether there are more buckets than groups that still need one. There are never less.
    fn has_spare(&self) -> bool {
        let needed = self.buckets.iter().filter(|bucket| bucket.is_none()).count();
        self.taken.count_zeros() as usize > needed
    }

    fn go(&mut self, fields: &[Option<Field>], uses: &[Uses]) {
        let first = (FIRST_USER as usize).min(fields.len());
        for (id, field) in fields[..first].iter().enumerate() {
            // Those of fixed symbols are where they are.
            let bucket = self.bucket(id);
            if let Some(Field { group, .. }) = *field
                && self.buckets[group].is_none()
                && !self.is_taken(bucket)
            {
                self.buckets[group] = Some(bucket);
                self.taken |= 1 << bucket;
            }
        }
        let others = (first..fields.len()).filter(|&id| fields[id].is_none() || uses[id].is_inner);
        let mut others = others.peekable();
        for id in first..fields.len() {
            if let Some(field) = fields[id] {
                self.field(id, field, fields, uses, &mut others);
                others.next_if_eq(&id);
            } else if others.next_if(|&other| other <= id).is_none() {
                // It was taken before.
                continue;
            }
            if id < LONG && self.next() >= LONG {
                self.cost += (uses[id].count / RATIO) as usize;
            }
            self.order.push(Some(id));
        }
    }

    /// Goes to the next number that the bucket of a field's group has, or a bucket which is free. The first field of a
    /// group takes a free one, and so does one for which it costs more to wait than to be alone.
    fn field(
        &mut self,
        id: usize,
        field: Field,
        fields: &[Option<Field>],
        uses: &[Uses],
        others: &mut Peekable<impl Iterator<Item = usize> + Clone>,
    ) {
        let next = self.next();
        let mut wanted = self.buckets[field.group];
        let free = |other: &usize| fields[*other].is_none();
        if let Some(bucket) = wanted
            && self.has_spare()
        {
            let (mut at, mut empty, mut rest) = (next, 0, others.clone());
            while self.bucket(at) != bucket {
                empty += usize::from(rest.next_if(free).is_none());
                at += 1;
            }
            // The ids that get long when that many are passed over.
            let shifted = (LONG + id).saturating_sub(next + empty)..(LONG + id).saturating_sub(next);
            let long = shifted.filter_map(|id| uses.get(id)).map(|uses| uses.count).sum::<u32>() / RATIO;
            if long as usize > field.size {
                wanted = None;
            }
        }
        loop {
            let bucket = self.bucket(self.next());
            if wanted.map_or(!self.is_taken(bucket), |wanted| wanted == bucket) {
                if self.buckets[field.group].is_none() {
                    self.buckets[field.group] = Some(bucket);
                } else if wanted.is_none() {
                    self.cost += field.size;
                }
                self.taken |= 1 << bucket;
                return;
            }
            let other = others.next_if(free);
            self.cost += usize::from(other.is_none());
            self.order.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What each symbol is: none, a field of a group with its size, and whether it is the name of something inside.
    fn symbols() -> impl Strategy<Value = Vec<(Option<(usize, usize)>, bool)>> {
        let field = prop::option::weighted(0.3, (0usize..16, 0usize..400));
        prop::collection::vec((field, any::<bool>()), 2..250)
    }

    proptest! {
        #[test]
        fn any_groups_keep_their_symbols_and_share_no_bucket(given in symbols(), limit in 200usize..20_000) {
            let mut table = SymbolTable::new();
            for number in 0..given.len() {
                table.push(format!("name {number}").as_bytes());
            }
            let fixed = FIRST_USER as usize;
            let mut groups = vec![vec![]; 16];
            let mut uses = vec![Uses::default(); fixed + given.len()];
            for (number, &(field, is_inner)) in given.iter().enumerate() {
                let id = fixed + number;
                uses[id] = Uses { count: 1, is_inner: is_inner || field.is_none() };
                if let Some((group, size)) = field {
                    groups[group].push((id as u32, size));
                }
            }
            groups.retain(|group| !group.is_empty());
            let Some(found) = place(&table, &groups, &uses, limit) else {
                prop_assert!(groups.len() < 2);
                return Ok(());
            };
            prop_assert!(found.symbols.full_size() <= limit);
            let ids: Vec<_> = (FIRST_USER..found.symbols.max_id())
                .filter_map(|id| Some((found.symbols.name(id)?, id)))
                .filter(|(name, _)| !name.is_empty())
                .collect();
            let old = |name: &[u8]| table.id(name).unwrap_or_default();
            // Each symbol is there once, and if there is room all are; names inside of fields keep their order.
            let mut known: Vec<_> = ids.iter().map(|(name, _)| old(name)).collect();
            let inner: Vec<_> = known.iter().copied().filter(|&id| groups.iter().flatten().all(|one| one.0 != id)).collect();
            prop_assert!(inner.is_sorted());
            known.sort_unstable();
            known.dedup();
            prop_assert_eq!(known.len(), ids.len());
            prop_assert!(limit < 19_000 || known.len() == given.len());
            // A field that shares a bucket with a field of a group is of that group.
            let bucket = |id: u32| (hash(id) >> (4 * found.selector)) as u8 & 15;
            let group_of = |name: &[u8]| groups.iter().position(|group| group.iter().any(|one| one.0 == old(name)));
            let mut owners = [None; 16];
            for (name, id) in ids {
                let Some(group) = group_of(name) else { continue };
                let owner = owners[bucket(id) as usize].get_or_insert(group);
                prop_assert_eq!(*owner, group, "{} groups", groups.len());
            }
        }
    }
}
