//! Where the bytes of a block come from: memory, or a place of which only what is needed is read.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Fewer bytes than this are not worth a call of their own: what follows is likely to be wanted too.
const GULP: usize = 4096;

/// The bytes of a block.
pub trait Bytes: Send + Sync {
    /// Their number.
    fn size(&self) -> usize;

    /// All of them, where they are in memory.
    fn held(&self) -> Option<&[u8]>;

    /// Fills `out` with the bytes from `at` on, which lie inside.
    fn read(&self, at: usize, out: &mut [u8]) -> Result<()>;

    /// What no other bytes have, where that is known: columns that were decoded from them stay under it.
    fn identity(&self) -> Option<&Arc<[u8]>> {
        None
    }
}

/// Bytes and their identity.
pub struct Identified {
    bytes: Arc<dyn Bytes>,
    identity: Arc<[u8]>,
}

impl Identified {
    /// Gives bytes the identity that they have.
    pub fn new(bytes: Arc<dyn Bytes>, identity: Arc<[u8]>) -> Self {
        Self { bytes, identity }
    }
}

impl Bytes for Identified {
    fn size(&self) -> usize {
        self.bytes.size()
    }

    fn held(&self) -> Option<&[u8]> {
        self.bytes.held()
    }

    fn read(&self, at: usize, out: &mut [u8]) -> Result<()> {
        self.bytes.read(at, out)
    }

    fn identity(&self) -> Option<&Arc<[u8]>> {
        Some(&self.identity)
    }
}

impl<T: AsRef<[u8]> + Send + Sync> Bytes for T {
    fn size(&self) -> usize {
        self.as_ref().len()
    }

    fn held(&self) -> Option<&[u8]> {
        Some(self.as_ref())
    }

    fn read(&self, at: usize, out: &mut [u8]) -> Result<()> {
        let from = at.checked_add(out.len()).and_then(|end| self.as_ref().get(at..end));
        out.copy_from_slice(from.ok_or_else(|| beyond(at))?);
        Ok(())
    }
}

/// Bytes that a reader goes through.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    Held(&'a [u8]),
    Stored(&'a dyn Bytes),
}

impl<'a> Input<'a> {
    /// The bytes of a block.
    pub(crate) fn of(bytes: &'a dyn Bytes) -> Self {
        bytes.held().map_or(Self::Stored(bytes), Self::Held)
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Self::Held(data) => data.len(),
            Self::Stored(bytes) => bytes.size(),
        }
    }
}

/// What was read last of a block that is not in memory.
#[derive(Default)]
pub(crate) struct Window {
    data: Vec<u8>,
    at: usize,
    length: usize,
}

impl Window {
    /// Forgets the block, since another one comes.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    /// The bytes of a range.
    pub(crate) fn get<'b>(&'b mut self, input: Input<'b>, range: Range<usize>) -> Result<&'b [u8]> {
        let outside = || beyond(range.start);
        let bytes = match input {
            Input::Held(data) => return data.get(range.clone()).ok_or_else(outside),
            Input::Stored(bytes) => bytes,
        };
        if range.end > bytes.size() || range.start > range.end {
            return Err(outside());
        }
        if range.start < self.at || range.end > self.at + self.length {
            let length = range.len().max(GULP).min(bytes.size() - range.start);
            if self.data.len() < length {
                self.data.resize(length, 0);
            }
            self.length = 0;
            bytes.read(range.start, &mut self.data[..length])?;
            (self.at, self.length) = (range.start, length);
        }
        let start = range.start - self.at;
        Ok(&self.data[start..start + range.len()])
    }
}

#[cold]
fn beyond(at: usize) -> Error {
    Error::corrupt("block", at, "what is wanted goes beyond the end of the block")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Far(Vec<u8>, AtomicUsize);

    impl Bytes for Far {
        fn size(&self) -> usize {
            self.0.len()
        }

        fn held(&self) -> Option<&[u8]> {
            None
        }

        fn read(&self, at: usize, out: &mut [u8]) -> Result<()> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read(at, out)
        }
    }

    #[test]
    fn what_was_read_is_not_read_again() -> Result<()> {
        let data: Vec<u8> = (0..3 * GULP).map(|at| at as u8 ^ (at >> 8) as u8).collect();
        let far = Far(data.clone(), AtomicUsize::new(0));
        let mut window = Window::default();
        let ranges =
            [(10..20, 1), (4000..4106, 1), (4000..4107, 2), (4107..4000 + GULP, 2), (0..3 * GULP, 3)];
        for (range, reads) in ranges {
            assert_eq!(window.get(Input::of(&far), range.clone())?, &data[range.clone()]);
            assert_eq!(far.1.load(Ordering::Relaxed), reads, "{range:?}");
        }
        assert!(window.get(Input::of(&far), 5..3 * GULP + 1).is_err());
        assert!(window.get(Input::Held(&data), 5..3 * GULP + 1).is_err());
        Ok(())
    }
}
