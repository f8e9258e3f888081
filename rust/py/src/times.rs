//! Texts that are times, and how those of inputs are read.

use pyo3::prelude::*;
use pyo3::types::PyString;
use zion::Result;
use zion::times::{self, Form, Times, Zone};

use crate::errors::to_py;

/// A mode (`all`, `rfc3339` or `none`), when which offset begins in the zone of times that name none (both in
/// seconds), and the forms of the times at some paths; `json` is that of texts which are taken apart, and `bytes`
/// without a path says that lists of bytes are texts.
pub type TimesOptions = (String, Vec<(i64, i64)>, Vec<(Vec<String>, String)>);

/// What reads times as the options say.
pub fn reader((mode, zone, mut fields): TimesOptions) -> Result<Times> {
    let count = fields.len();
    fields.retain(|(path, form)| !path.is_empty() || form != "bytes");
    let has_bytes = fields.len() < count;
    let told = |(path, form): (Vec<String>, String)| {
        let names = path.into_iter().map(|name| name.into_bytes().into());
        let form = if form == "json" { Ok(Form::Json) } else { Form::new(&form) };
        form.map(|form| (names.collect(), form))
    };
    let fields: Vec<_> = fields.into_iter().map(told).collect::<Result<_>>()?;
    Ok(Times::new(&mode, Zone::new(zone)?)?.with_fields(fields).with_bytes(has_bytes))
}

/// The instant in microseconds that a text is as a whole, in any form that can be read in one way only.
#[pyfunction]
#[pyo3(signature = (text, zone=vec![]))]
pub fn time_of_text(text: &Bound<'_, PyString>, zone: Vec<(i64, i64)>) -> PyResult<Option<i64>> {
    let zone = Zone::new(zone).map_err(to_py)?;
    Ok(times::read_any(text.to_string_lossy().as_bytes(), &zone).map(|found| found.us))
}

/// The same in UTC, where a date alone is its midnight.
#[pyfunction]
pub fn time_of_date_or_time(text: &Bound<'_, PyString>) -> Option<i64> {
    times::read_date_or_time(text.to_string_lossy().as_bytes())
}

/// The instant in microseconds of a text of a form: a unit such as `unix_ms`, or a form of `strptime`. An error says
/// what is wrong with the form.
#[pyfunction]
pub fn time_of_form(text: &Bound<'_, PyString>, form: &str) -> PyResult<Option<i64>> {
    let form = Form::new(form).map_err(to_py)?;
    Ok(form.read(text.to_string_lossy().as_bytes(), &Zone::default()).map(|found| found.us))
}
