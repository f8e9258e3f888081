//! Rows that Python knows without a scan, as lanes.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt8Array,
};
use arrow_schema::{DECIMAL128_MAX_PRECISION, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zion::scan::Letter;

use crate::errors::{no_arrow, to_py};
use crate::groups::ArrowTable;

/// A table with a column for each lane, of which there are the letter and the values.
#[pyfunction]
#[pyo3(signature = (lanes, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn known_rows(lanes: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<ArrowTable> {
    let columns = lanes.iter().map(|(letter, cells)| column(letter, cells)).collect::<PyResult<Vec<_>>>()?;
    let field = |(number, column): (usize, &ArrayRef)| {
        Field::new(format!("c{number}"), column.data_type().clone(), true)
    };
    let schema = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| no_arrow(&error))?;
    Ok(ArrowTable { schema, batches: vec![batch] })
}

fn column(letter: &str, cells: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match Letter::from_name(letter).map_err(to_py)? {
        Letter::Type => Arc::new(UInt8Array::from(cells.extract::<Vec<Option<u8>>>()?)),
        Letter::Number => Arc::new(Float64Array::from(cells.extract::<Vec<Option<f64>>>()?)),
        Letter::Integer => integers(&cells.extract::<Vec<Option<i128>>>()?)?,
        Letter::Text => Arc::new(StringArray::from(cells.extract::<Vec<Option<String>>>()?)),
        Letter::Bool => Arc::new(BooleanArray::from(cells.extract::<Vec<Option<bool>>>()?)),
        Letter::Time => Arc::new(TimestampMicrosecondArray::from(cells.extract::<Vec<Option<i64>>>()?)),
        _ => return Err(PyValueError::new_err(format!("known rows have no lane {letter:?}"))),
    })
}

/// Integers of 64 bits, or wider ones if there are any.
fn integers(cells: &[Option<i128>]) -> PyResult<ArrayRef> {
    let narrow = |cell: &Option<i128>| cell.map(i64::try_from).transpose().ok();
    if let Some(cells) = cells.iter().map(narrow).collect::<Option<Vec<_>>>() {
        return Ok(Arc::new(Int64Array::from(cells)));
    }
    let wide = Decimal128Array::from(cells.to_vec())
        .with_precision_and_scale(DECIMAL128_MAX_PRECISION, 0)
        .map_err(|error| no_arrow(&error))?;
    Ok(Arc::new(wide))
}
