//! The module `sdb._core`: bindings only, no logic.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod errors;
mod ion;
mod pack;
mod unpack;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<pack::Packer>()?;
    module.add_class::<unpack::Unpacker>()?;
    module.add_function(wrap_pyfunction!(ion::ion_dumps, module)?)?;
    module.add_function(wrap_pyfunction!(ion::ion_loads, module)?)?;
    Ok(())
}
