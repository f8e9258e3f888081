//! What is kept of fields, and of how many.

/// What is kept of fields, and of how many.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Number of fields.
    pub fields: usize,
    /// How deep a field may lie; one at the top of a row is at depth 1.
    pub depth: u32,
    /// Bytes of the paths of all fields, written out.
    pub path_bytes: usize,
    /// Whether values are compared: which are frequent, and how many different ones there are.
    pub values: bool,
}

impl Limits {
    /// For people, who want to know about values.
    pub const STATISTICS: Self = Self { fields: 4096, depth: 64, path_bytes: 4 << 20, values: true };
    /// For the sizes of the fields at the top of rows alone.
    pub const SIZES: Self = Self { fields: 4096, depth: 1, path_bytes: 4 << 20, values: false };
    /// For `SNELLER_DATASHAPE`.
    pub const SHAPE: Self = Self { fields: 10_000, depth: 500, path_bytes: 64 << 20, values: false };
}
