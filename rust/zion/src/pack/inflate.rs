//! Compressed input text, inflated on a thread of its own.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use flate2::write::GzDecoder;
use zstd_safe::{DCtx, InBuffer, OutBuffer};

use crate::error::{Error, Result};

/// Inflated text is handed over in pieces of this size.
const PIECE: usize = 1 << 20;
/// Pieces that may wait to be taken.
const MAX_PIECES: usize = 4;
/// Compressed bytes that may wait to be inflated before text must be taken.
const MAX_WAITING: usize = 2 << 20;

/// How the bytes of an input are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip members one after the other.
    Gzip,
    /// zstd frames one after the other.
    Zstd,
}

#[derive(Default)]
struct State {
    input: VecDeque<Vec<u8>>,
    waiting: usize,
    /// No more input will come.
    ended: bool,
    output: VecDeque<Vec<u8>>,
    result: Option<Result<()>>,
    /// Nobody wants the text any more.
    abandoned: bool,
    spare: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next compressed bytes; none at the end.
    fn next_input(&self, used: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut state = self.lock();
        if let Some(used) = used {
            state.spare.push(used);
        }
        loop {
            if state.abandoned {
                return None;
            }
            if let Some(data) = state.input.pop_front() {
                state.waiting -= data.len();
                self.changed.notify_all();
                return Some(data);
            }
            if state.ended {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn put_output(&self, piece: Vec<u8>) -> io::Result<()> {
        let mut state = self.lock();
        while state.output.len() >= MAX_PIECES && !state.abandoned {
            state = self.wait(state);
        }
        if state.abandoned {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        state.output.push_back(piece);
        self.changed.notify_all();
        Ok(())
    }
}

/// Inflates one input.
pub struct Inflater {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Inflater {
    /// An inflater with its thread; none for plain text.
    pub fn new(compression: Compression) -> Result<Option<Self>> {
        match compression {
            Compression::None => Ok(None),
            Compression::Gzip => Self::running(gunzip).map(Some),
            Compression::Zstd => Self::running(unzstd).map(Some),
        }
    }

    /// An inflater whose thread runs `inflate`.
    fn running(inflate: fn(&Shared) -> Result<()>) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let work = move || {
            // The reader would wait forever for a thread that is gone.
            let result = catch_unwind(AssertUnwindSafe(|| inflate(&for_thread)));
            for_thread.lock().result = Some(result.unwrap_or_else(|_| Err(Error::panicked("inflates"))));
            for_thread.changed.notify_all();
        };
        let thread = std::thread::Builder::new()
            .name("sdb-inflate".to_owned())
            .spawn(work)
            .map_err(|error| Error::argument(format!("a thread cannot be started: {error}")))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes compressed bytes; none at all say that the input has ended.
    pub fn feed(&mut self, data: &[u8]) {
        let mut state = self.shared.lock();
        if data.is_empty() {
            state.ended = true;
        } else {
            let mut copy = state.spare.pop().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(data);
            state.waiting += copy.len();
            state.input.push_back(copy);
        }
        self.shared.changed.notify_all();
    }

    /// The next piece of text. None: feed more, or (after the end) there is no more.
    pub fn take(&mut self) -> Option<Result<Vec<u8>>> {
        let mut state = self.shared.lock();
        loop {
            if let Some(piece) = state.output.pop_front() {
                self.shared.changed.notify_all();
                return Some(Ok(piece));
            }
            if let Some(result) = &state.result {
                return result.as_ref().err().cloned().map(Err);
            }
            if !state.ended && state.waiting < MAX_WAITING {
                return None;
            }
            state = self.shared.wait(state);
        }
    }

    /// Gives the memory of a piece back.
    pub fn recycle(&mut self, piece: Vec<u8>) {
        self.shared.lock().spare.push(piece);
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        self.shared.lock().abandoned = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Gathers text into pieces.
struct Pieces<'a> {
    shared: &'a Shared,
    piece: Vec<u8>,
}

impl<'a> Pieces<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, piece: Vec::with_capacity(PIECE) }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let mut next = self.shared.lock().spare.pop().unwrap_or_default();
        next.clear();
        next.reserve(PIECE);
        self.shared.put_output(std::mem::replace(&mut self.piece, next))
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = data.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&data[..count]);
        if self.piece.len() == PIECE {
            self.hand_over()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}

/// What stands where the data ends before it is complete.
const CUT_OFF: &str = "the data is cut off";

/// How many zeros a text begins with: tapes and full disks leave some behind what was written.
fn zeros(data: &[u8]) -> usize {
    data.iter().position(|&byte| byte != 0).unwrap_or(data.len())
}

/// Hands over what was made before the data turned out to be damaged, then gives the error.
fn damaged<T>(pieces: &mut Pieces, error: Error) -> Result<T> {
    // It fails only where nobody wants the text any more.
    _ = pieces.flush();
    Err(error)
}

fn gunzip(shared: &Shared) -> Result<()> {
    // Either of them: in a member, or behind one.
    let mut member = Some(GzDecoder::new(Pieces::new(shared)));
    let mut behind = None;
    let mut consumed = 0;
    let mut used = None;
    while let Some(data) = shared.next_input(used.take()) {
        let mut at = 0;
        while at < data.len() {
            let Some(decoder) = &mut member else {
                at += zeros(&data[at..]);
                if at < data.len() {
                    member = behind.take().map(GzDecoder::new);
                }
                continue;
            };
            let written = decoder.write(&data[at..]);
            let result = match written {
                Ok(0) => decoder.try_finish(),
                Ok(count) => {
                    at += count;
                    continue;
                }
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                _ = decoder.flush();
                let message = format!("the compressed data is damaged or not gzip: {error}");
                return damaged(decoder.get_mut(), Error::corrupt("gzip", consumed + at, message));
            }
            behind = member.take().and_then(|decoder| decoder.finish().ok());
        }
        consumed += data.len();
        used = Some(data);
    }
    if consumed == 0 {
        return Err(Error::corrupt("gzip", 0, "an empty file is not gzip"));
    }
    let mut pieces = match (member, behind) {
        (Some(mut decoder), _) => {
            if decoder.try_finish().is_err() {
                _ = decoder.flush();
                return damaged(decoder.get_mut(), Error::corrupt("gzip", consumed, CUT_OFF));
            }
            decoder.finish().map_err(|_| Error::corrupt("gzip", consumed, CUT_OFF))?
        }
        (None, behind) => behind.ok_or_else(|| Error::corrupt("gzip", consumed, CUT_OFF))?,
    };
    pieces.flush().map_err(|error| Error::corrupt("gzip", consumed, error.to_string()))
}

fn unzstd(shared: &Shared) -> Result<()> {
    let mut context = DCtx::try_create().ok_or_else(|| Error::argument("no memory for a zstd context"))?;
    let mut pieces = Pieces::new(shared);
    let mut consumed = 0;
    let (mut within, mut behind) = (false, false);
    let mut used = None;
    let mut block = vec![0; 128 << 10];
    while let Some(data) = shared.next_input(used.take()) {
        let mut at = 0;
        loop {
            if behind {
                at += zeros(&data[at..]);
            }
            if at == data.len() && behind {
                break;
            }
            let mut source = InBuffer::around(&data[at..]);
            let mut target = OutBuffer::around(block.as_mut_slice());
            let result = context.decompress_stream(&mut target, &mut source);
            at += source.pos();
            let hint = match result {
                Ok(hint) => hint,
                Err(code) => {
                    let error = Error::corrupt("zstd", consumed + at, zstd_safe::get_error_name(code));
                    return damaged(&mut pieces, error);
                }
            };
            (within, behind) = (hint != 0, hint == 0);
            let written = target.pos();
            pieces
                .write_all(&block[..written])
                .map_err(|error| Error::corrupt("zstd", consumed, error.to_string()))?;
            if at == data.len() && written < block.len() {
                break;
            }
        }
        consumed += data.len();
        used = Some(data);
    }
    if within {
        return damaged(&mut pieces, Error::corrupt("zstd", consumed, CUT_OFF));
    }
    pieces.flush().map_err(|error| Error::corrupt("zstd", consumed, error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_panic_of_the_thread_is_an_error() -> Result<()> {
        let mut inflater = Inflater::running(|shared| {
            let bytes = shared.next_input(None).unwrap_or_default();
            assert!(bytes.is_empty(), "this is the panic of the test");
            Ok(())
        })?;
        inflater.feed(b"x");
        inflater.feed(b"");
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(inflater.take()));
        let taken = told.recv_timeout(Duration::from_secs(10));
        assert!(matches!(taken, Ok(Some(Err(Error::Bug { .. })))), "{taken:?}");
        Ok(())
    }
}
