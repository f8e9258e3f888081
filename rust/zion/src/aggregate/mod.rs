//! A closed list of accumulators over the rows of scans, which can be joined: what each thread finds out is
//! put together in the order of the rows, so that answers do not depend on the number of threads.
//!
//! Each of them answers a good deal faster than the SQL engine does: decision 012 has the rule, and
//! `benchmarks/native.py` measures it.

mod answer;
mod grain;
mod groups;
mod keytable;
mod recent;
mod totals;

pub use answer::Answer;
pub use grain::Grain;
pub use groups::{Call, Groups, Key, Summary};
pub use totals::Function;
