//! JSON text to Ion rows and back.

pub mod number;
