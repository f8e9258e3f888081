//! The tree of field paths of a part: which names follow each other, what types were seen, and the time
//! range of each path for the block at hand.
//!
//! Beside its bookkeeping the tree makes names cheap: rows of one source repeat their field names in nearly
//! the same order, so every node remembers which field came next the last time. A name that is the expected
//! one costs a comparison; only others are looked up by hash.

mod node;

use std::collections::HashMap;
use std::sync::Arc;

pub use self::node::{AHEAD, NodeId, Path, Range};
use self::node::{Node, count};
use crate::chunk::fields::{Fields, Seen};
use crate::ion::symtab::NameHash;
use crate::ion::{SymbolTable, kind};
use crate::limits::{MAX_PATH_DEPTH, MAX_PATH_NODES};
use crate::times::{Mode, Moment, TimeField, Times};

/// The paths of one part of an input.
#[derive(Debug, Clone)]
pub struct Paths {
    nodes: Vec<Node>,
    children: HashMap<(u32, Vec<u8>), NodeId, NameHash>,
    /// The one that was looked up last, for its memory.
    key: (u32, Vec<u8>),
    epoch: u32,
    struct_number: u64,
    pending: Vec<(NodeId, i64)>,
    /// The row at hand, counted from 1.
    row: u64,
    /// The place where it had its last value so far; from there on they are chained.
    touched: NodeId,
    /// Whether rows are not counted: others count them.
    uncounted: bool,
    complete: bool,
    /// Whether no path through a list was left out.
    lists_complete: bool,
    wanted: Arc<[Path]>,
    /// How texts that are times are read.
    times: Arc<Times>,
    /// What may be a time, which is asked for each value.
    may_be_times: MayBeTimes,
    /// Times that lost digits.
    cut: u64,
    /// Texts with bytes that are no UTF-8, which were replaced.
    replaced: u64,
    dropped: u64,
    /// Texts of fields that are taken apart, which are no JSON.
    kept_whole: u64,
}

/// What may be a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MayBeTimes {
    Nothing,
    /// Texts.
    Texts,
    /// Also values of fields of which a form was told.
    Fields,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            nodes: vec![Node::new(b"", NodeId::NONE, 0, false)],
            children: HashMap::default(),
            key: (0, vec![]),
            epoch: 1,
            struct_number: 0,
            pending: vec![],
            row: 1,
            touched: NodeId::NONE,
            uncounted: false,
            complete: true,
            lists_complete: true,
            wanted: Arc::default(),
            times: Arc::default(),
            may_be_times: MayBeTimes::Texts,
            cut: 0,
            replaced: 0,
            dropped: 0,
            kept_whole: 0,
        }
    }
}

/// A struct whose fields are being read.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    parent: NodeId,
    previous: NodeId,
    number: u64,
}

/// A field of a struct.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its place in the tree, or [`NodeId::NONE`].
    pub node: NodeId,
    /// Its symbol in the current table.
    pub symbol: u32,
    /// Whether the same struct has this field already.
    pub repeated: bool,
}

impl Paths {
    /// An empty tree in which all timestamps at the given paths count.
    pub fn wanting(wanted: Arc<[Path]>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Says how texts that are times are read: before there are any.
    pub fn read_times(&mut self, times: Arc<Times>) {
        self.may_be_times = match times.mode() {
            _ if !times.fields().is_empty() || times.has_bytes() => MayBeTimes::Fields,
            Mode::None => MayBeTimes::Nothing,
            Mode::All | Mode::Rfc3339 => MayBeTimes::Texts,
        };
        self.times = times;
    }

    /// How texts that are times are read.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// The number of times that lost digits.
    pub(crate) fn cut(&self) -> u64 {
        self.cut
    }

    /// Notes that bytes of so many texts were replaced, since they are no UTF-8.
    #[inline]
    pub fn note_replaced(&mut self, texts: u64) {
        self.replaced += texts;
    }

    /// The number of texts of which bytes were replaced.
    pub(crate) fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Notes that so many values do not count, since their object has the name twice.
    #[inline]
    pub fn note_dropped(&mut self, values: u64) {
        self.dropped += values;
    }

    /// The number of values that do not count.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The instant that a text at `node` is, if it is one.
    #[inline]
    pub fn time_of_text(&mut self, node: NodeId, text: &[u8]) -> Option<i64> {
        match self.may_be_times {
            MayBeTimes::Texts if Times::may_be(text) => self.time_of_any_text(node, text),
            MayBeTimes::Fields => self.time_of_any_text(node, text),
            _ => None,
        }
    }

    /// The same of a text of which another format says that it is one: the original leaves it so.
    pub fn time_of_stored_text(&mut self, node: NodeId, text: &[u8]) -> Option<i64> {
        let is_read = self.times.mode() == Mode::All || self.is_told(node);
        is_read.then(|| self.time_of_text(node, text)).flatten()
    }

    fn time_of_any_text(&mut self, node: NodeId, text: &[u8]) -> Option<i64> {
        let found = self.told_time(node, text).or_else(|| self.times.read(text))?;
        Some(self.kept(found))
    }

    /// The instant that a number at `node` is by its text, where it was told that there are such.
    #[inline]
    pub fn time_of_number(&mut self, node: NodeId, text: &[u8]) -> Option<i64> {
        if self.may_be_times != MayBeTimes::Fields {
            return None;
        }
        let found = self.told_time(node, text)?;
        Some(self.kept(found))
    }

    fn told_time(&self, node: NodeId, text: &[u8]) -> Option<Moment> {
        let number = self.nodes.get(node.index())?.form?;
        self.times.read_field(usize::from(number), text)
    }

    /// The instant that is stored of one that was read.
    pub fn kept(&mut self, found: Moment) -> i64 {
        self.cut += u64::from(found.is_cut);
        found.us
    }

    /// Whether it was told which form the times at `node` have.
    #[inline]
    pub fn is_told(&self, node: NodeId) -> bool {
        self.may_be_times == MayBeTimes::Fields
            && self.nodes.get(node.index()).is_some_and(|node| node.form.is_some())
    }

    /// Whether texts at `node` are taken apart.
    #[inline]
    pub fn is_apart(&self, node: NodeId) -> bool {
        self.is_told(node) && self.told(node).is_some_and(TimeField::is_json)
    }

    /// Notes whether a text of a field that is taken apart was JSON.
    pub fn note_apart(&mut self, node: NodeId, is_json: bool) {
        match self.told(node) {
            Some(field) if is_json => field.note_fitted(),
            _ => self.kept_whole += 1,
        }
    }

    fn told(&self, node: NodeId) -> Option<&TimeField> {
        let number = self.nodes.get(node.index())?.form?;
        self.times.fields().get(usize::from(number))
    }

    /// The number of texts of fields that are taken apart, which are no JSON.
    pub(crate) fn kept_whole(&self) -> u64 {
        self.kept_whole
    }

    /// Whether a list of bytes at `node` is a text.
    #[inline]
    pub fn has_bytes(&self, node: NodeId) -> bool {
        self.may_be_times == MayBeTimes::Fields
            && self.times.has_bytes()
            && self.nodes.get(node.index()).is_some_and(|node| node.depth == 1 && !node.in_list)
    }

    /// Begins a struct at `parent`.
    #[inline]
    pub fn enter(&mut self, parent: NodeId) -> Cursor {
        self.struct_number += 1;
        Cursor { parent, previous: NodeId::NONE, number: self.struct_number }
    }

    /// The next field of a struct. Below [`NodeId::NONE`] repetition is not noticed.
    #[inline]
    pub fn field(&mut self, cursor: &mut Cursor, name: &[u8], symbols: &mut SymbolTable) -> Field {
        let Some(parent) = self.nodes.get(cursor.parent.index()) else {
            return Field { node: NodeId::NONE, symbol: symbols.intern(name), repeated: false };
        };
        let expected = match self.nodes.get(cursor.previous.index()) {
            Some(previous) => previous.next,
            None => parent.first,
        };
        let node = match self.nodes.get(expected.index()) {
            Some(child) if *child.name == *name => expected,
            _ => self.look_up(cursor, name),
        };
        cursor.previous = node;
        let epoch = self.epoch;
        let Some(child) = self.nodes.get_mut(node.index()) else {
            return Field { node, symbol: symbols.intern(name), repeated: false };
        };
        if child.epoch != epoch {
            child.epoch = epoch;
            child.symbol = symbols.intern(name);
        }
        let repeated = child.seen == cursor.number;
        child.seen = cursor.number;
        Field { node, symbol: child.symbol, repeated }
    }

    /// The next field of a struct, if it is the one that came next the last time: `text` is what follows its
    /// first quote, and goes on with `length - 2` bytes of name, a quote and a colon.
    #[inline]
    pub fn expected(&mut self, cursor: &mut Cursor, text: &[u8; AHEAD], length: usize) -> Option<Field> {
        let node = match self.nodes.get(cursor.previous.index()) {
            Some(previous) => previous.next,
            None => self.nodes.get(cursor.parent.index())?.first,
        };
        let child = self.nodes.get_mut(node.index())?;
        if !child.key.is_next(text, length) || child.epoch != self.epoch {
            return None;
        }
        cursor.previous = node;
        let repeated = child.seen == cursor.number;
        child.seen = cursor.number;
        Some(Field { node, symbol: child.symbol, repeated })
    }

    /// Finds or makes a child by its name, and remembers that it follows the previous one.
    #[cold]
    fn look_up(&mut self, cursor: &Cursor, name: &[u8]) -> NodeId {
        let node = self.child(cursor.parent, name);
        let before = if cursor.previous == NodeId::NONE {
            self.nodes.get_mut(cursor.parent.index()).map(|parent| &mut parent.first)
        } else {
            self.nodes.get_mut(cursor.previous.index()).map(|previous| &mut previous.next)
        };
        if let Some(before) = before {
            *before = node;
        }
        node
    }

    /// The field `name` below `parent`, made when it is new.
    pub fn child(&mut self, parent: NodeId, name: &[u8]) -> NodeId {
        let Some(above) = self.nodes.get(parent.index()) else { return NodeId::NONE };
        let (depth, in_list) = (above.depth + 1, above.in_list);
        self.key.0 = parent.0;
        self.key.1.clear();
        self.key.1.extend_from_slice(name);
        if let Some(&node) = self.children.get(&self.key) {
            return node;
        }
        let node = self.add(Node::new(name, parent, depth, in_list));
        if node != NodeId::NONE {
            self.children.insert(self.key.clone(), node);
            if !self.wanted.is_empty() && !in_list {
                let wanted = self.wanted.contains(&self.path(node.index()));
                self.nodes[node.index()].wanted = wanted;
            }
            if self.may_be_times == MayBeTimes::Fields {
                self.nodes[node.index()].form = self.form_of(&self.path(node.index()));
            }
        }
        node
    }

    /// The number of the told form of the times at a path; elements of lists have no name.
    fn form_of(&self, path: &Path) -> Option<u16> {
        let names = || path.iter().filter(|name| !name.is_empty());
        let at = self.times.fields().iter().position(|field| field.path.iter().eq(names()))?;
        u16::try_from(at).ok()
    }

    fn add(&mut self, node: Node) -> NodeId {
        if self.nodes.len() >= MAX_PATH_NODES || node.depth > MAX_PATH_DEPTH {
            // What lies in lists or deeper than the index looks may go unnoticed.
            self.complete &= node.in_list;
            self.lists_complete &= !node.in_list;
            return NodeId::NONE;
        }
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// The elements of the list at `list`.
    #[inline]
    pub fn element(&mut self, list: NodeId) -> NodeId {
        let Some(node) = self.nodes.get(list.index()) else { return NodeId::NONE };
        if node.element != NodeId::NONE {
            return node.element;
        }
        let element = self.add(Node::new(b"", list, node.depth + 1, true));
        if let Some(node) = self.nodes.get_mut(list.index()) {
            node.element = element;
        }
        element
    }

    /// Notes the Ion type of a value.
    #[inline]
    pub fn saw(&mut self, node: NodeId, kind: u8) {
        if let Some(found) = self.nodes.get_mut(node.index()) {
            found.types |= 1 << kind;
            count(found, node, self.row, &mut self.touched);
        }
    }

    /// Notes a text, and gives its symbol if it is one: often the one of the last time, which saves the hash.
    #[inline]
    pub fn saw_text(&mut self, node: NodeId, text: &[u8], symbols: &SymbolTable) -> Option<u32> {
        let id = node;
        let Some(node) = self.nodes.get_mut(node.index()) else { return symbols.id(text) };
        node.types |= 1 << kind::STRING;
        count(node, id, self.row, &mut self.touched);
        if node.value != 0 && symbols.name(node.value) == Some(text) {
            return Some(node.value);
        }
        let id = symbols.id(text)?;
        node.value = id;
        Some(id)
    }

    /// How many bytes the length of the struct at `node` took the last time.
    #[inline]
    pub fn length_bytes(&self, node: NodeId) -> usize {
        self.nodes.get(node.index()).map_or(0, |node| node.length_bytes as usize)
    }

    /// Remembers how many bytes the length of the struct at `node` takes.
    #[inline]
    pub fn set_length_bytes(&mut self, node: NodeId, count: usize) {
        if let Some(node) = self.nodes.get_mut(node.index()) {
            node.length_bytes = count as u8;
        }
    }

    /// Whether timestamps at `node` may be indexed: no list in between and at most `depth` fields deep.
    #[inline]
    pub fn indexable(&self, node: NodeId, depth: u8) -> bool {
        self.nodes.get(node.index()).is_some_and(|node| !node.in_list && node.depth <= depth)
    }

    /// Notes a timestamp of the row at hand. It counts once the row is committed.
    #[inline]
    pub fn time(&mut self, node: NodeId, us: i64) {
        self.time_if(node, us, true);
    }

    /// Notes a timestamp that counts when `counts` says so or its path is wanted. A path with one that does
    /// not count is among the hidden ones.
    #[inline]
    pub fn time_if(&mut self, node: NodeId, us: i64, counts: bool) {
        match self.nodes.get_mut(node.index()) {
            Some(found) if found.in_list => {}
            Some(found) if counts || found.wanted => self.pending.push((node, us)),
            Some(found) => found.hidden = true,
            None => {}
        }
    }

    /// The row counts, and its timestamps belong to the block at hand.
    #[inline]
    pub(crate) fn commit(&mut self) {
        if self.uncounted {
            self.uncount();
        }
        self.end_row();
        for (node, us) in self.pending.drain(..) {
            if let Some(node) = self.nodes.get_mut(node.index()) {
                let range = node.range.get_or_insert(Range { min: us, max: us, count: 0 });
                range.min = range.min.min(us);
                range.max = range.max.max(us);
                range.count += 1;
            }
        }
    }

    /// The row was taken back.
    pub(crate) fn forget_row(&mut self) {
        self.pending.clear();
        self.uncount();
        self.end_row();
    }

    /// Says whether rows from now on are counted: those that are only stored again are not.
    pub(crate) fn counting(&mut self, counts: bool) {
        self.uncounted = !counts;
    }

    #[inline]
    fn end_row(&mut self) {
        self.row += 1;
        self.touched = NodeId::NONE;
    }

    /// Takes back what the row at hand was counted.
    fn uncount(&mut self) {
        let mut at = self.touched;
        while let Some(node) = self.nodes.get_mut(at.index()) {
            node.rows -= 1;
            at = node.touched;
        }
        self.touched = NodeId::NONE;
    }

    /// The symbol table was restarted: ids must be looked up again.
    pub(crate) fn forget_symbols(&mut self) {
        self.epoch += 1;
    }

    /// Another one as soon as ids of symbols must be looked up again.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Takes the ranges of the block that ended.
    pub(crate) fn take_ranges(&mut self) -> Vec<(Path, Range)> {
        let found: Vec<(usize, Range)> = self
            .nodes
            .iter_mut()
            .enumerate()
            .filter_map(|(at, node)| Some((at, node.range.take()?)))
            .collect();
        found.into_iter().map(|(at, range)| (self.path(at), range)).collect()
    }

    fn path(&self, mut at: usize) -> Path {
        let mut path = vec![];
        while let Some(node) = self.nodes.get(at).filter(|node| node.parent != NodeId::NONE) {
            path.push(node.name.clone());
            at = node.parent.index();
        }
        path.reverse();
        path
    }

    /// The paths with timestamps that are in no range.
    pub(crate) fn hidden(&self) -> Vec<Path> {
        let hidden = self.nodes.iter().enumerate().filter(|(_, node)| node.hidden);
        hidden.map(|(at, _)| self.path(at)).collect()
    }

    /// The fields that were seen, in the order in which they came up.
    pub fn fields(&self) -> Fields {
        let mut places = vec![None; self.nodes.len()];
        let mut list: Vec<Seen> = vec![];
        let (mut complete, mut lists_complete) = (self.complete, self.lists_complete);
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.types != 0) {
            let above = places.get(node.parent.index()).copied().flatten();
            if above.is_none() && node.parent != NodeId::ROOT {
                // A value is noted after what it is in; otherwise the list would not be whole.
                (complete, lists_complete) = (false, false);
                continue;
            }
            places[at] = Some(list.len() as u32);
            let is_element =
                self.nodes.get(node.parent.index()).is_some_and(|list| list.element.index() == at);
            let name = (!is_element).then(|| node.name.clone());
            list.push(Seen { parent: above, name, types: node.types, rows: node.rows });
        }
        Fields { list, complete, lists_complete }
    }
}
