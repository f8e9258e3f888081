//! A place in the tree of field paths.

/// A place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The row itself.
    pub const ROOT: Self = Self(0);
    /// Everything that is not followed: below a full tree, and what is dropped.
    pub const NONE: Self = Self(u32::MAX);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of a path, outermost first.
pub type Path = Vec<Box<[u8]>>;

/// First, last and number of the timestamps of a path in a block, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first one.
    pub min: i64,
    /// The last one.
    pub max: i64,
    /// Their number.
    pub count: u64,
}

/// Names that are compared in one step are shorter than this by two bytes.
pub const AHEAD: usize = 32;

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: Box<[u8]>,
    pub(super) key: Key,
    pub(super) parent: NodeId,
    pub(super) depth: u8,
    pub(super) in_list: bool,
    /// Bit `k` is set when a value of Ion type `k` was seen; nulls are type 0.
    pub(super) types: u16,
    pub(super) symbol: u32,
    /// Which symbol table `symbol` belongs to.
    pub(super) epoch: u32,
    /// The struct in which the field occurred last, to notice that it occurs twice.
    pub(super) seen: u64,
    /// The field that came after this one the last time.
    pub(super) next: NodeId,
    /// The first field of the struct at this place the last time.
    pub(super) first: NodeId,
    /// The elements of the list at this place.
    pub(super) element: NodeId,
    /// The symbol that was the value here the last time; 0 before there was one.
    pub(super) value: u32,
    pub(super) range: Option<Range>,
    /// Whether timestamps count here however deep it is.
    pub(super) wanted: bool,
    /// Whether a timestamp was stored here that does not count.
    pub(super) hidden: bool,
    /// The number of the form that the times here have, where it was told.
    pub(super) form: Option<u16>,
    /// Number of rows with a value here.
    pub(super) rows: u64,
    /// The last row with one.
    pub(super) row: u64,
    /// The place where the same row had its value before this one.
    pub(super) touched: NodeId,
    /// Bytes that the length of the struct at this place took the last time.
    pub(super) length_bytes: u8,
}

impl Node {
    pub(super) fn new(name: &[u8], parent: NodeId, depth: u8, in_list: bool) -> Self {
        Self {
            name: name.into(),
            key: Key::new(name),
            parent,
            depth,
            in_list,
            types: 0,
            symbol: 0,
            epoch: 0,
            seen: 0,
            next: NodeId::NONE,
            first: NodeId::NONE,
            element: NodeId::NONE,
            value: 0,
            range: None,
            wanted: false,
            hidden: false,
            form: None,
            rows: 0,
            row: 0,
            touched: NodeId::NONE,
            length_bytes: 0,
        }
    }
}

/// A name with the quote and the colon that follow it in JSON text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    text: [u128; 2],
    /// 0 for a name that is too long, or does not stand for itself in JSON text.
    length: u8,
}

impl Key {
    fn new(name: &[u8]) -> Self {
        let mut text = [0; AHEAD];
        let length = name.len() + 2;
        let plain = name.iter().all(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20));
        if !plain || length > AHEAD {
            return Self { text: [0; 2], length: 0 };
        }
        text[..name.len()].copy_from_slice(name);
        text[name.len()..length].copy_from_slice(b"\":");
        Self { text: halves(&text), length: length as u8 }
    }

    /// Whether the text goes on with the key, whose length the caller found to be `length`.
    #[inline]
    pub(super) fn is_next(&self, text: &[u8; AHEAD], length: usize) -> bool {
        if usize::from(self.length) != length {
            return false;
        }
        let [low, high] = halves(text);
        if length <= 16 {
            (low ^ self.text[0]) << (8 * (16 - length)) == 0
        } else {
            (low ^ self.text[0]) | (high ^ self.text[1]) << (8 * (32 - length)) == 0
        }
    }
}

fn halves(text: &[u8; AHEAD]) -> [u128; 2] {
    let mut halves = [0; 2];
    for (half, bytes) in halves.iter_mut().zip(text.as_chunks::<16>().0) {
        *half = u128::from_le_bytes(*bytes);
    }
    halves
}

/// Counts the row for a place that it has a value at, once.
#[inline]
pub(super) fn count(node: &mut Node, id: NodeId, row: u64, touched: &mut NodeId) {
    if node.row != row {
        node.row = row;
        node.rows += 1;
        node.touched = std::mem::replace(touched, id);
    }
}
