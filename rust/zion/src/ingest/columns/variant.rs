//! Variants of Spark and Parquet: what they hold, out of their binary encoding.
//!
//! The specification is `VariantEncoding.md` of Parquet. [`crate::scan::typed`] is the way back.

use super::forms::{DAY, Variants};
use super::refused::{Refused, Result};
use super::writer::{Writer, put_blob, put_text};
use crate::ingest::json::number::Number;
use crate::ion::fields::Keep;
use crate::ion::{FALSE, NULL, TRUE, kind, nest, put_float};
use crate::limits::MAX_TREE_DEPTH;

#[cold]
fn malformed() -> Refused {
    Refused::new("a malformed variant")
}

/// The dictionary of a variant, and how many bytes of its value are left: each is taken once.
struct Scene<'a> {
    offsets: Numbers<'a>,
    text: &'a [u8],
    left: usize,
}

impl<'a> Scene<'a> {
    fn new(dictionary: &'a [u8], left: usize) -> Option<Self> {
        let (first, rest) = dictionary.split_first()?;
        let width = usize::from(first >> 6) + 1;
        let (count, rest) = split_number(rest, width)?;
        let (offsets, text) = Numbers::split(rest, count.checked_add(1)?, width)?;
        (first & 0x0F == 1).then_some(Self { offsets, text, left })
    }

    fn name(&self, id: usize) -> Option<&'a [u8]> {
        self.text.get(self.offsets.get(id)?..self.offsets.get(id.checked_add(1)?)?)
    }

    /// Takes bytes off the start of `data`; the rest is not given.
    fn take<'b>(&mut self, data: &'b [u8], count: usize) -> Option<&'b [u8]> {
        self.left = self.left.checked_sub(count)?;
        data.get(..count)
    }

    fn sized<'b>(&mut self, data: &'b [u8]) -> Option<&'b [u8]> {
        let (count, data) = split_number(data, 4)?;
        self.take(data, count)
    }

    fn array<const N: usize>(&mut self, data: &[u8]) -> Result<[u8; N]> {
        self.take(data, N).and_then(|data| data.first_chunk()).copied().ok_or_else(malformed)
    }
}

/// Numbers of the same width, little endian.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    data: &'a [u8],
    width: usize,
}

impl<'a> Numbers<'a> {
    /// So many numbers, and what is behind them.
    fn split(data: &'a [u8], count: usize, width: usize) -> Option<(Self, &'a [u8])> {
        let (data, rest) = data.split_at_checked(count.checked_mul(width)?)?;
        Some((Self { data, width }, rest))
    }

    fn get(&self, at: usize) -> Option<usize> {
        Some(split_number(self.data.get(at.checked_mul(self.width)?..)?, self.width)?.0)
    }
}

fn split_number(data: &[u8], width: usize) -> Option<(usize, &[u8])> {
    let (number, rest) = data.split_at_checked(width)?;
    Some((number.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)), rest))
}

/// The container at the start of a value: the numbers of its names, if it has any, where its values begin,
/// and their bytes.
struct Container<'a> {
    names: Numbers<'a>,
    starts: Numbers<'a>,
    values: &'a [u8],
    count: usize,
}

impl<'a> Container<'a> {
    fn open(data: &'a [u8], is_large: bool, ids: usize, offsets: usize) -> Option<Self> {
        let (count, rest) = split_number(data, if is_large { 4 } else { 1 })?;
        let (names, rest) = Numbers::split(rest, count, ids)?;
        let (starts, values) = Numbers::split(rest, count.checked_add(1)?, offsets)?;
        Some(Self { names, starts, values, count })
    }

    fn value(&self, at: usize) -> Result<&'a [u8]> {
        self.starts.get(at).and_then(|start| self.values.get(start..)).ok_or_else(malformed)
    }
}

impl Writer {
    pub(super) fn put_variant(&mut self, variants: &Variants, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let value = variants.values.at(row);
        let mut scene = Scene::new(variants.dictionaries.at(row), value.len()).ok_or_else(malformed)?;
        self.put_value(&mut scene, value, out, 0)
    }

    fn put_value(
        &mut self,
        scene: &mut Scene<'_>,
        value: &[u8],
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<()> {
        if depth > MAX_TREE_DEPTH {
            return Err(Refused::new(format!("values nested deeper than {MAX_TREE_DEPTH} levels")));
        }
        let (&first, rest) = value.split_first().ok_or_else(malformed)?;
        scene.left = scene.left.checked_sub(1).ok_or_else(malformed)?;
        let info = usize::from(first >> 2);
        match first & 3 {
            0 => self.put_primitive(scene, info, rest, out),
            1 => put_text(scene.take(rest, info).ok_or_else(malformed)?, out),
            2 => self.put_object(scene, info, rest, out, depth),
            _ => self.put_array(scene, info, rest, out, depth),
        }
    }

    fn put_object(
        &mut self,
        scene: &mut Scene<'_>,
        info: usize,
        rest: &[u8],
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<()> {
        let container = Container::open(rest, info >> 4 & 1 == 1, (info >> 2 & 3) + 1, (info & 3) + 1)
            .ok_or_else(malformed)?;
        let start = nest::open(out);
        let begin = self.fields.begin();
        for at in 0..container.count {
            let name = container.names.get(at).and_then(|id| scene.name(id)).ok_or_else(malformed)?;
            let value = container.value(at)?;
            if !self.keep_nulls && value.first() == Some(&0) {
                scene.left = scene.left.checked_sub(1).ok_or_else(malformed)?;
                continue;
            }
            let name = simdutf8::basic::from_utf8(name).map_err(|_| malformed())?;
            let symbol = self.table.intern(name.as_bytes());
            self.put_label(symbol, out);
            self.put_value(scene, value, out, depth + 1).map_err(|refused| refused.within(name))?;
        }
        self.fields.sort(out, start + 1, begin, Keep::Last);
        nest::close(out, start, kind::STRUCT);
        Ok(())
    }

    fn put_array(
        &mut self,
        scene: &mut Scene<'_>,
        info: usize,
        rest: &[u8],
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<()> {
        let container = Container::open(rest, info >> 2 & 1 == 1, 0, (info & 3) + 1).ok_or_else(malformed)?;
        let start = nest::open(out);
        for at in 0..container.count {
            self.put_value(scene, container.value(at)?, out, depth + 1)?;
        }
        nest::close(out, start, kind::LIST);
        Ok(())
    }

    fn put_primitive(
        &mut self,
        scene: &mut Scene<'_>,
        info: usize,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut integer = |value: i64| Number::Int(value).put(out);
        match info {
            0 => out.push(NULL),
            1 => out.push(TRUE),
            2 => out.push(FALSE),
            3 => integer(i64::from(i8::from_le_bytes(scene.array(rest)?))),
            4 => integer(i64::from(i16::from_le_bytes(scene.array(rest)?))),
            5 => integer(i64::from(i32::from_le_bytes(scene.array(rest)?))),
            6 => integer(i64::from_le_bytes(scene.array(rest)?)),
            7 => put_float(out, f64::from_le_bytes(scene.array(rest)?)),
            8..=10 => return self.put_variant_decimal(scene, info, rest, out),
            11 => self.put_time(i128::from(i32::from_le_bytes(scene.array(rest)?)) * i128::from(DAY), out),
            12 | 13 => self.put_time(i128::from(i64::from_le_bytes(scene.array(rest)?)), out),
            14 => put_float(out, f64::from(f32::from_le_bytes(scene.array(rest)?))),
            15 => return put_blob(scene.sized(rest).ok_or_else(malformed)?, out),
            16 => return put_text(scene.sized(rest).ok_or_else(malformed)?, out),
            _ => return Err(Refused::new(format!("a variant of the type {info}, which is not known"))),
        }
        Ok(())
    }

    fn put_variant_decimal(
        &mut self,
        scene: &mut Scene<'_>,
        info: usize,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (&scale, rest) = rest.split_first().ok_or_else(malformed)?;
        let scale = i8::try_from(scale).ok().filter(|scale| *scale <= 38).ok_or_else(malformed)?;
        let value = match info {
            8 => i128::from(i32::from_le_bytes(scene.array(rest)?)),
            9 => i128::from(i64::from_le_bytes(scene.array(rest)?)),
            _ => i128::from_le_bytes(scene.array(rest)?),
        };
        self.put_decimal(value, scale, out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BinaryArray, StructArray};
    use arrow_schema::{DataType, Field};

    use super::*;
    use crate::ingest::columns::dumps;

    /// Packs a variant: an array of `items` that are all the same object of `nulls` nulls.
    fn nulls_of_objects(items: u8, nulls: u8) -> Result<Vec<u8>> {
        let zeros = |count: u8| vec![0; usize::from(count)];
        let object = [&[0b10, nulls][..], &zeros(nulls), &zeros(nulls + 1), &[0]].concat();
        let value = [&[0b11, items][..], &zeros(items + 1), &object].concat();
        let metadata = Field::new("metadata", DataType::Binary, false)
            .with_metadata([("variant".to_owned(), "true".to_owned())]);
        let parts = [Field::new("value", DataType::Binary, false), metadata];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BinaryArray::from_vec(vec![&value])),
            Arc::new(BinaryArray::from_vec(vec![b"\x01\x01\x00\x01a"])),
        ];
        let variant: ArrayRef = Arc::new(StructArray::new(parts.into_iter().collect(), columns, None));
        let field = Field::new("v", variant.data_type().clone(), false);
        dumps(&StructArray::new([field].into_iter().collect(), vec![variant], None), false)
            .map(|dumped| dumped.data)
    }

    #[test]
    fn values_that_share_bytes_are_not_gone_over_again_and_again() {
        assert!(nulls_of_objects(1, 100).is_ok());
        assert_eq!(nulls_of_objects(100, 100), Err(malformed().within("v")));
    }
}
