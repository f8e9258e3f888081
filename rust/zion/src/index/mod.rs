//! What indexes are made of: statistics of blocks, filters of values, and the parts that rows go to by their values.

pub mod partition;
pub mod ribbon;
pub mod slices;
pub mod statistics;
