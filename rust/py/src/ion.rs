//! `ion_dumps` and `ion_loads`: Python values of metadata and their Ion form; `ion_encode`, `ion_decode` and
//! `ion_symbols` where values share a symbol table. `values`: those of a lane.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use zion::Error;
use zion::ion::SymbolTable;
use zion::ion::symtab::FIRST_USER;
use zion::ion::value::{self, Name, Value};
use zion::limits::{MAX_KEY_DEPTH, MAX_TREE_DEPTH};
use zion::value::key::{self, Key};

use crate::errors::to_py;
use crate::ffi;

/// Encodes a value as a stream of its own: version marker, symbol table, value.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub fn ion_dumps<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = value.py();
    let tree = Types::import(py)?.to_ion(value, 0)?;
    let data = py.detach(|| value::dumps(&tree)).map_err(to_py)?;
    Ok(PyBytes::new(py, &data))
}

/// Decodes symbol tables and the one value after them.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn ion_loads<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let tree = py.detach(|| value::loads(data)).map_err(to_py)?;
    Builder::new(py)?.build(&tree)
}

/// Encodes a value with the symbols of a table, and gives those that it adds to it.
#[pyfunction]
#[pyo3(signature = (value, symbols, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn ion_encode<'py>(
    value: &Bound<'py, PyAny>,
    symbols: Vec<String>,
) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
    let py = value.py();
    let tree = Types::import(py)?.to_ion(value, 0)?;
    let (data, table) = py.detach(|| value::encode(&tree, table_of(&symbols))).map_err(to_py)?;
    Ok((PyBytes::new(py, &data), texts(&table, FIRST_USER + symbols.len() as u32)))
}

/// Decodes the first value of a stream, or one with the symbols of a table: the value, the symbols, and
/// where the value ends.
#[pyfunction]
#[pyo3(signature = (data, symbols=None, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn ion_decode<'py>(
    py: Python<'py>,
    data: &[u8],
    symbols: Option<Vec<String>>,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>, usize)> {
    let shared = symbols.as_deref().map(table_of);
    let (tree, table, end) = py.detach(|| value::decode(data, shared)).map_err(to_py)?;
    Ok((Builder::new(py)?.build(&tree)?, texts(&table, FIRST_USER), end))
}

/// The start of a stream: the version marker and a symbol table.
#[pyfunction]
#[pyo3(signature = (symbols, /))]
#[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
pub fn ion_symbols(py: Python<'_>, symbols: Vec<String>) -> Bound<'_, PyBytes> {
    let table = table_of(&symbols);
    let mut out = vec![];
    table.put_full(&mut out, table.max_id());
    PyBytes::new(py, &out)
}

fn table_of(symbols: &[String]) -> SymbolTable {
    let mut table = SymbolTable::new();
    for name in symbols {
        table.push(name.as_bytes());
    }
    table
}

/// The texts of a table from a symbol on; what was read is UTF-8.
fn texts(table: &SymbolTable, from: u32) -> Vec<String> {
    let text = |id| table.name(id).map(|name| String::from_utf8_lossy(name).into_owned());
    (from..table.max_id()).filter_map(text).collect()
}

/// The values of a lane of typed texts: `missing` for absent ones, `None` for NULL.
#[pyfunction]
#[pyo3(signature = (lane, missing, /))]
pub fn values<'py>(lane: &Bound<'py, PyAny>, missing: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let (py, array) = (lane.py(), ffi::array(lane)?);
    let wrong = || to_py(Error::argument(format!("a lane of {}, not of text", array.data_type())));
    let texts = array.as_string_opt::<i32>().ok_or_else(wrong)?;
    let types = Types::import(py)?;
    let found = PyList::empty(py);
    for text in texts {
        found.append(text.map_or_else(|| Ok(missing.clone()), |text| types.value(text, 0))?)?;
    }
    Ok(found)
}

/// What Python has to say about Ion values that are no builtins.
struct Types<'py> {
    py: Python<'py>,
    symbol: Bound<'py, PyAny>,
    from_us: Bound<'py, PyAny>,
    to_us: Bound<'py, PyAny>,
}

impl<'py> Types<'py> {
    fn import(py: Python<'py>) -> PyResult<Self> {
        let module = py.import("sdb.ion")?;
        Ok(Self {
            py,
            symbol: module.getattr("IonSymbol")?,
            from_us: module.getattr("instant_from_us")?,
            to_us: module.getattr("instant_to_us")?,
        })
    }

    /// The value that a key stands for.
    fn value(&self, text: &str, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        if depth > MAX_KEY_DEPTH {
            let message = format!("values nested deeper than {MAX_KEY_DEPTH} levels");
            return Err(to_py(Error::unsupported(message)));
        }
        let py = self.py;
        let wrong = || to_py(Error::argument("a malformed typed text in a lane"));
        Ok(match key::parse(text).ok_or_else(wrong)? {
            Key::Null => py.None().into_bound(py),
            Key::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
            Key::Int(number) => number.into_pyobject(py)?.into_any(),
            Key::Float(number) => PyFloat::new(py, number).into_any(),
            Key::Time(us) => self.from_us.call1((us,))?,
            Key::Text(text) => PyString::new(py, text).into_any(),
            Key::List(items) => {
                let list = PyList::empty(py);
                items.into_iter().try_for_each(|item| list.append(self.value(item, depth + 1)?))?;
                list.into_any()
            }
            Key::Struct(members) => {
                let dict = PyDict::new(py);
                let mut parts = members.into_iter();
                while let Some(name) = parts.next() {
                    dict.set_item(name, self.value(parts.next().ok_or_else(wrong)?, depth + 1)?)?;
                }
                dict.into_any()
            }
        })
    }

    fn to_ion(&self, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Value> {
        if depth > MAX_TREE_DEPTH {
            return Err(PyValueError::new_err(format!(
                "a value is nested deeper than {MAX_TREE_DEPTH} levels"
            )));
        }
        if value.is_none() {
            Ok(Value::Null)
        } else if let Ok(flag) = value.cast::<PyBool>() {
            Ok(Value::Bool(flag.is_true()))
        } else if value.is_instance_of::<PyInt>() {
            Ok(Value::Int(value.extract()?))
        } else if let Ok(number) = value.cast::<PyFloat>() {
            Ok(Value::Float(number.value()))
        } else if let Ok(text) = value.cast::<PyString>() {
            let plain = value.is_exact_instance_of::<PyString>();
            let symbol = !plain && value.is_instance(&self.symbol)?;
            let text = text.to_cow()?;
            Ok(if symbol { Value::Symbol((*text).into()) } else { Value::String((*text).into()) })
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            Ok(Value::Blob(bytes.as_bytes().into()))
        } else if let Ok(fields) = value.cast::<PyDict>() {
            let field = |(name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
                let name: Name = name.cast::<PyString>()?.to_cow()?.as_ref().into();
                Ok((name, self.to_ion(&value, depth + 1)?))
            };
            Ok(Value::Struct(fields.iter().map(field).collect::<PyResult<_>>()?))
        } else if let Ok(items) = value.cast::<PyList>() {
            Ok(Value::List(items.iter().map(|item| self.to_ion(&item, depth + 1)).collect::<PyResult<_>>()?))
        } else if let Ok(items) = value.cast::<PyTuple>() {
            Ok(Value::List(items.iter().map(|item| self.to_ion(&item, depth + 1)).collect::<PyResult<_>>()?))
        } else {
            let us = self.to_us.call1((value,))?;
            if us.is_none() {
                let kind = value.get_type().name()?;
                return Err(PyTypeError::new_err(format!("values of type {kind} have no Ion form")));
            }
            Ok(Value::Time(us.extract()?))
        }
    }
}

/// Builds Python objects; each name becomes one object, however often it is used.
pub struct Builder<'py> {
    types: Types<'py>,
    names: HashMap<*const u8, Bound<'py, PyString>>,
    symbols: HashMap<*const u8, Bound<'py, PyAny>>,
}

impl<'py> Builder<'py> {
    pub fn new(py: Python<'py>) -> PyResult<Self> {
        Ok(Self { types: Types::import(py)?, names: HashMap::new(), symbols: HashMap::new() })
    }

    fn name(&mut self, name: &Name) -> Bound<'py, PyString> {
        let py = self.types.py;
        self.names.entry(name.as_ptr()).or_insert_with(|| PyString::new(py, name)).clone()
    }

    fn symbol(&mut self, name: &Name) -> PyResult<Bound<'py, PyAny>> {
        if let Some(symbol) = self.symbols.get(&name.as_ptr()) {
            return Ok(symbol.clone());
        }
        let symbol = self.types.symbol.call1((&**name,))?;
        self.symbols.insert(name.as_ptr(), symbol.clone());
        Ok(symbol)
    }

    pub fn build(&mut self, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        let py = self.types.py;
        Ok(match value {
            Value::Null => py.None().into_bound(py),
            Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
            Value::Int(number) => number.into_pyobject(py)?.into_any(),
            Value::Float(number) => PyFloat::new(py, *number).into_any(),
            Value::Time(us) => self.types.from_us.call1((*us,))?,
            Value::Symbol(name) => self.symbol(name)?,
            Value::String(text) => PyString::new(py, text).into_any(),
            Value::Blob(bytes) => PyBytes::new(py, bytes).into_any(),
            Value::List(items) => {
                let list = PyList::empty(py);
                for item in items {
                    list.append(self.build(item)?)?;
                }
                list.into_any()
            }
            Value::Struct(fields) => {
                let dict = PyDict::new(py);
                for (name, value) in fields {
                    dict.set_item(self.name(name), self.build(value)?)?;
                }
                dict.into_any()
            }
        })
    }
}
