//! Functions of the query language that a SQL engine has no match for, one value at a
//! time, and in [`call`] a column at a time.
//!
//! Text, numbers, addresses and places; and [`crate::value::key`]s, the canonical text form of any value, by which
//! values of all types are compared, taken apart and printed.

pub mod address;
pub mod call;
pub mod fuzzy;
pub mod geo;
pub mod number;
pub mod re2;
pub mod shape;
pub mod text;
