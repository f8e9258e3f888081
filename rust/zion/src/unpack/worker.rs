//! Runs of chunks to text or Ion: the work of one thread.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::block::rows::{Rows, TimeFilter, put_kept};
use crate::block::runs::{Form, Job};
use crate::block::{BlockReader, Chunk, Codecs};
use crate::codec::Algorithm;
use crate::error::Result;
use crate::ion::{Header, SymbolTable, pad};
use crate::json::{print::Printer, sink::Sink, table::Table};
use crate::limits;
use crate::search::{Matcher, Search};
use crate::unpack::cells::Cells;

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One line a row.
    Json,
    /// A table of text with the fields as columns, in their order.
    Cells(Table),
    /// The decompressed chunks, padded to their full size.
    Ion,
    /// Nothing: the rows are only counted.
    Count,
}

/// What is wanted, the same for all chunks.
pub struct Request {
    form: Form,
    format: Format,
    fields: Option<Vec<Box<[u8]>>>,
    filter: Option<TimeFilter>,
    matcher: Option<Arc<Matcher>>,
    /// What is decoded: the fields, and those that the filters need.
    decoded: Option<Vec<Box<[u8]>>>,
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Request {
    /// Rows of chunks of `align` bytes; only some fields of them, and only the rows that a filter admits.
    pub fn new(
        algorithm: Algorithm,
        align: usize,
        format: Format,
        fields: Option<Vec<Box<[u8]>>>,
        filter: Option<TimeFilter>,
    ) -> Result<Self> {
        let form = Form::new(algorithm, align)?;
        let decoded = fields.clone().map(|mut names| {
            names.extend(filter.iter().map(|filter| filter.field().into()));
            names
        });
        Ok(Self { form, format, fields, filter, matcher: None, decoded, spare: Mutex::default() })
    }

    /// The same for only the rows that a search finds.
    #[must_use]
    pub fn matching(mut self, matcher: Option<Arc<Matcher>>) -> Self {
        let searched = matcher.as_ref().and_then(|matcher| matcher.fields());
        self.decoded = match (self.decoded, &matcher, searched) {
            (Some(mut names), Some(_), Some(searched)) => {
                names.extend(searched.iter().cloned());
                Some(names)
            }
            // To count rows takes no other fields than those that decide.
            (None, Some(_), Some(searched)) if self.format == Format::Count => {
                let time = self.filter.iter().map(|filter| filter.field().into());
                Some(searched.iter().cloned().chain(time).collect())
            }
            (None, ..) | (Some(_), Some(_), None) => None,
            (decoded, None, _) => decoded,
        };
        self.matcher = matcher;
        self
    }

    /// Whether few of many rows may come out, in a form that can be cut behind any row.
    pub(super) fn is_search(&self) -> bool {
        self.matcher.is_some() && matches!(self.format, Format::Json | Format::Count)
    }

    /// Whether rows are only counted.
    pub(super) fn counts(&self) -> bool {
        self.format == Format::Count
    }

    /// The same with checksums that count, or do not.
    #[must_use]
    pub fn verifying(self, verify: bool) -> Self {
        Self { form: self.form.verifying(verify), ..self }
    }

    /// Whether chunks pass as they are, so that the symbols before them need not be known.
    pub fn is_verbatim(&self) -> bool {
        self.format == Format::Ion && self.fields.is_none() && self.filter.is_none() && self.matcher.is_none()
    }

    /// How the chunks are stored.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Takes a used buffer back.
    pub fn recycle(&self, buffer: Vec<u8>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < 16 {
            spare.push(buffer);
        }
    }

    fn buffer(&self) -> Vec<u8> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Whether rows have fields that are decoded but do not come out.
    fn trims(&self) -> bool {
        self.fields.is_some()
            && (self.filter.is_some() || self.matcher.is_some() || self.form.algorithm == Algorithm::Zstd)
    }
}

/// Text that comes out at once: few rows may become far more, and it takes memory until somebody takes it.
const PIECE_BYTES: usize = 32 << 20;

/// Chunks, or the rest of one, whose text is not made yet.
#[derive(Debug, Default)]
pub struct Rest {
    chunks: VecDeque<Held>,
}

/// A decoded chunk of which the rows from some place on are still to come.
#[derive(Debug)]
struct Held {
    number: usize,
    offset: usize,
    data: Vec<u8>,
    at: usize,
    table: Arc<SymbolTable>,
}

impl Held {
    fn of(chunk: &Chunk<'_>, at: usize) -> Self {
        let Chunk { number, offset, data, table, .. } = *chunk;
        Self { number, offset, data: data.to_vec(), at, table: Arc::clone(table) }
    }

    fn chunk(&self) -> Chunk<'_> {
        let Self { number, offset, ref data, at, ref table } = *self;
        Chunk { number, offset, data, rows_at: at, resets: true, table }
    }
}

/// What a job gave.
#[derive(Debug, Default)]
pub struct Output {
    /// Lines or chunks.
    pub data: Vec<u8>,
    /// Number of rows; not counted for chunks that pass as they are.
    pub rows: u64,
    /// What is still to come of it, see [`Worker::go_on`].
    pub rest: Option<Box<Rest>>,
}

/// One thread's decompressors, buffers and printed names.
pub struct Worker {
    request: Arc<Request>,
    codecs: Option<Codecs>,
    filter: Option<TimeFilter>,
    search: Option<Search>,
    keep: Vec<bool>,
    printer: Printer,
    cells: Cells,
    /// The table that was taken over last.
    synced: Option<Arc<SymbolTable>>,
    scratch: Vec<u8>,
}

impl Worker {
    /// A worker for one request.
    pub fn new(request: Arc<Request>) -> Self {
        let filter = request.filter.clone();
        let search = request.matcher.clone().map(Search::new);
        let cells = Cells::new(request.fields.as_deref().unwrap_or_default());
        Self {
            request,
            codecs: None,
            filter,
            search,
            keep: Vec::new(),
            printer: Printer::default(),
            cells,
            synced: None,
            scratch: Vec::new(),
        }
    }

    /// Does a job.
    pub fn work(&mut self, job: &Job) -> Result<Output> {
        let request = Arc::clone(&self.request);
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let mut reader = job.reader(codecs)?.project(request.decoded.as_deref());
        let output = if request.is_verbatim() && job.limit == u64::MAX {
            self.verbatim(&mut reader, job.chunks)
        } else {
            self.convert(&mut reader, job)
        };
        self.codecs = Some(reader.into_codecs());
        output
    }

    fn verbatim(&mut self, reader: &mut BlockReader<'_>, chunks: usize) -> Result<Output> {
        let align = self.request.form.align;
        let mut data = self.request.buffer();
        if chunks == 1 {
            reader.swap_buffer(&mut data);
            reader.next_chunk()?;
            reader.swap_buffer(&mut data);
            let missing = align - data.len().min(align);
            pad::put(&mut data, missing);
            return Ok(Output { data, ..Output::default() });
        }
        data.clear();
        for _ in 0..chunks {
            let Some(chunk) = reader.next_chunk()? else { break };
            data.extend_from_slice(chunk.data);
            pad::put(&mut data, align - chunk.data.len().min(align));
        }
        Ok(Output { data, ..Output::default() })
    }

    fn convert(&mut self, reader: &mut BlockReader<'_>, job: &Job) -> Result<Output> {
        let mut rows = 0;
        let mut is_new = true;
        let mut sink = Sink::over(self.request.buffer());
        let mut rest: Option<Box<Rest>> = None;
        for _ in 0..job.chunks {
            if rows >= job.limit {
                break;
            }
            let Some(chunk) = reader.next_chunk()? else { break };
            if let Some(rest) = &mut rest {
                rest.chunks.push_back(Held::of(&chunk, chunk.rows_at));
                continue;
            }
            self.enter(&chunk, is_new || chunk.resets);
            is_new = false;
            let left = job.limit - rows;
            let (added, stopped) = match self.request.format {
                Format::Json | Format::Cells(_) => self.lines(&chunk, left, &mut sink),
                Format::Count => self.count(&chunk, left).map(|rows| (rows, None)),
                Format::Ion => self.chunk(&chunk, left, &mut sink).map(|rows| (rows, None)),
            }
            .map_err(|error| chunk.error(&error))?;
            rows += added;
            if let Some(at) = stopped {
                rest.get_or_insert_default().chunks.push_back(Held::of(&chunk, at));
            }
        }
        Ok(Output { data: sink.into_inner(), rows, rest })
    }

    /// The next piece of what a job left; none at the end.
    pub fn go_on(&mut self, rest: &mut Rest) -> Result<Option<Vec<u8>>> {
        let Some(mut held) = rest.chunks.pop_front() else { return Ok(None) };
        let mut sink = Sink::over(self.request.buffer());
        let chunk = held.chunk();
        self.enter(&chunk, true);
        let printed = self.lines(&chunk, u64::MAX, &mut sink).map_err(|error| chunk.error(&error))?;
        if let Some(at) = printed.1 {
            held.at = at;
            rest.chunks.push_front(held);
        }
        Ok(Some(sink.into_inner()))
    }

    /// Takes over a chunk, and the table in force.
    fn enter(&mut self, chunk: &Chunk<'_>, is_new: bool) {
        self.sync(chunk.table, is_new);
        if let Some(search) = &mut self.search {
            search.enter(chunk, is_new);
        }
    }

    /// Whether a row is wanted.
    fn admits(&mut self, data: &[u8], row: Header) -> Result<bool> {
        if let Some(filter) = &self.filter
            && !filter.admits(data, row)?
        {
            return Ok(false);
        }
        self.search.as_mut().map_or(Ok(true), |search| search.admits(data, row))
    }

    fn count(&mut self, chunk: &Chunk<'_>, limit: u64) -> Result<u64> {
        let mut rows = 0;
        for row in Rows::new(chunk.data, chunk.rows_at) {
            if rows == limit {
                break;
            }
            rows += u64::from(self.admits(chunk.data, row?.1)?);
        }
        Ok(rows)
    }

    /// Takes over the table in force.
    fn sync(&mut self, table: &Arc<SymbolTable>, is_new: bool) {
        // To print a long table again for each of many short chunks takes far longer than their rows.
        if self.synced.as_ref().is_some_and(|synced| Arc::ptr_eq(synced, table)) {
            return;
        }
        self.synced = Some(Arc::clone(table));
        if matches!(self.request.format, Format::Json | Format::Cells(_)) {
            self.printer.sync(table, is_new);
        }
        if let Format::Cells(_) = self.request.format {
            self.cells.sync(table, is_new);
        }
        if let Some(filter) = &mut self.filter {
            filter.sync(table);
        }
        if let Some(fields) = self.request.fields.as_deref().filter(|_| self.request.trims()) {
            self.keep.clear();
            self.keep.resize(table.max_id() as usize, false);
            for id in fields.iter().flat_map(|name| table.ids(name)) {
                self.keep[id as usize] = true;
            }
        }
    }

    /// Prints rows; gives their number, and where it stopped when there are more of them than fit a piece. With
    /// a limit nothing is left for later: it is not known yet how many rows may follow then.
    fn lines(&mut self, chunk: &Chunk<'_>, limit: u64, out: &mut Sink) -> Result<(u64, Option<usize>)> {
        let trims = self.request.trims();
        let mut rows = 0;
        for row in Rows::new(chunk.data, chunk.rows_at) {
            let (at, row) = row?;
            if out.len() > PIECE_BYTES {
                if limit == u64::MAX {
                    return Ok((rows, Some(at)));
                }
                limits::check_run(out.len(), at)?;
            }
            if rows == limit {
                break;
            }
            if !self.admits(chunk.data, row)? {
                continue;
            }
            if let Format::Cells(form) = self.request.format {
                let symbols = (&mut self.printer, &**chunk.table);
                self.cells.row((chunk.data, row), form, symbols, out)?;
            } else {
                let keep = trims.then_some(&self.keep[..]);
                self.printer.row(chunk.data, row, keep, out)?;
            }
            rows += 1;
        }
        Ok((rows, None))
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, limit: u64, out: &mut Sink) -> Result<u64> {
        let trims = self.request.trims();
        let mut rows = 0;
        let mut kept = chunk.data[..chunk.rows_at].to_vec();
        for row in Rows::new(chunk.data, chunk.rows_at) {
            let (at, row) = row?;
            if rows == limit {
                break;
            }
            if !self.admits(chunk.data, row)? {
                continue;
            }
            match trims.then_some(&self.keep[..]) {
                Some(keep) => put_kept(chunk.data, row, keep, &mut self.scratch, &mut kept)?,
                None => kept.extend_from_slice(&chunk.data[at..row.end]),
            }
            rows += 1;
        }
        let align = self.request.form.align;
        let missing = align - kept.len().min(align);
        pad::put(&mut kept, missing);
        out.copy(&kept, 0, kept.len());
        Ok(rows)
    }
}
