//! The bytes that a connection has received and not yet answered.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that each connection has for requests. More comes from the budget.
pub(crate) const OWN: usize = 16 << 10;

/// Memory that connections share.
#[derive(Debug)]
pub(crate) struct Budget {
    free: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { free: AtomicUsize::new(bytes) }
    }

    pub(crate) fn take(&self, bytes: usize) -> bool {
        let less = |free: usize| free.checked_sub(bytes);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.free.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A buffer that grows as bytes arrive.
#[derive(Debug)]
pub(crate) struct Input {
    /// The unread bytes are `bytes[start..end]`.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    budget: Arc<Budget>,
}

/// What became of an attempt to receive more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Bytes(usize),
    /// The client sends no more.
    End,
    /// The budget is used up.
    NoMemory,
}

impl Input {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { bytes: vec![0; OWN], start: 0, end: 0, budget }
    }

    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Returns the unread bytes, for a parser that changes them.
    pub(crate) fn unread_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Removes the first bytes.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.resize(OWN);
        }
    }

    /// Adds bytes that another thread has received: at most [`OWN`], and nothing is unread.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        self.end = bytes.len();
    }

    /// Receives what has arrived, and waits for it if nothing has.
    pub(crate) fn receive(&mut self, from: &mut impl Read) -> io::Result<Received> {
        if !self.make_room() {
            return Ok(Received::NoMemory);
        }
        loop {
            match from.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Ok(Received::End),
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(Received::Bytes(bytes));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes room for at least one byte. Returns false if there is no memory for it.
    fn make_room(&mut self) -> bool {
        if self.end < self.bytes.len() {
            return true;
        }
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            return true;
        }
        self.resize(2 * self.bytes.len())
    }

    fn resize(&mut self, bytes: usize) -> bool {
        let before = self.bytes.len();
        if bytes > before && !self.budget.take(bytes - before) {
            return false;
        }
        self.bytes.resize(bytes, 0);
        if bytes < before {
            self.bytes.shrink_to_fit();
            self.budget.give_back(before - bytes);
        }
        true
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.resize(OWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_received_in_order_and_memory_is_given_back() {
        let budget = Arc::new(Budget::new(1 << 20));
        let mut input = Input::new(budget.clone());
        let sent: Vec<u8> = (0..100_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        let mut from = sent.as_slice();
        let mut seen = Vec::new();
        while input.receive(&mut from).unwrap() != Received::End {
            // Something is left each time but the last.
            let take = input.unread().len().saturating_sub(100);
            seen.extend_from_slice(&input.unread()[..take]);
            input.consume(take);
        }
        seen.extend_from_slice(input.unread());
        assert_eq!(seen, sent);
        input.consume(input.unread().len());
        assert_eq!(input.bytes.len(), OWN);
        assert_eq!(budget.free.load(Ordering::Relaxed), 1 << 20);
    }

    #[test]
    fn a_request_takes_no_more_than_the_budget() {
        let budget = Arc::new(Budget::new(3 * OWN));
        let mut input = Input::new(budget.clone());
        let mut from = io::repeat(b'x');
        while input.receive(&mut from).unwrap() != Received::NoMemory {}
        assert_eq!(input.unread().len(), 4 * OWN);
        drop(input);
        assert_eq!(budget.free.load(Ordering::Relaxed), 3 * OWN);
    }
}
