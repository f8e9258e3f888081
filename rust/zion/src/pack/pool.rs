//! What the threads of a packer share: the work that waits, and the results in their order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::format::Input;
use super::resume::Seed;
use super::stored::Stretch;
use super::{InputError, Options, PartContext, Rejects};
use crate::block::digest::Hash;
use crate::chunk::placement::Placement;
use crate::chunk::{Chunk, Summary};
use crate::codec::effort::Effort;
use crate::error::Result;

/// Text that waits to be parsed.
pub struct PartJob {
    pub number: u64,
    /// The text of those of its pieces that were fed.
    pub text: Vec<u8>,
    /// What it consists of: a piece of one input, or several that are small.
    pub pieces: Vec<Piece>,
    /// The block that it goes on with.
    pub seed: Option<Arc<Seed>>,
    /// What its symbol tables begin with.
    pub placement: Option<Arc<Placement>>,
}

/// What a part has of an input.
pub struct Piece {
    pub input: Arc<Input>,
    /// The number of the input.
    pub number: usize,
    pub text: Text,
}

impl Piece {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        match &self.text {
            Text::Fed(fed) => fed.range.len(),
            Text::Stored(stretch) => stretch.end - stretch.start,
        }
    }

    /// Where it starts in its file, if its end is guessed.
    pub fn guessed(&self) -> Option<usize> {
        match self.text {
            Text::Stored(Stretch { start, wanted: Some(_), .. }) => Some(start),
            _ => None,
        }
    }

    /// The text at its start, up to a number of bytes.
    pub fn start(&self, text: &[u8], most: usize) -> Result<Vec<u8>> {
        let length = most.min(self.len());
        match &self.text {
            Text::Fed(fed) => Ok(text[fed.range.start..fed.range.start + length].to_vec()),
            Text::Stored(stretch) => {
                let mut start = vec![0; length];
                stretch.bytes.read(stretch.start, &mut start)?;
                Ok(start)
            }
        }
    }
}

/// Where the text of a piece is.
pub enum Text {
    Fed(Fed),
    Stored(Stretch),
}

/// Text that was fed.
pub struct Fed {
    /// Where it lies in the text of the part.
    pub range: Range<usize>,
    pub context: PartContext,
    /// Its place in the input.
    pub offset: u64,
    pub line: u64,
    /// How much of it can be read; behind that is the rest of a line that was cut off.
    pub whole: usize,
}

/// What became of a piece.
pub struct Parsed {
    /// The number of its input.
    pub number: usize,
    pub rows: u64,
    pub bytes: u64,
    /// The hashes of the pieces of the file that end in it, if a thread read it there.
    pub hashes: Vec<u8>,
    /// What was passed over, with the name of the input.
    pub rejected: Option<(Arc<Input>, Rejects)>,
}

/// A chunk that waits to be compressed.
pub struct ChunkJob {
    pub part: u64,
    pub index: usize,
    pub chunk: Chunk,
    pub selector: u8,
    pub effort: Effort,
}

/// So many frames are taken at once, unless a part ends: to wake up for each of them takes longer than to take it.
const FEW: usize = 4;

/// What is known of a part so far.
#[derive(Default)]
pub struct Part {
    /// Its frames, with their hashes; one that is not compressed yet is missing.
    pub frames: VecDeque<Option<(Vec<u8>, Hash)>>,
    /// How many frames were taken.
    pub taken: usize,
    /// Offsets in the output of the frames that were taken, and their hashes.
    pub places: Vec<(u64, Hash)>,
    /// Set when the part is parsed.
    pub summary: Option<Summary>,
    /// What became of its pieces, then too.
    pub parsed: Vec<Parsed>,
    /// Where it starts in its file, if it was guessed where it ends.
    pub guessed: Option<usize>,
    /// The chunks from this one on are of no use if the guess was wrong.
    pub held: Option<usize>,
    /// Chunks that were taken before it turned out that the guess was wrong: they come out the same again.
    pub known: usize,
}

impl Part {
    /// Whether it may turn out that it does not end where it was guessed to.
    pub fn is_doubtful(&self) -> bool {
        self.guessed.is_some() && self.summary.is_none()
    }

    /// Whether the next frame must not be taken yet.
    pub fn is_held(&self) -> bool {
        self.is_doubtful() && self.held.is_some_and(|held| self.taken >= held)
    }

    /// Whether it pays to take frames: a whole part, or a few of them.
    fn is_ready(&self) -> bool {
        let first = self.frames.iter().take(FEW);
        first.take_while(|frame| frame.is_some()).count() == FEW && !self.is_held()
            || self.summary.is_some() && self.frames.front().is_none_or(Option::is_some)
    }
}

/// The state that the lock guards.
#[derive(Default)]
pub struct State {
    pub part_jobs: VecDeque<PartJob>,
    pub chunk_jobs: VecDeque<ChunkJob>,
    /// Parts from the oldest that is not taken whole.
    pub parts: VecDeque<Part>,
    pub first_part: u64,
    pub idle: usize,
    pub closed: bool,
    /// The error of the earliest part that failed.
    pub failed: Option<(u64, InputError)>,
    pub texts: Vec<Vec<u8>>,
    pub chunks: Vec<Vec<u8>>,
    pub frames: Vec<Vec<u8>>,
}

impl State {
    pub fn part(&mut self, number: u64) -> Option<&mut Part> {
        let index = number.checked_sub(self.first_part)?;
        self.parts.get_mut(index as usize)
    }

    /// Whether there is anything to take.
    pub fn has_news(&self) -> bool {
        self.settled_failure().is_some() || self.parts.front().is_none_or(Part::is_ready)
    }

    /// Whether every part before the one that failed is done, so that its error is the first one.
    pub fn settled_failure(&self) -> Option<(u64, &InputError)> {
        let &(number, ref error) = self.failed.as_ref()?;
        let before = (number.saturating_sub(self.first_part) as usize).min(self.parts.len());
        self.parts.iter().take(before).all(|part| part.summary.is_some()).then_some((number, error))
    }

    pub fn fail(&mut self, number: u64, error: InputError) {
        if self.failed.as_ref().is_none_or(|(earliest, _)| number < *earliest) {
            self.failed = Some((number, error));
        }
    }
}

/// The lock, and what is waited for.
pub struct Pool {
    pub options: Options,
    state: Mutex<State>,
    /// Something to do for the workers.
    work: Condvar,
    /// Something new for the one who feeds.
    news: Condvar,
}

impl Pool {
    pub fn new(options: Options) -> Self {
        Self { options, state: Mutex::default(), work: Condvar::new(), news: Condvar::new() }
    }

    /// The state. A worker never panics while it holds the lock; were it so, the state is still whole.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait_for_work<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for news, but not for long: the caller wants to look for signals.
    pub fn wait_for_news<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let waited = self.news.wait_timeout(state, Duration::from_millis(50));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn tell_workers(&self) {
        self.work.notify_all();
    }

    pub fn tell_feeder(&self) {
        self.news.notify_all();
    }
}
