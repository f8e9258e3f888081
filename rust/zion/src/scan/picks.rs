//! Rows that are asked for by their numbers.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::interleave::interleave;

use crate::error::{Error, Result};

/// Bits of the number of a row that tell its place in its block.
pub const ROW_BITS: u32 = 36;

/// For each block that is read, in the order in which it is, the places of the rows in it.
#[derive(Debug)]
pub struct Picks(Vec<Vec<u64>>);

impl Picks {
    /// The blocks of some rows, none of them twice, in the order of the table, and the rows of each.
    pub fn new(rows: &[i64]) -> Result<(Vec<usize>, Self)> {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        if let Some([row, ..]) = sorted.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(Error::argument(format!("row {row} twice")));
        }
        let (mut blocks, mut picks): (Vec<usize>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
        for number in sorted {
            let number = u64::try_from(number).map_err(|_| Error::argument(format!("no row {number}")))?;
            let block = (number >> ROW_BITS) as usize;
            let place = number & ((1 << ROW_BITS) - 1);
            match picks.last_mut() {
                Some(places) if blocks.last() == Some(&block) => places.push(place),
                _ => {
                    blocks.push(block);
                    picks.push(vec![place]);
                }
            }
        }
        Ok((blocks, Self(picks)))
    }

    /// Those of a range of places in a block.
    pub(super) fn within(&self, block: usize, range: &Range<u64>) -> &[u64] {
        let places = self.0.get(block).map_or(&[][..], Vec::as_slice);
        let at = |place: u64| places.partition_point(|&other| other < place);
        places.get(at(range.start)..at(range.end)).unwrap_or_default()
    }
}

/// Rows that came in the order of the table, in the order in which they were asked for. They must be so few that
/// the texts of a column fit in one array.
pub fn arranged(schema: &SchemaRef, batches: &[RecordBatch], rows: &[i64]) -> Result<RecordBatch> {
    let of = |(number, batch): (usize, &RecordBatch)| (0..batch.num_rows()).map(move |row| (number, row));
    let found: Vec<(usize, usize)> = batches.iter().enumerate().flat_map(of).collect();
    if found.len() != rows.len() {
        let message = format!("{} rows of {}: the table has changed", found.len(), rows.len());
        return Err(Error::argument(message));
    }
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_unstable_by_key(|&place| rows[place]);
    let mut order = vec![(0, 0); rows.len()];
    places.into_iter().zip(found).for_each(|(place, found)| order[place] = found);
    if batches.is_empty() {
        return Ok(RecordBatch::new_empty(Arc::clone(schema)));
    }
    let column = |number| {
        let columns: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(number).as_ref()).collect();
        interleave(&columns, &order)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<std::result::Result<_, ArrowError>>();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    columns
        .and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options))
        .map_err(|error| Error::argument(format!("no Arrow array: {error}")))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    fn number(block: i64, place: i64) -> i64 {
        block << ROW_BITS | place
    }

    #[test]
    fn rows_are_found_in_their_blocks() -> Result<()> {
        let rows = [number(7, 5), number(2, 9), number(7, 0), number(7, 4096)];
        let (blocks, picks) = Picks::new(&rows)?;
        assert_eq!(blocks, [2, 7]);
        assert_eq!(picks.within(0, &(0..u64::MAX)), [9]);
        assert_eq!(picks.within(1, &(0..4096)), [0, 5]);
        assert_eq!(picks.within(1, &(4096..8192)), [4096]);
        assert_eq!(picks.within(1, &(8192..u64::MAX)), [0; 0]);
        assert_eq!(picks.within(2, &(0..u64::MAX)), [0; 0]);
        assert!(Picks::new(&[-1]).is_err());
        assert!(Picks::new(&[5, 1, 5]).is_err());
        Ok(())
    }

    #[test]
    fn rows_come_as_they_are_asked_for() -> Result<()> {
        let field = |name, of| Field::new(name, of, true);
        let schema = Arc::new(Schema::new(vec![field("c0", DataType::Int64), field("c1", DataType::Utf8)]));
        let batch = |numbers: Vec<Option<i64>>, texts: Vec<Option<&str>>| {
            let columns: Vec<arrow_array::ArrayRef> =
                vec![Arc::new(Int64Array::from(numbers)), Arc::new(StringArray::from(texts))];
            RecordBatch::try_new(Arc::clone(&schema), columns)
                .map_err(|error| Error::argument(error.to_string()))
        };
        let batches =
            [batch(vec![Some(0), None], vec![None, Some("b")])?, batch(vec![Some(2)], vec![Some("c")])?];
        let rows = [number(1, 0), number(0, 3), number(0, 5)];
        let found = arranged(&schema, &batches, &rows)?;
        let numbers: Vec<_> = found.column(0).as_primitive::<Int64Type>().iter().collect();
        let texts: Vec<_> = found.column(1).as_string::<i32>().iter().collect();
        assert_eq!(numbers, [Some(2), Some(0), None]);
        assert_eq!(texts, [Some("c"), None, Some("b")]);
        assert!(arranged(&schema, &batches, &rows[..2]).is_err());
        assert_eq!(arranged(&schema, &[], &[])?.num_rows(), 0);
        Ok(())
    }
}
