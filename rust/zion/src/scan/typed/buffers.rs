//! What the builders of columns share.

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use crate::error::Result;

/// Texts, one after the other.
pub(crate) struct Bytes {
    ends: Vec<i32>,
    data: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new() -> Self {
        Self { ends: vec![0], data: Vec::new() }
    }

    /// Number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub(crate) fn put(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        // Builders end a batch long before its text reaches this limit.
        self.ends.push(self.data.len() as i32);
    }

    pub(crate) fn pad(&mut self, count: usize) {
        let end = self.data.len() as i32;
        self.ends.resize(self.ends.len() + count, end);
    }

    pub(crate) fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        (OffsetBuffer::new(ends.into()), std::mem::take(&mut self.data).into())
    }
}

/// An array of numbers; the values are taken out.
pub(crate) fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>, ArrowError> {
    PrimitiveArray::try_new(ScalarBuffer::from(std::mem::take(values)), nulls)
}

/// An array of integers of a type that they are known to fit; the values are taken out.
pub(crate) fn narrow<T: ArrowPrimitiveType>(
    values: &mut Vec<i32>,
    nulls: Option<NullBuffer>,
    cut: impl Fn(i32) -> T::Native,
) -> Result<PrimitiveArray<T>, ArrowError> {
    primitive(&mut std::mem::take(values).into_iter().map(cut).collect(), nulls)
}

/// Texts are nearly always UTF-8; what is not is replaced by U+FFFD.
pub(crate) fn strings(texts: &mut Bytes, nulls: Option<NullBuffer>) -> Result<StringArray, ArrowError> {
    let (ends, data) = texts.finish();
    if let Ok(array) = StringArray::try_new(ends.clone(), data.clone(), nulls.clone()) {
        return Ok(array);
    }
    let mut sound = Bytes::new();
    for range in ends.windows(2) {
        sound.put(String::from_utf8_lossy(&data[range[0] as usize..range[1] as usize]).as_bytes());
    }
    let (ends, data) = sound.finish();
    StringArray::try_new(ends, data, nulls)
}
