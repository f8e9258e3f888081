//! Blocks to Arrow: one pass finds out what types the fields have, a second one builds record batches.

pub(crate) mod buffers;
mod build;
mod fit;
mod schema;
mod seen;
mod variant;

use std::sync::Arc;

use arrow_array::RecordBatch;

pub use build::Builder;
pub use schema::{ENCODING, JSON, Layout, Misfit, Type};
pub use seen::{Observer, Seen};

use crate::block::rows::{Rows, TimeFilter};
use crate::block::runs::{Cut, Job, Runs};
use crate::block::{Chunk, Codecs};
use crate::error::Result;
use crate::ion::{Header, SymbolTable};

/// Bytes of chunks that one batch covers.
const RUN_BYTES: usize = 4 << 20;

/// Which rows of which blocks, and which columns.
#[derive(Debug, Clone)]
pub struct Request {
    /// Names of the top-level fields that are wanted; none: all.
    pub fields: Option<Vec<Box<str>>>,
    /// The times that rows must have.
    pub filter: Option<TimeFilter>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
}

impl Request {
    /// Finds out what types the values of the rows have, and counts the rows; the results are to be
    /// merged in order.
    pub fn observe(&self) -> Result<Runs<(Seen, u64)>> {
        let fields = self.fields.clone();
        self.run(move || Observer::new(fields.clone()), |observer| Ok(observer.take()))
    }

    /// Makes record batches of the rows.
    pub fn build(&self, layout: &Arc<Layout>) -> Result<Runs<Vec<RecordBatch>>> {
        let layout = Arc::clone(layout);
        self.run(move || Builder::new(Arc::clone(&layout)), Builder::take)
    }

    fn run<V, R, M, T>(&self, make: M, take: T) -> Result<Runs<R>>
    where
        V: Visit + 'static,
        R: Send + 'static,
        M: Fn() -> V + Send + Sync + 'static,
        T: Fn(&mut V) -> Result<R> + Send + Sync + 'static,
    {
        let cut = Cut { run_bytes: RUN_BYTES, verbatim: false };
        let request = self.clone();
        // After an error a visitor may hold half a row; no further result is taken then.
        let decoded = self.decoded();
        let make = move || Worker {
            decoded: decoded.clone(),
            filter: request.filter.clone(),
            codecs: None,
            visitor: make(),
            synced: None,
        };
        let work = move |worker: &mut Worker<V>, job: &Job| {
            let rows = worker.walk(job)?;
            Ok((take(&mut worker.visitor)?, rows))
        };
        Runs::new(cut, self.threads, self.limit, make, work)
    }

    /// What must be decoded: the fields, and the one that the filter needs.
    fn decoded(&self) -> Option<Vec<Box<[u8]>>> {
        let fields = self.fields.as_ref()?;
        let mut names: Vec<Box<[u8]>> = fields.iter().map(|name| name.as_bytes().into()).collect();
        names.extend(self.filter.iter().map(|filter| filter.field().into()));
        Some(names)
    }
}

/// What is done with rows.
trait Visit {
    fn sync(&mut self, table: &SymbolTable, is_new: bool);
    fn row(&mut self, data: &[u8], row: Header, table: &SymbolTable) -> Result<()>;
}

impl Visit for Observer {
    fn sync(&mut self, _: &SymbolTable, is_new: bool) {
        if is_new {
            self.reset_symbols();
        }
    }

    fn row(&mut self, data: &[u8], row: Header, table: &SymbolTable) -> Result<()> {
        Self::row(self, data, row, table)
    }
}

impl Visit for Builder {
    fn sync(&mut self, table: &SymbolTable, is_new: bool) {
        Self::sync(self, table, is_new);
    }

    fn row(&mut self, data: &[u8], row: Header, table: &SymbolTable) -> Result<()> {
        Self::row(self, data, row, table)
    }
}

/// One thread's decompressors, and what it does with rows.
struct Worker<V> {
    decoded: Option<Vec<Box<[u8]>>>,
    filter: Option<TimeFilter>,
    codecs: Option<Codecs>,
    visitor: V,
    /// The table that was taken over last.
    synced: Option<Arc<SymbolTable>>,
}

impl<V: Visit> Worker<V> {
    /// Shows the rows of a run to the visitor; gives their number.
    fn walk(&mut self, job: &Job) -> Result<u64> {
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let decoded = self.decoded.take();
        let mut reader = job.reader(codecs)?.project(decoded.as_deref());
        let mut rows = 0;
        for number in 0..job.chunks {
            let Some(chunk) = reader.next_chunk()? else { break };
            if !self.synced.as_ref().is_some_and(|synced| Arc::ptr_eq(synced, chunk.table)) {
                self.visitor.sync(chunk.table, number == 0 || chunk.resets);
                if let Some(filter) = &mut self.filter {
                    filter.sync(chunk.table);
                }
                self.synced = Some(Arc::clone(chunk.table));
            }
            rows += self.chunk(&chunk, job.limit - rows).map_err(|error| chunk.error(&error))?;
        }
        self.codecs = Some(reader.into_codecs());
        self.decoded = decoded;
        Ok(rows)
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, limit: u64) -> Result<u64> {
        let mut rows = 0;
        for row in Rows::new(chunk.data, chunk.rows_at) {
            let (_, row) = row?;
            if rows == limit {
                break;
            }
            if let Some(filter) = &self.filter
                && !filter.admits(chunk.data, row)?
            {
                continue;
            }
            self.visitor.row(chunk.data, row, chunk.table)?;
            rows += 1;
        }
        Ok(rows)
    }
}
