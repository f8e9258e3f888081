//! Input in foreign forms to rows: what is packed is parsed here, part by part.

pub mod columns;
pub mod ion;
pub mod json;
pub mod xsv;
