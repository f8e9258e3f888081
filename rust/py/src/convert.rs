//! What Python asks for, in the words of Rust: bytes, names, paths, conditions, groups and orders.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};
use zion::aggregate::{Call, Function, Grain, Key};
use zion::functions::{re2, text};
use zion::limits::MAX_STEPS;
use zion::scan::{Constant, Front, Inside, Lane, Letter, Op, Path, Pattern, Predicate, Sort, Step, Unnest};
use zion::value::number::Number;
use zion::{Error, Result};

use crate::errors::to_py;

/// One step of a path.
#[derive(FromPyObject)]
pub enum AnyStep {
    Index(usize),
    Field(String),
}

/// A path.
pub type AnyPath = Vec<AnyStep>;
/// Lane and what times are rounded down to: `("us", every, from)`, `("months", every, 0)`.
pub type AnyKey = (usize, Option<(String, i64, i64)>);
/// Function, lane and filter.
pub type AnyCall<'py> = (String, Option<usize>, Option<Bound<'py, PyAny>>);
/// Place, whether greater values come first, whether nulls come last.
pub type AnySort = (usize, bool, bool);

/// Bytes of any kind; `bytes` are not copied.
pub fn backed(data: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.clone().into());
    }
    let bytes = data.py().get_type::<PyBytes>().call1((data,))?;
    Ok(bytes.cast_into::<PyBytes>()?.into())
}

/// Names as the decoder wants them.
pub fn names(fields: Option<Vec<String>>) -> Option<Vec<Box<[u8]>>> {
    fields.map(|fields| fields.into_iter().map(|name| name.into_bytes().into()).collect())
}

/// Names as tables want them.
pub fn boxed(fields: Option<Vec<String>>) -> Option<Vec<Box<str>>> {
    fields.map(|fields| fields.into_iter().map(String::into_boxed_str).collect())
}

/// A path, step by step.
pub fn path(steps: AnyPath) -> Path {
    let step = |step| match step {
        AnyStep::Index(index) => Step::Index(index),
        AnyStep::Field(name) => Step::Field(name.into()),
    };
    steps.into_iter().map(step).collect()
}

/// What takes a list or struct apart.
pub fn unnest((level, steps, kind): (usize, AnyPath, String)) -> Result<Unnest> {
    let inside = match &*kind {
        "list" => Inside::Items,
        "struct" => Inside::Fields,
        _ => return Err(Error::argument(format!("{kind:?} cannot be unnested: list or struct"))),
    };
    Ok(Unnest { level, path: path(steps), inside })
}

/// What becomes a column.
pub fn lane((level, steps, letter): (usize, AnyPath, String)) -> Result<Lane> {
    Ok(Lane { level, path: path(steps), letter: Letter::from_name(&letter)? })
}

fn wrong(what: &str) -> PyErr {
    to_py(Error::argument(format!("a predicate with {what}")))
}

/// `("and", [...])`, `("cmp", path, op, value)` and so on.
pub fn predicate(tree: &Bound<'_, PyAny>, depth: usize) -> PyResult<Predicate<Path>> {
    if depth > MAX_STEPS {
        return Err(wrong("too many levels"));
    }
    let tree = tree.cast::<PyTuple>()?;
    let part = |index: usize| tree.get_item(index);
    let all = |of: Bound<'_, PyAny>| -> PyResult<Vec<Predicate<Path>>> {
        of.try_iter()?.map(|one| predicate(&one?, depth + 1)).collect()
    };
    let place = || part(1)?.extract().map(path);
    Ok(match &*part(0)?.extract::<String>()? {
        "and" => Predicate::And(all(part(1)?)?),
        "or" => Predicate::Or(all(part(1)?)?),
        "not" => Predicate::Not(Box::new(predicate(&part(1)?, depth + 1)?)),
        "cmp" => {
            Predicate::Compare(place()?, operator(&part(2)?.extract::<String>()?)?, constant(&part(3)?)?)
        }
        "in" => {
            let constants = part(2)?.try_iter()?.map(|one| constant(&one?));
            Predicate::In(place()?, constants.collect::<PyResult<_>>()?)
        }
        "is" => Predicate::Is(place()?, part(2)?.extract()?),
        "like" => {
            let pattern: String = part(2)?.extract()?;
            Predicate::Like(place()?, Pattern::new(&pattern, part(3)?.extract()?))
        }
        "ilike" => {
            let pattern: String = part(2)?.extract()?;
            Predicate::Matches(place()?, text::ilike(&pattern, part(3)?.extract()?).map_err(to_py)?)
        }
        "regex" => {
            let pattern: String = part(2)?.extract()?;
            Predicate::Matches(place()?, re2::compiled(&pattern, part(3)?.extract()?).map_err(to_py)?)
        }
        other => return Err(wrong(&format!("{other:?} in it"))),
    })
}

fn operator(name: &str) -> PyResult<Op> {
    Ok(match name {
        "=" => Op::Equal,
        "<>" => Op::Unequal,
        "<" => Op::Less,
        "<=" => Op::LessOrEqual,
        ">" => Op::Greater,
        ">=" => Op::GreaterOrEqual,
        _ => return Err(wrong(&format!("the operator {name:?}"))),
    })
}

/// `("n", float)`, `("x", int)`, `("s", str)`, `("b", bool)`, `("u", us)`, `("z",)`.
fn constant(value: &Bound<'_, PyAny>) -> PyResult<Constant> {
    let value = value.cast::<PyTuple>()?;
    let content = || value.get_item(1);
    Ok(match &*value.get_item(0)?.extract::<String>()? {
        "n" => Constant::Number(Number::from(content()?.extract::<f64>()?)),
        "x" => Constant::Number(Number::Int(content()?.extract()?)),
        "s" => Constant::Text(content()?.extract::<String>()?.into_bytes().into()),
        "b" => Constant::Bool(content()?.extract()?),
        "u" => Constant::Time(content()?.extract()?),
        "z" => Constant::Null,
        other => return Err(wrong(&format!("a value of kind {other:?}"))),
    })
}

/// What comes first in a block: None if that is not known, a time in microseconds, a constant, in which texts are
/// bytes that may be cut anywhere, or `("none",)`.
pub fn front(value: &Bound<'_, PyAny>) -> PyResult<Front> {
    if value.is_none() {
        return Ok(Front::Unknown);
    }
    if let Ok(us) = value.extract::<i64>() {
        return Ok(Front::Value(Constant::Time(us)));
    }
    let pair = value.cast::<PyTuple>()?;
    Ok(match &*pair.get_item(0)?.extract::<String>()? {
        "none" => Front::NoValue,
        "s" => Front::Value(Constant::Text(pair.get_item(1)?.extract::<Vec<u8>>()?.into())),
        _ => Front::Value(constant(value)?),
    })
}

/// What rows are summed up by.
pub fn key((lane, grain): AnyKey) -> Result<Key> {
    let grain = grain.map(|(unit, every, from)| match (&*unit, u32::try_from(every)) {
        ("us", _) => Ok(Grain::Micros { every, from }),
        ("months", Ok(every)) => Ok(Grain::Months(every)),
        _ => Err(Error::argument(format!("times cannot be rounded down to {every} {unit}"))),
    });
    Ok(Key { lane, grain: grain.transpose()? })
}

/// What is found out.
pub fn call((name, lane, filter): AnyCall<'_>) -> PyResult<Call> {
    let function = Function::from_name(&name).map_err(to_py)?;
    Ok(Call { function, lane, filter: filter.map(|tree| predicate(&tree, 0)).transpose()? })
}

/// What lanes are sorted by.
pub fn sorts(by: Vec<AnySort>) -> Vec<Sort> {
    let sort = |(place, descending, nulls_last)| Sort { place, descending, nulls_last };
    by.into_iter().map(sort).collect()
}
