//! Rows of plain JSON that a text is unfolded to.

use crate::ion::timestamp::is_space;

/// Rows, with commas between them where they are elements of a list.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) text: Vec<u8>,
    /// The length at which there are too many.
    most: usize,
    in_list: bool,
    /// Whether there is a row before in the list.
    follows: bool,
    behind: Behind,
}

/// What stands before a place in a list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Behind {
    #[default]
    Other,
    Object,
    /// A comma behind an object, which is written once there is a row.
    Comma,
}

impl Rows {
    /// Takes a byte between objects.
    pub(super) fn around(&mut self, byte: u8) {
        if byte == b',' && self.in_list && self.behind == Behind::Object {
            self.behind = Behind::Comma;
            self.text.push(b' ');
            return;
        }
        if !is_space(byte) {
            // The parser of rows reports what is no row behind a comma.
            if self.behind == Behind::Comma {
                self.text.push(b',');
            }
            self.behind = Behind::Other;
        }
        match byte {
            b'[' => (self.in_list, self.follows) = (true, false),
            b']' => self.in_list = false,
            _ => {}
        }
        self.text.push(byte);
    }

    /// Adds the rows of an object, in text of some length at most; false: it adds itself, since there are none.
    pub(super) fn add_object(
        &mut self,
        object: &[u8],
        most: usize,
        rows: impl FnOnce(&mut Self) -> Option<()>,
    ) -> bool {
        let (start, follows) = (self.text.len(), self.follows);
        self.most = start + most;
        let lacks_comma = self.in_list && self.behind == Behind::Object;
        self.behind = Behind::Object;
        if !lacks_comma && rows(self).is_some() {
            return true;
        }
        if !self.is_full() {
            // The parser of rows reports what is malformed.
            self.text.truncate(start);
            self.text.push(if self.in_list && follows && !lacks_comma { b',' } else { b' ' });
            self.text.extend_from_slice(object);
            self.follows = true;
        }
        false
    }

    /// Adds a row.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        self.text.push(if self.in_list && self.follows { b',' } else { b' ' });
        self.follows = true;
        write(&mut self.text)?;
        (!self.is_full()).then_some(())
    }

    /// Whether the rows of the object were too many.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() > self.most
    }
}
