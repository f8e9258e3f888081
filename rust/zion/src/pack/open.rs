//! The part that is open: small inputs share one, so that each does not pay for the names and chunks of a part.
//!
//! An input is small if its text is shorter than a first part. All of it goes to the part that is open; any other
//! input begins a part. So what a part has depends on the texts alone, whatever the number of threads and the way
//! in which the texts come.

use std::mem;
use std::sync::Arc;

use super::packer::{Current, Packer};
use super::pool::{Piece, Text};

impl Packer {
    /// Whether an input with a text of this length shares a part with others.
    pub(super) fn is_small(&self, bytes: usize) -> bool {
        bytes < self.first_part_bytes()
    }

    /// Adds the text of a small input to the open part.
    pub(super) fn share(&mut self, current: &mut Current) {
        let text = mem::take(&mut current.text);
        let mut fed = current.fed(&text, true);
        current.input.format.learn(&text, &current.input.constants, &current.input.times);
        self.make_way(current);
        if self.open.text.is_empty() {
            let unused = mem::replace(&mut self.open.text, text);
            self.give_back(unused);
        } else {
            let start = self.open.text.len();
            self.open.text.extend_from_slice(&text);
            fed.range = start..self.open.text.len();
            self.give_back(text);
        }
        let piece = self.piece(current, Text::Fed(fed));
        self.open.pieces.push(piece);
    }

    /// Ends the open part if times of an input are not read like those in it.
    fn make_way(&mut self, current: &Current) {
        let times = self.open.pieces.last().map(|piece| &piece.input.times);
        if times.is_some_and(|times| !Arc::ptr_eq(times, &current.input.times)) {
            self.close_part();
        }
    }

    /// Whether the open part has as much text as a part should have.
    pub(super) fn is_full(&self) -> bool {
        let first = self.next_part == 0;
        self.open.text.len() >= if first { self.first_part_bytes() } else { self.pool.options.part_bytes }
    }

    /// Hands the open part to the workers, if there is anything in it.
    pub(super) fn close_part(&mut self) {
        let open = mem::take(&mut self.open);
        if !open.is_empty() {
            self.look_at(&open.text, &open.pieces);
            self.enqueue(open.text, open.pieces);
        }
    }

    /// A piece of the current input.
    pub(super) fn piece(&self, current: &Current, text: Text) -> Piece {
        Piece { input: Arc::clone(&current.input), number: self.inputs.len().saturating_sub(1), text }
    }

    fn give_back(&self, text: Vec<u8>) {
        if text.capacity() > 0 {
            self.pool.lock().texts.push(text);
        }
    }
}
