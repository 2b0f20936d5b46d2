//! `MULTI`: commands that wait until `EXEC` executes them together.

use std::sync::Arc;

use crate::command::Command;
use crate::failure::{Failure, Result};
use crate::input::Budget;

/// Memory of a command in addition to its words, and of each word in addition to its bytes.
const OVERHEAD: usize = 24;

/// The commands since `MULTI`.
#[derive(Debug)]
pub(crate) struct Transaction {
    commands: Vec<Vec<Vec<u8>>>,
    /// Whether a command was refused, so that none is executed.
    has_failed: bool,
    /// Memory of the commands, which all connections share with requests.
    bytes: usize,
    budget: Arc<Budget>,
}

impl Transaction {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { commands: Vec::new(), has_failed: false, bytes: 0, budget }
    }

    /// Adds a command. Fails if it could never be executed, and then the transaction has failed.
    pub(crate) fn add(&mut self, command: Result<Command>, words: &[&[u8]]) -> Result<()> {
        let added = command.and_then(|command| self.add_known(command, words));
        self.has_failed |= added.is_err();
        added
    }

    fn add_known(&mut self, command: Command, words: &[&[u8]]) -> Result<()> {
        if !command.takes(words.len()) {
            return Err(Failure::arity(command));
        }
        let bytes = OVERHEAD + words.iter().map(|word| OVERHEAD + word.len()).sum::<usize>();
        if !self.budget.take(bytes) {
            return Err(Failure::general(
                "the memory for requests is used up (limit: request-memory)",
            ));
        }
        self.bytes += bytes;
        self.commands.push(words.iter().map(|word| word.to_vec()).collect());
        Ok(())
    }

    /// Returns the commands to execute, if none was refused.
    pub(crate) fn commands(&self) -> Result<Vec<Vec<&[u8]>>> {
        if self.has_failed {
            let message = "Transaction discarded because of previous errors.";
            return Err(Failure::new("EXECABORT", message));
        }
        let commands = self.commands.iter();
        Ok(commands.map(|words| words.iter().map(Vec::as_slice).collect()).collect())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_commands_is_limited_and_given_back() {
        let budget = Arc::new(Budget::new(1000));
        let mut transaction = Transaction::new(budget.clone());
        let word = [b'x'; 400];
        let echo = |transaction: &mut Transaction| {
            transaction.add(Ok(Command::Echo), &[b"ECHO", &word]).is_ok()
        };
        assert!(echo(&mut transaction) && echo(&mut transaction));
        assert_eq!(transaction.commands().unwrap().len(), 2);
        assert!(!echo(&mut transaction));
        assert!(transaction.commands().is_err());
        drop(transaction);
        assert!(budget.take(1000));
    }
}
