//! The commands between `MULTI` and `EXEC`.

use std::ops::Range;
use std::sync::Arc;

use crate::failure::{Failure, Result};
use crate::net::input::Budget;

/// Memory for a command and for each of its arguments, apart from their bytes.
const OVERHEAD: usize = size_of::<Range<usize>>() + size_of::<Vec<Range<usize>>>();

/// Commands that wait for `EXEC`.
///
/// Together they take at most as much memory as one request may have, and their memory comes from
/// the budget for requests.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// All arguments, one after the other.
    bytes: Vec<u8>,
    /// Where the arguments of each command are.
    commands: Vec<Vec<Range<usize>>>,
    /// Whether a command was refused, so that `EXEC` must execute nothing.
    pub(crate) is_spoiled: bool,
    /// The memory that was taken from the budget.
    taken: usize,
    budget: Arc<Budget>,
}

impl Transaction {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { bytes: Vec::new(), commands: Vec::new(), is_spoiled: false, taken: 0, budget }
    }

    /// Adds a command, if all together then take at most this much memory.
    pub(crate) fn push(&mut self, words: &[&[u8]], most: usize) -> Result<()> {
        let bytes: usize = words.iter().map(|word| word.len() + OVERHEAD).sum();
        if self.taken + bytes > most {
            return Err(Failure::general(
                "the transaction is longer than a request may be (limit: max-request)",
            ));
        }
        if !self.budget.take(bytes) {
            return Err(Failure::general(
                "the memory for requests is used up (limit: request-memory)",
            ));
        }
        self.taken += bytes;
        let store = |word: &&[u8]| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(word);
            start..self.bytes.len()
        };
        self.commands.push(words.iter().map(store).collect());
        Ok(())
    }

    /// Returns the commands as lists of words.
    pub(crate) fn commands(&self) -> Vec<Vec<&[u8]>> {
        let words = |command: &Vec<Range<usize>>| {
            command.iter().map(|range| &self.bytes[range.clone()]).collect()
        };
        self.commands.iter().map(words).collect()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_transaction_comes_from_the_budget_and_returns_to_it() {
        let budget = Arc::new(Budget::new(1000));
        let mut transaction = Transaction::new(budget.clone());
        transaction.push(&[b"ECHO", &[b'x'; 500]], 1000).unwrap();
        transaction.push(&[b"PING"], 1000).unwrap();
        transaction.push(&[b"ECHO", &[b'x'; 500]], 1000).unwrap_err();
        transaction.push(&[b"ECHO", &[b'x'; 500]], 10_000).unwrap_err();
        assert_eq!(transaction.commands(), [vec![&b"ECHO"[..], &[b'x'; 500]], vec![b"PING"]]);
        assert!(!budget.take(900));
        drop(transaction);
        assert!(budget.take(1000));
    }
}
