//! Conditions on columns that have stayed decoded: one column after the other, not row by row.

use super::cache::{Chunk, Column};
use super::cached::Wanted;
use super::predicate::{Constant, Predicate, holds};
use crate::error::{Error, Result};
use crate::value::number::Number;
use crate::value::{Value, bits};

/// What a condition is of a row. And gives the least of truths, or the greatest.
type Truth = u8;
const FALSE: Truth = 0;
const UNKNOWN: Truth = 1;
const TRUE: Truth = 2;

fn truth(known: Option<bool>) -> Truth {
    known.map_or(UNKNOWN, |known| if known { TRUE } else { FALSE })
}

/// Marks the rows of a chunk of which a predicate is true, whose columns must be there.
pub(super) fn mark(
    predicate: &Predicate<usize>,
    chunk: &Chunk,
    wanted: &Wanted,
    passes: &mut Vec<bool>,
) -> Result<()> {
    let truths = Truths { chunk, wanted }.of(predicate, None)?;
    passes.clear();
    passes.extend(truths.into_iter().map(|truth| truth == TRUE));
    Ok(())
}

/// The column of a node.
pub(super) fn column<'a>(chunk: &'a Chunk, wanted: &Wanted, node: usize) -> Option<&'a Column> {
    let at = wanted.nodes.iter().position(|&known| known == node)?;
    chunk.columns[at].as_deref()
}

struct Truths<'a> {
    chunk: &'a Chunk,
    wanted: &'a Wanted,
}

impl Truths<'_> {
    /// What a predicate is of each row; anything where another condition decides, which is what `decided` says: its
    /// truths, and the one that decides.
    fn of(&self, predicate: &Predicate<usize>, decided: Option<(&[Truth], Truth)>) -> Result<Vec<Truth>> {
        match predicate {
            Predicate::And(all) => self.connected(all, decided, FALSE),
            Predicate::Or(all) => self.connected(all, decided, TRUE),
            Predicate::Not(one) => Ok(self.of(one, decided)?.into_iter().map(|truth| TRUE - truth).collect()),
            Predicate::Compare(at, ..)
            | Predicate::In(at, _)
            | Predicate::Is(at, _)
            | Predicate::Like(at, _)
            | Predicate::Matches(at, _) => {
                let Some(column) = column(self.chunk, self.wanted, *at) else {
                    return Err(Error::argument("a condition of something that is no column"));
                };
                let (data, table) = (&column.data, &self.chunk.table);
                match predicate {
                    Predicate::Compare(_, op, Constant::Number(Number::Int(constant))) => {
                        each(column, decided, |value| match value.and_then(|value| value.small(data)) {
                            Some(small) => Ok(Some(holds(*op, i128::from(small).cmp(constant)))),
                            None => predicate.decide(data, table, value),
                        })
                    }
                    Predicate::Is(_, mask) => each(column, decided, |value| {
                        Ok(Some(mask & value.map_or(Ok(bits::MISSING), Value::type_bit)? != 0))
                    }),
                    _ => each(column, decided, |value| predicate.decide(data, table, value)),
                }
            }
        }
    }

    /// And, which one false decides, or or, which one true decides.
    fn connected(
        &self,
        all: &[Predicate<usize>],
        decided: Option<(&[Truth], Truth)>,
        deciding: Truth,
    ) -> Result<Vec<Truth>> {
        let mut truths = match decided {
            Some((others, by)) => {
                others.iter().map(|&other| if other == by { deciding } else { TRUE - deciding }).collect()
            }
            None => vec![TRUE - deciding; self.chunk.rows],
        };
        for one in all {
            let more = self.of(one, Some((&truths, deciding)))?;
            for (truth, more) in truths.iter_mut().zip(more) {
                *truth = if deciding == FALSE { (*truth).min(more) } else { (*truth).max(more) };
            }
        }
        Ok(truths)
    }
}

/// What a condition is of the value of each row.
#[inline]
fn each(
    column: &Column,
    decided: Option<(&[Truth], Truth)>,
    decide: impl Fn(Option<&Value>) -> Result<Option<bool>>,
) -> Result<Vec<Truth>> {
    let mut truths = Vec::with_capacity(column.ends.len());
    let mut start = 0;
    for (row, &end) in column.ends.iter().enumerate() {
        let range = std::mem::replace(&mut start, end as usize)..end as usize;
        let is_decided = decided.is_some_and(|(others, by)| others[row] == by);
        truths.push(if is_decided { UNKNOWN } else { truth(decide(column.value_in(range)?.as_ref())?) });
    }
    Ok(truths)
}
