//! The only module that may use `unsafe`: vector kernels, chosen by what the processor has at run time.

pub mod ans;
pub mod json;
pub mod lz;
pub mod text;
