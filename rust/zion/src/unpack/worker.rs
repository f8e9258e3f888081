//! Runs of chunks to text or Ion: the work of one thread.

use std::sync::{Arc, Mutex, PoisonError};

use crate::block::{BlockReader, Chunk, Codecs};
use crate::codec::Algorithm;
use crate::error::Result;
use crate::ion::{SymbolTable, pad};
use crate::json::{print::Printer, sink::Sink};
use crate::rows::{Rows, TimeFilter, put_kept};
use crate::runs::{Form, Job};

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One line a row.
    Json,
    /// The decompressed chunks, padded to their full size.
    Ion,
}

/// What is wanted, the same for all chunks.
pub struct Request {
    form: Form,
    format: Format,
    fields: Option<Vec<Box<[u8]>>>,
    filter: Option<TimeFilter>,
    /// What is decoded: the fields, and the one that the filter needs.
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
        Ok(Self { form, format, fields, filter, decoded, spare: Mutex::default() })
    }

    /// The same with checksums that count, or do not.
    #[must_use]
    pub fn verifying(self, verify: bool) -> Self {
        Self { form: self.form.verifying(verify), ..self }
    }

    /// Whether chunks pass as they are, so that the symbols before them need not be known.
    pub fn is_verbatim(&self) -> bool {
        self.format == Format::Ion && self.fields.is_none() && self.filter.is_none()
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
        self.fields.is_some() && (self.filter.is_some() || self.form.algorithm == Algorithm::Zstd)
    }
}

/// What a job gave.
#[derive(Debug, Default)]
pub struct Output {
    /// Lines or chunks.
    pub data: Vec<u8>,
    /// Number of rows; not counted for chunks that pass as they are.
    pub rows: u64,
}

/// One thread's decompressors, buffers and printed names.
pub struct Worker {
    request: Arc<Request>,
    codecs: Option<Codecs>,
    filter: Option<TimeFilter>,
    keep: Vec<bool>,
    printer: Printer,
    scratch: Vec<u8>,
}

impl Worker {
    /// A worker for one request.
    pub fn new(request: Arc<Request>) -> Self {
        let filter = request.filter.clone();
        Self {
            request,
            codecs: None,
            filter,
            keep: Vec::new(),
            printer: Printer::default(),
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
            return Ok(Output { data, rows: 0 });
        }
        data.clear();
        for _ in 0..chunks {
            let Some(chunk) = reader.next_chunk()? else { break };
            data.extend_from_slice(chunk.data);
            pad::put(&mut data, align - chunk.data.len().min(align));
        }
        Ok(Output { data, rows: 0 })
    }

    fn convert(&mut self, reader: &mut BlockReader<'_>, job: &Job) -> Result<Output> {
        let mut rows = 0;
        let mut is_new = true;
        let mut sink = Sink::over(self.request.buffer());
        for _ in 0..job.chunks {
            if rows >= job.limit {
                break;
            }
            let Some(chunk) = reader.next_chunk()? else { break };
            self.sync(chunk.table, is_new || chunk.resets);
            is_new = false;
            let left = job.limit - rows;
            rows += match self.request.format {
                Format::Json => self.lines(&chunk, left, &mut sink),
                Format::Ion => self.chunk(&chunk, left, &mut sink),
            }
            .map_err(|error| chunk.error(&error))?;
        }
        Ok(Output { data: sink.into_inner(), rows })
    }

    /// Takes over the table in force.
    fn sync(&mut self, table: &SymbolTable, is_new: bool) {
        if self.request.format == Format::Json {
            self.printer.sync(table, is_new);
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

    fn lines(&mut self, chunk: &Chunk<'_>, limit: u64, out: &mut Sink) -> Result<u64> {
        let keep = self.request.trims().then_some(&self.keep[..]);
        let mut rows = 0;
        for row in Rows::new(chunk.data, chunk.rows_at) {
            let (_, row) = row?;
            if let Some(filter) = &self.filter
                && !filter.admits(chunk.data, row)?
            {
                continue;
            }
            if rows == limit {
                break;
            }
            self.printer.row(chunk.data, row, keep, out)?;
            rows += 1;
        }
        Ok(rows)
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, limit: u64, out: &mut Sink) -> Result<u64> {
        let keep = self.request.trims().then_some(&self.keep[..]);
        let mut rows = 0;
        let mut kept = chunk.data[..chunk.rows_at].to_vec();
        for row in Rows::new(chunk.data, chunk.rows_at) {
            let (at, row) = row?;
            if let Some(filter) = &self.filter
                && !filter.admits(chunk.data, row)?
            {
                continue;
            }
            if rows == limit {
                break;
            }
            match keep {
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
