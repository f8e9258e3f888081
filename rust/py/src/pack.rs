//! `Packer`: text in, compressed frames out.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PySet, PyTuple};
use zion::chunk::paths::Path;
use zion::codec::Algorithm;
use zion::index::statistics::ngrams::NgramPaths;
use zion::ion::SymbolTable;
use zion::ion::value::{self, Value};
use zion::pack::OnError;
use zion::pack::inflate::Compression;
use zion::pack::{Columns, Constants, Fields, Format, InputError, Options, Stop, Taken};
use zion::times::{TimeField, Times};
use zion::{Error, Result};

use crate::errors::{to_py, to_py_in};
use crate::field_counts::{self, FieldCount};
use crate::ngrams;
use crate::rejected::RejectedBatch;
use crate::source;
use crate::statistics::{self, AnyStatPath, BlockStatistics};
use crate::times::{self, TimesOptions};

/// Decompressed text of a part: what one thread parses at a time. Each has to learn the names and paths anew,
/// which takes as long as half a mebibyte of text; one that is fed lies in memory.
const PART_BYTES: usize = 16 << 20;

/// What a thread reads of a file at once: it stays in the second-level cache.
const READ_BYTES: usize = 256 << 10;

/// Input, column, type, number of values that departed from it, and how many of the sample had it.
type ColumnNote<'a> = (&'a str, String, &'static str, u64, Option<(u64, u64)>);

/// Packs inputs into frames on threads of its own.
#[pyclass(module = "sdb._core")]
pub struct Packer {
    inner: Option<zion::pack::Packer>,
    /// Frames that were taken from it.
    ready: VecDeque<Vec<u8>>,
    /// Those of its inputs that are lines of a log.
    logs: Vec<Format>,
    /// Names of inputs, and what tells of their columns.
    columns: Vec<(String, Columns)>,
    /// What rows of its inputs get where they lack it.
    defaults: Vec<Arc<Constants>>,
    /// How times of its inputs are read, and what that was made of.
    times: Vec<(TimesOptions, Arc<Times>)>,
    /// Paths of which there are words or prefixes.
    ngrams: NgramPaths,
}

#[pymethods]
impl Packer {
    #[new]
    #[pyo3(signature = (*, algorithm, align=1 << 20, max_row=None, block_bytes=50 << 20, threads=0, level=3,
                        constants=None, part_bytes=PART_BYTES, time_paths=vec![], stats=false, stats_paths=vec![],
                        ngram_paths=vec![], prefix_paths=vec![]))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        algorithm: &str,
        align: usize,
        max_row: Option<usize>,
        block_bytes: usize,
        threads: usize,
        level: i32,
        constants: Option<&[u8]>,
        part_bytes: usize,
        time_paths: Vec<Vec<String>>,
        stats: bool,
        stats_paths: Vec<AnyStatPath>,
        ngram_paths: Vec<AnyStatPath>,
        prefix_paths: Vec<AnyStatPath>,
    ) -> PyResult<Self> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let ngrams = ngrams::paths(ngram_paths, prefix_paths)?;
        let options = Options {
            algorithm: Algorithm::from_name(algorithm).map_err(to_py)?,
            level,
            align,
            max_row: max_row.unwrap_or(align),
            block_bytes,
            part_bytes,
            read_bytes: READ_BYTES,
            threads,
            on_error: OnError::Fail,
            time_paths: time_paths.into_iter().map(names).collect(),
            statistics: statistics::choice(stats_paths, stats)?,
            ngrams: Arc::clone(&ngrams),
        };
        let fields = constants.map_or_else(|| Ok(vec![]), fields).map_err(to_py)?;
        let constants = Constants { fields, ..Constants::default() };
        let inner = py.detach(|| zion::pack::Packer::new(options, constants)).map_err(to_py)?;
        Ok(Self {
            inner: Some(inner),
            ready: VecDeque::new(),
            logs: vec![],
            columns: vec![],
            defaults: vec![],
            times: vec![],
            ngrams,
        })
    }

    /// Goes on with a block: gives how many of its chunks and bytes stay, how many rows are packed again, and the
    /// hashes of the frames that stay. With `is_counted` it is known in how many rows the fields of the block are.
    #[pyo3(signature = (block, chunks, *, verify=true, is_counted=true))]
    fn resume<'py>(
        &mut self,
        py: Python<'py>,
        block: &[u8],
        chunks: u64,
        verify: bool,
        is_counted: bool,
    ) -> PyResult<(u64, usize, u64, Bound<'py, PyBytes>)> {
        let inner = self.inner()?;
        let resumed = py.detach(|| inner.resume(block, chunks, verify, is_counted)).map_err(to_py)?;
        Ok((resumed.chunks, resumed.bytes, resumed.rows, PyBytes::new(py, &resumed.hashes)))
    }

    /// Begins an input. With `defaults`, a struct of Ion, its rows get the fields of it that they lack. `times` says how
    /// times are read, see `times::reader`; without it as the original does. Malformed records are an error, or are passed
    /// over (`skip`), or become rows (`keep`).
    #[pyo3(signature = (name, format, compression, hints, defaults=None, times=None, on_error="fail"))]
    #[allow(clippy::too_many_arguments)]
    fn begin(
        &mut self,
        name: &str,
        format: &str,
        compression: &str,
        hints: Option<&[u8]>,
        defaults: Option<&[u8]>,
        times: Option<TimesOptions>,
        on_error: &str,
    ) -> PyResult<()> {
        let compression = match compression {
            "none" => Compression::None,
            "gzip" => Compression::Gzip,
            "zstd" => Compression::Zstd,
            other => return Err(to_py(Error::argument(format!("unknown compression \"{other}\"")))),
        };
        let on_error = match on_error {
            "fail" => OnError::Fail,
            "skip" => OnError::Skip,
            "keep" => OnError::Keep,
            other => return Err(to_py(Error::argument(format!("unknown choice \"{other}\"")))),
        };
        // What tells of a guess is asked for in the end; a pattern has nothing to tell, and much memory.
        let is_kept = !format.starts_with("regex:");
        let format = Format::new(format, hints).map_err(to_py)?;
        if is_kept && matches!(format, Format::Logs(_)) {
            self.logs.push(format.clone());
        }
        self.columns.extend(format.columns().map(|columns| (name.to_owned(), columns)));
        let defaults = defaults.map_or_else(|| Ok(vec![]), fields).map_err(to_py)?;
        let has_defaults = !defaults.is_empty();
        let times = times.map_or_else(|| Ok(Arc::default()), |options| self.reader(options))?;
        let constants =
            self.inner()?.begin_with(name, format, compression, defaults, times, on_error).map_err(to_py)?;
        if has_defaults {
            self.defaults.push(constants);
        }
        Ok(())
    }

    /// Whether a row had a field of its own where its input has a default.
    #[getter]
    fn is_overridden(&self) -> bool {
        self.defaults.iter().any(|constants| constants.is_overridden.load(Ordering::Relaxed))
    }

    /// Number of times that lost digits beyond microseconds.
    #[getter]
    fn cut_times(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.cut_times)
    }

    /// Number of texts with bytes that are no UTF-8, which were replaced.
    #[getter]
    fn replaced_texts(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.replaced)
    }

    /// Number of values that do not count, since their object has the name twice.
    #[getter]
    fn dropped_values(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.dropped)
    }

    /// Number of texts of fields that are taken apart, which are no JSON and stay.
    #[getter]
    fn kept_whole(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.kept_whole)
    }

    /// Number of objects that were to be unfolded, and have another form.
    #[getter]
    fn not_unfolded(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.not_unfolded)
    }

    /// Decompressed size of the largest chunk, in bytes.
    #[getter]
    fn largest_chunk(&mut self) -> PyResult<usize> {
        Ok(self.inner()?.largest_chunk)
    }

    /// Inputs, names in their headers that several columns have, and what the later ones are called.
    #[getter]
    fn renamed_columns(&self) -> Vec<(&str, &str, &str)> {
        let all = self.columns.iter();
        all.flat_map(|(input, columns)| {
            columns.renamed().iter().map(|(name, called)| (input.as_str(), name.as_str(), called.as_str()))
        })
        .collect()
    }

    /// Inputs that are damaged behind the rows that were taken, and what is wrong.
    #[getter]
    fn damages(&mut self) -> PyResult<Vec<(String, String)>> {
        let damages = self.inner()?.damages.iter();
        Ok(damages.map(|damage| (damage.input.clone(), damage.error.to_string())).collect())
    }

    /// Inputs whose rows are records in objects, and some names of members beside these.
    #[getter]
    fn left_out(&mut self) -> PyResult<Vec<(String, Vec<String>)>> {
        Ok(self.inner()?.left_out.clone())
    }

    /// Says that the current input is damaged from here on: the rows before stay, and `end` takes what is left.
    fn damage(&mut self, message: String) -> PyResult<()> {
        self.inner()?.damage(Error::unsupported(message));
        Ok(())
    }

    /// Paths whose times were told to have a form that no value had.
    #[getter]
    fn unfitted<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let all = || self.times.iter().flat_map(|(_, times)| times.fields().iter());
        let unfitted: BTreeSet<&Path> =
            self.times.iter().flat_map(|(_, times)| times.unfitted()).map(|field| &field.path).collect();
        let no_value =
            |path: &&&Path| all().filter(|field| field.path == ***path).all(TimeField::is_unfitted);
        unfitted.iter().filter(no_value).map(|path| path_tuple(py, path)).collect()
    }

    /// Whether times of an input had no year, so that one was guessed.
    #[getter]
    fn has_guessed_year(&self) -> bool {
        self.logs.iter().any(Format::has_guessed)
    }

    /// Whether times of an input had a zone whose name says no offset.
    #[getter]
    fn has_unknown_zone(&self) -> bool {
        self.logs.iter().any(Format::has_unknown_zone)
    }

    /// The number of rows made of lines of logs that begin no record and have none before them.
    #[getter]
    fn strays(&self) -> u64 {
        self.logs.iter().map(Format::strays).sum()
    }

    /// What is to be said of columns, once all was taken: `(input, column, type, departed, sample)`. Values that
    /// departed from the type stay texts; `sample` is how many of its values had the type, and of how many, where
    /// all stay texts.
    #[getter]
    fn column_notes(&self) -> Vec<ColumnNote<'_>> {
        let mut notes = vec![];
        for (input, columns) in &self.columns {
            for note in columns.notes() {
                notes.push((input.as_str(), note.column, note.kind.name(), note.departed, note.sample));
            }
        }
        notes
    }

    /// The inputs whose first record was taken for a row and not for a header.
    #[getter]
    fn headerless(&self) -> Vec<&str> {
        let without = self.columns.iter().filter(|(_, columns)| columns.has_no_header());
        without.map(|(input, _)| input.as_str()).collect()
    }

    /// Takes bytes of the current input; waits while the threads have enough to do.
    #[allow(clippy::needless_pass_by_value, reason = "what Python calls owns its arguments")]
    fn feed(&mut self, py: Python<'_>, data: PyBackedBytes) -> PyResult<()> {
        let inner = self.inner()?;
        watched(py, |interrupt| inner.feed(&data, interrupt))
    }

    /// Takes the current input from an open file of so many bytes, as far as its threads can read it by
    /// themselves; `advance` goes on with it.
    fn store(&mut self, py: Python<'_>, fd: RawFd, size: usize) -> PyResult<()> {
        let file = source::whole(fd, size)?;
        let inner = self.inner()?;
        watched(py, |interrupt| inner.store(file, interrupt))
    }

    /// Waits until more frames may be ready; the place from where on the file is to be fed, once the threads
    /// have read what they can.
    fn advance(&mut self, py: Python<'_>) -> PyResult<Option<u64>> {
        let inner = self.inner()?;
        watched(py, |interrupt| inner.advance(interrupt))
    }

    /// Ends the current input.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let inner = self.inner()?;
        watched(py, |interrupt| inner.end(interrupt))
    }

    /// The next frame, if it is ready: one at a time, so that all have the same memory.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if self.ready.is_empty() {
            self.ready = self.inner()?.take().map_err(stopped)?;
        }
        let Some(frame) = self.ready.pop_front() else { return Ok(None) };
        let taken = PyBytes::new(py, &frame);
        self.inner()?.recycle([frame]);
        Ok(Some(taken))
    }

    /// Waits until more frames may be ready; false when all were taken.
    fn wait(&mut self, py: Python<'_>) -> PyResult<bool> {
        let inner = self.inner()?;
        if inner.is_drained() {
            return Ok(false);
        }
        watched(py, |interrupt| inner.wait(interrupt))?;
        Ok(true)
    }

    /// Lets the threads end, once all was taken: nothing more is fed.
    fn finish(&mut self) -> PyResult<()> {
        self.inner()?.finish();
        Ok(())
    }

    /// Stops the threads and gives the memory back.
    fn close(&mut self, py: Python<'_>) {
        let inner = self.inner.take();
        py.detach(|| drop(inner));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&mut self, py: Python<'_>, _error: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// The name of the algorithm as it goes into the trailer.
    #[getter]
    fn algorithm(&mut self) -> PyResult<&'static str> {
        Ok(self.inner()?.algorithm().name())
    }

    /// Length of the frames that were taken, in bytes.
    #[getter]
    fn position(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.position())
    }

    /// Rows in the frames that were taken.
    #[getter]
    fn rows(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.rows)
    }

    /// Text behind the frames that were taken, in bytes.
    #[getter]
    fn text_bytes(&mut self) -> PyResult<u64> {
        Ok(self.inner()?.text_bytes)
    }

    /// The runs of chunks that were taken: `(offset, chunks, rows, ranges, complete, hashes)`.
    #[getter]
    fn runs<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let inner = self.inner()?;
        inner
            .runs
            .iter()
            .map(|run| {
                let ranges = PyDict::new(py);
                for (path, range) in &run.ranges {
                    ranges.set_item(path_tuple(py, path)?, (range.min, range.max, range.count))?;
                }
                let hashes = PyBytes::new(py, &run.hashes);
                (run.offset, run.chunks, run.rows, ranges, run.complete, hashes).into_pyobject(py)
            })
            .collect()
    }

    /// Types seen at each path as a bit mask over Ion types, and whether no path is missing.
    #[getter]
    fn types<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, bool)> {
        let (found, complete) = self.inner()?.fields.types();
        let types = PyDict::new(py);
        for (path, mask) in &found {
            types.set_item(path_tuple(py, path)?, mask)?;
        }
        Ok((types, complete))
    }

    /// The fields in the order in which they came up, and whether none is missing.
    #[getter]
    fn fields(&mut self, py: Python<'_>) -> PyResult<(Vec<FieldCount>, bool)> {
        let fields = self.inner()?.fields.fields();
        Ok((field_counts::listed(py, &fields)?, fields.complete))
    }

    /// Rows, size in bytes, digest and size of the text of each input so far.
    #[getter]
    fn inputs<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let inner = self.inner()?;
        let told = |input: &Taken| {
            let digest = PyBytes::new(py, &input.digest.finish());
            (input.rows, input.bytes, digest, input.text_bytes).into_pyobject(py)
        };
        inner.inputs.iter().map(told).collect()
    }

    /// Paths with timestamps that are not in the ranges of the runs.
    #[getter]
    fn hidden<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PySet>> {
        let inner = self.inner()?;
        let paths = inner.hidden.iter().map(|path| path_tuple(py, path)).collect::<PyResult<Vec<_>>>()?;
        PySet::new(py, paths)
    }

    /// What is known of the values in each block, once all was taken.
    #[getter]
    fn statistics(&mut self, py: Python<'_>) -> PyResult<Vec<BlockStatistics>> {
        let ngrams = Arc::clone(&self.ngrams);
        let inner = self.inner()?;
        statistics::listed(py, py.detach(|| inner.statistics()), &ngrams)
    }

    /// Paths of which the values were too many to be kept in mind: they have no filters.
    #[getter]
    fn crowded<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.inner()?.crowded().map(|path| statistics::names(py, path)).collect()
    }

    /// Records that were passed over since the last call.
    fn take_rejected(&mut self) -> PyResult<Vec<RejectedBatch>> {
        let rejected = std::mem::take(&mut self.inner()?.rejected);
        Ok(rejected.into_iter().map(|(input, records)| RejectedBatch::new(input, records)).collect())
    }
}

impl Packer {
    /// What reads times as the options say, one for all inputs with the same ones.
    fn reader(&mut self, options: TimesOptions) -> PyResult<Arc<Times>> {
        if let Some((_, known)) = self.times.iter().find(|(told, _)| *told == options) {
            return Ok(Arc::clone(known));
        }
        let times = Arc::new(times::reader(options.clone()).map_err(to_py)?);
        self.times.push((options, Arc::clone(&times)));
        Ok(times)
    }

    fn inner(&mut self) -> PyResult<&mut zion::pack::Packer> {
        self.inner.as_mut().ok_or_else(|| to_py(Error::argument("the packer is closed")))
    }
}

/// Runs without the GIL; signals are looked for whenever the call waits.
fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, Stop> + Send,
) -> PyResult<T> {
    let mut pending = None;
    let result = py.detach(|| {
        work(&mut || {
            let signals = |py: Python<'_>| py.check_signals();
            pending = Python::attach(signals).err();
            pending.is_some()
        })
    });
    match (result, pending) {
        (Err(Stop::Interrupted), Some(error)) => Err(error),
        (result, _) => result.map_err(stopped),
    }
}

fn stopped(stop: Stop) -> PyErr {
    match stop {
        Stop::Failed(InputError { input, error }) => to_py_in(&error, &input),
        Stop::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}

fn names(path: Vec<String>) -> Path {
    path.into_iter().map(|name| name.into_bytes().into()).collect()
}

fn path_tuple<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, path.iter().map(|name| String::from_utf8_lossy(name)))
}

/// The constants of a struct in a stream of its own.
fn fields(data: &[u8]) -> Result<Fields> {
    let Value::Struct(fields) = value::loads(data)? else {
        return Err(Error::argument("constants are the fields of a struct"));
    };
    fields
        .into_iter()
        .map(|(name, value)| {
            if matches!(value, Value::Struct(_) | Value::List(_) | Value::Symbol(_) | Value::Blob(_)) {
                let message = format!("the constant \"{name}\" is no number, text, truth value or time");
                return Err(Error::argument(message));
            }
            let mut out = value::dumps(&value)?;
            out.drain(..SymbolTable::new().apply(&out)?);
            Ok((name.as_bytes().into(), out))
        })
        .collect()
}
