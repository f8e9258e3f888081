//! Runs of chunks to profiles: the work of one thread.

use std::sync::Arc;

use super::limits::Limits;
use super::tree::Profile;
use super::walk::Walk;
use crate::block::rows::Rows;
use crate::block::runs::Job;
use crate::block::{BlockReader, Codecs};
use crate::bucket::Visit;
use crate::bucket::hash::BucketMap;
use crate::codec::Algorithm;
use crate::error::Result;
use crate::ion::{Header, SymbolTable, varuint};
use crate::value::Value;

/// One thread's decompressors, and what it knows of the rows.
pub(super) struct Worker {
    codecs: Option<Codecs>,
    walk: Walk,
    buckets: BucketMap,
}

impl Worker {
    pub(super) fn new(limits: Limits) -> Self {
        Self { codecs: None, walk: Walk::new(limits), buckets: BucketMap::default() }
    }

    /// Does a job.
    pub(super) fn work(&mut self, job: &Job) -> Result<Profile> {
        // What a job before that failed has left is not of this one.
        drop(self.walk.take());
        self.walk.forget_symbols();
        let codecs = match self.codecs.take() {
            Some(codecs) => codecs,
            None => Codecs::new()?,
        };
        let mut reader = job.reader(codecs)?;
        for _ in 0..job.chunks {
            let more = match job.form.algorithm {
                Algorithm::Zstd => self.plain(&mut reader)?,
                _ => self.zion(&mut reader)?,
            };
            if !more {
                break;
            }
        }
        self.codecs = Some(reader.into_codecs());
        Ok(self.walk.take())
    }

    /// Adds the rows of a plain chunk; false at the end.
    fn plain(&mut self, reader: &mut BlockReader<'_>) -> Result<bool> {
        let start = reader.position().offset;
        let walk = &mut self.walk;
        let mut bytes = 0;
        let Some(chunk) = reader.next_chunk()? else { return Ok(false) };
        if chunk.resets {
            walk.forget_symbols();
        }
        let mut add = || -> Result<()> {
            for row in Rows::new(chunk.data, chunk.rows_at) {
                let (at, header) = row?;
                walk.row(chunk.data, chunk.table, Value { at, header })?;
                bytes += header.end - at;
            }
            walk.look(chunk.data, chunk.table)
        };
        add().map_err(|error| chunk.error(&error))?;
        let bytes = chunk.rows_at + bytes;
        self.walk.end_plain(bytes, reader.position().offset - start);
        Ok(true)
    }

    /// Adds the rows of a zion chunk, whose fields stay in their buckets; false at the end.
    fn zion(&mut self, reader: &mut BlockReader<'_>) -> Result<bool> {
        let Some(chunk) = reader.open_chunk()? else { return Ok(false) };
        if chunk.resets() {
            self.walk.forget_symbols();
        }
        self.buckets.select(chunk.selector());
        self.walk.begin();
        let mut adder = Adder { walk: &mut self.walk, table: &chunk.table, buckets: &mut self.buckets };
        reader.visit(&chunk, None, &mut adder)?;
        let sizes = reader.bucket_bytes(&chunk)?;
        self.walk.end_zion(&sizes, chunk.frame_bytes());
        reader.close(chunk);
        Ok(true)
    }
}

/// Adds rows whose fields come one by one.
struct Adder<'a> {
    walk: &'a mut Walk,
    table: &'a Arc<SymbolTable>,
    buckets: &'a mut BucketMap,
}

impl Visit for Adder<'_> {
    #[inline]
    fn field(&mut self, data: &[u8], id: u32, at: usize, header: Header) -> Result<()> {
        if header.is_pad() {
            return Ok(());
        }
        let bytes = header.end - at + varuint::size(u64::from(id));
        let bucket = self.buckets.get(id);
        self.walk.field(data, self.table, u64::from(id), Value { at, header }, bytes, bucket)
    }

    #[inline]
    fn row(&mut self, data: &[u8]) -> Result<bool> {
        self.walk.end(data, self.table)?;
        self.walk.begin();
        Ok(true)
    }

    fn end(&mut self, data: &[u8]) -> Result<()> {
        self.walk.look(data, self.table)
    }
}
