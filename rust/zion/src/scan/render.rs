//! Lanes as lines of JSON, as tables of text, or as structs of Ion: what queries print.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, TimeUnit};

use super::ion::{Cell, IonRows};
use super::plan::Letter;
use crate::error::{Error, Result};
use crate::json::digits;
use crate::json::sink::Sink;
use crate::json::table::Table;
use crate::value::bits;
use crate::value::key;
use crate::value::number::Number;

/// A member of the objects: its name, and which columns hold its lanes.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name; none for one that is a struct, whose members come in its place in Ion, and in JSON if it is alone.
    pub name: Option<String>,
    /// Letters and numbers of columns.
    pub lanes: Vec<(Letter, usize)>,
}

/// Prints rows of lanes.
///
/// A member is what its first lane of `x n s b u v j` has that is not null. With a lane `t` it is left out
/// where that is 0 or null, and null where that is 1; without one it is left out where all lanes are null.
pub struct Renderer {
    members: Vec<Wanted>,
}

/// A member before a batch is at hand.
struct Wanted {
    name: Option<String>,
    /// The name in its printed form.
    label: Sink,
    kind: Option<usize>,
    values: Vec<(Letter, usize)>,
}

/// The order in which lanes are looked at.
const ORDER: [Letter; 7] =
    [Letter::Integer, Letter::Number, Letter::Text, Letter::Bool, Letter::Time, Letter::Value, Letter::Json];

impl Renderer {
    /// Rows of these members.
    pub fn new(members: &[Member]) -> Result<Self> {
        let prepare = |member: &Member| {
            let name = member.name.as_deref().unwrap_or_default();
            let mut label = Sink::default();
            label.string(name.as_bytes(), 0, name.len());
            label.copy(b": ", 0, 2);
            let find = |wanted| member.lanes.iter().find(|(letter, _)| *letter == wanted).map(|(_, at)| *at);
            let kind = find(Letter::Type);
            let values: Vec<_> =
                ORDER.into_iter().filter_map(|letter| Some((letter, find(letter)?))).collect();
            if values.len() + usize::from(kind.is_some()) < member.lanes.len() {
                let message = format!("a lane of {name:?} that cannot be printed");
                return Err(Error::argument(message));
            }
            Ok(Wanted { name: member.name.clone(), label, kind, values })
        };
        Ok(Self { members: members.iter().map(prepare).collect::<Result<_>>()? })
    }

    /// Makes the columns of a batch ready to be printed.
    pub fn open(&self, batch: &RecordBatch) -> Result<Page> {
        let column = |at: usize| {
            let missing = || Error::argument(format!("there is no column {at} to be printed"));
            batch.columns().get(at).ok_or_else(missing)
        };
        let open = |wanted: &Wanted| {
            let kind = wanted.kind.map(|at| integers(column(at)?)).transpose()?;
            let cells = |(letter, at): &(Letter, usize)| Cells::of(*letter, column(*at)?);
            Ok(Opened { kind, values: wanted.values.iter().map(cells).collect::<Result<_>>()? })
        };
        Ok(Page { rows: batch.num_rows(), members: self.members.iter().map(open).collect::<Result<_>>()? })
    }

    /// Adds the struct of a row; nothing when that fails.
    pub fn ion_row(&self, page: &Page, row: usize, out: &mut IonRows) -> Result<()> {
        out.begin();
        let added = self.members.iter().zip(&page.members).try_for_each(|(wanted, opened)| {
            let cell = match opened.at(row) {
                Some(Shown::Cells(cells)) => cells.cell(row)?,
                Some(Shown::Null) => Cell::Null,
                None => return Ok(()),
            };
            out.value(wanted.name.as_deref(), cell)
        });
        out.end(added.is_ok());
        added
    }

    /// Appends the row of a table of text, with a cell for each member. `scratch` is for values that are printed first.
    pub fn table_row(
        &self,
        table: Table,
        page: &Page,
        row: usize,
        scratch: &mut Sink,
        out: &mut Sink,
    ) -> Result<()> {
        table.row(page.members.len(), out, |member, out| {
            if let Some(Shown::Cells(cells)) = page.members[member].at(row) {
                cells.put_text(row, table, scratch, out);
            }
            Ok(())
        })
    }

    /// Appends the line of a row; a member without a name that is alone is the line.
    pub fn row(&self, page: &Page, row: usize, out: &mut Sink) {
        if let ([Wanted { name: None, .. }], [opened]) = (&*self.members, &*page.members) {
            out.reserve(8);
            match opened.at(row) {
                Some(Shown::Cells(cells)) => cells.put(row, out),
                Some(Shown::Null) => out.copy(b"null", 0, 4),
                None => out.piece(b"{}", 2),
            }
            out.reserve(8);
            out.byte(b'\n');
            return;
        }
        out.reserve(8);
        out.byte(b'{');
        let start = out.len();
        for (wanted, opened) in self.members.iter().zip(&page.members) {
            let Some(shown) = opened.at(row) else { continue };
            if out.len() > start {
                out.reserve(8);
                out.piece(b", ", 2);
            }
            out.copy(wanted.label.as_slice(), 0, wanted.label.len());
            match shown {
                Shown::Null => out.copy(b"null", 0, 4),
                Shown::Cells(cells) => cells.put(row, out),
            }
        }
        out.reserve(8);
        out.piece(b"}\n", 2);
    }
}

/// A batch that is ready to be printed.
pub struct Page {
    /// Number of rows.
    pub rows: usize,
    members: Vec<Opened>,
}

/// A member of the batch at hand.
struct Opened {
    kind: Option<PrimitiveArray<Int64Type>>,
    values: Vec<Cells>,
}

/// What stands for a member.
enum Shown<'a> {
    Null,
    Cells(&'a Cells),
}

impl Opened {
    fn at(&self, row: usize) -> Option<Shown<'_>> {
        if let Some(kind) = &self.kind {
            match kind.value(row) {
                _ if kind.is_null(row) => return None,
                0 => return None,
                value if value == i64::from(bits::NULL) => return Some(Shown::Null),
                _ => {}
            }
        }
        self.values.iter().find(|cells| cells.has(row)).map(Shown::Cells)
    }
}

/// One lane.
enum Cells {
    Integers(PrimitiveArray<Int64Type>),
    Wide(PrimitiveArray<Decimal128Type>),
    Numbers(PrimitiveArray<Float64Type>),
    Times(PrimitiveArray<TimestampMicrosecondType>),
    Flags(BooleanArray),
    Texts(StringArray),
    Values(StringArray),
    Json(StringArray),
}

impl Cells {
    fn of(letter: Letter, column: &ArrayRef) -> Result<Self> {
        Ok(match letter {
            Letter::Integer => match column.as_primitive_opt::<Decimal128Type>() {
                Some(values) if values.scale() == 0 => Self::Wide(values.clone()),
                _ => Self::Integers(integers(column)?),
            },
            Letter::Number => Self::Numbers(numbers(column)?),
            Letter::Time => Self::Times(times(column)?),
            Letter::Bool if column.data_type() == &DataType::Null => {
                Self::Flags(BooleanArray::new_null(column.len()))
            }
            Letter::Bool => Self::Flags(column.as_boolean_opt().ok_or_else(|| unfit(column))?.clone()),
            Letter::Value => Self::Values(texts(column)?),
            Letter::Json => Self::Json(texts(column)?),
            _ => Self::Texts(texts(column)?),
        })
    }

    fn has(&self, row: usize) -> bool {
        match self {
            Self::Integers(values) => values.is_valid(row),
            Self::Wide(values) => values.is_valid(row),
            Self::Numbers(values) => values.is_valid(row),
            Self::Times(values) => values.is_valid(row),
            Self::Flags(values) => values.is_valid(row),
            Self::Texts(values) | Self::Values(values) | Self::Json(values) => values.is_valid(row),
        }
    }

    /// The value of a row with its type, which JSON text does not tell.
    fn cell(&self, row: usize) -> Result<Cell<'_>> {
        Ok(match self {
            Self::Integers(values) => Cell::Number(Number::Int(values.value(row).into())),
            Self::Wide(values) => Cell::Number(Number::Int(values.value(row))),
            Self::Numbers(values) => Cell::Number(values.value(row).into()),
            Self::Times(values) => Cell::Time(values.value(row)),
            Self::Flags(values) => Cell::Bool(values.value(row)),
            Self::Texts(values) => Cell::Text(values.value(row)),
            Self::Values(values) => Cell::Value(values.value(row)),
            Self::Json(_) => return Err(Error::argument("JSON text does not tell the types of its values")),
        })
    }

    fn put(&self, row: usize, out: &mut Sink) {
        match self {
            Self::Integers(values) => digits::put_whole(out, values.value(row).into()),
            Self::Wide(values) => digits::put_whole(out, values.value(row)),
            Self::Numbers(values) => put_number(values.value(row).into(), out),
            Self::Times(values) => digits::put_time(out, values.value(row)),
            Self::Flags(values) if values.value(row) => out.copy(b"true", 0, 4),
            Self::Flags(_) => out.copy(b"false", 0, 5),
            Self::Texts(values) => put_text(values, row, |from, start, end| out.string(from, start, end)),
            Self::Values(values) => key::put_json(out, values.value(row)),
            Self::Json(values) => put_text(values, row, |from, start, end| out.copy(from, start, end)),
        }
    }

    /// Appends the text of a value, as a table has it; numbers, times and booleans have nothing to escape.
    fn put_text(&self, row: usize, table: Table, scratch: &mut Sink, out: &mut Sink) {
        match self {
            Self::Times(values) => digits::put_bare_time(out, values.value(row)),
            Self::Texts(values) => table.text(values.value(row).as_bytes(), out),
            Self::Json(values) => table.json(values.value(row).as_bytes(), out),
            Self::Values(values) => {
                scratch.truncate(0);
                key::put_json(scratch, values.value(row));
                table.json(scratch.as_slice(), out);
            }
            _ => self.put(row, out),
        }
    }
}

/// Hands out a text with whatever lies behind it, which is faster to copy.
fn put_text(values: &StringArray, row: usize, put: impl FnOnce(&[u8], usize, usize)) {
    if let [start, end] = values.value_offsets()[row..row + 2] {
        put(values.value_data(), start as usize, end as usize);
    }
}

fn put_number(number: Number, out: &mut Sink) {
    match number {
        Number::Int(value) => digits::put_whole(out, value),
        Number::Float(value) => digits::put_float(out, value),
    }
}

#[cold]
fn unfit(column: &ArrayRef) -> Error {
    Error::argument(format!("a column of type {} does not fit its lane", column.data_type()))
}

/// Applies a function to the values of a column of numbers.
macro_rules! convert {
    ($column:expr, $to:ty, [$($kind:pat => $from:ty),*], $each:expr) => {
        match $column.data_type() {
            $($kind => $column.as_primitive::<$from>().try_unary::<_, $to, Error>($each),)*
            DataType::Null => Ok(PrimitiveArray::<$to>::new_null($column.len())),
            _ => Err(unfit($column)),
        }
    };
}

fn integers(column: &ArrayRef) -> Result<PrimitiveArray<Int64Type>> {
    if let Some(values) = column.as_primitive_opt::<Int64Type>() {
        return Ok(values.clone());
    }
    convert!(column, Int64Type, [
        DataType::Int8 => Int8Type, DataType::Int16 => Int16Type, DataType::Int32 => Int32Type,
        DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type, DataType::UInt32 => UInt32Type,
        DataType::UInt64 => UInt64Type, DataType::Decimal128(_, 0) => Decimal128Type
    ], fit)
}

fn fit(value: impl Into<i128>) -> Result<i64> {
    i64::try_from(value.into()).map_err(|_| Error::argument("an integer beyond 64 bits"))
}

fn numbers(column: &ArrayRef) -> Result<PrimitiveArray<Float64Type>> {
    if let Some(values) = column.as_primitive_opt::<Float64Type>() {
        return Ok(values.clone());
    }
    if let Some(values) = column.as_primitive_opt::<Float32Type>() {
        return Ok(values.unary(f64::from));
    }
    if let DataType::Decimal128(_, scale) = *column.data_type() {
        let unit = 10f64.powi(i32::from(scale));
        return Ok(column.as_primitive::<Decimal128Type>().unary(|value| value as f64 / unit));
    }
    Ok(integers(column)?.unary(|value| value as f64))
}

fn times(column: &ArrayRef) -> Result<PrimitiveArray<TimestampMicrosecondType>> {
    fn scaled<T: ArrowPrimitiveType<Native = i64>>(
        column: &ArrayRef,
        scale: i64,
    ) -> Result<PrimitiveArray<TimestampMicrosecondType>> {
        let micros = |value: i64| {
            value.checked_mul(scale).ok_or_else(|| Error::argument("a timestamp that is out of range"))
        };
        column.as_primitive::<T>().try_unary(micros)
    }
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(column.as_primitive::<TimestampMicrosecondType>().clone())
        }
        DataType::Timestamp(TimeUnit::Second, _) => scaled::<TimestampSecondType>(column, 1_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => scaled::<TimestampMillisecondType>(column, 1000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Ok(column.as_primitive::<TimestampNanosecondType>().unary(|value| value.div_euclid(1000)))
        }
        DataType::Null => Ok(PrimitiveArray::new_null(column.len())),
        _ => Err(unfit(column)),
    }
}

fn texts(column: &ArrayRef) -> Result<StringArray> {
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().clone()),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Ok(column.as_string_view().iter().collect()),
        DataType::Null => Ok(StringArray::new_null(column.len())),
        _ => Err(unfit(column)),
    }
}
