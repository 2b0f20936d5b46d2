//! What `verify` collects while it reads the files: the damage found, and its progress.

use crate::base::error::{Error, Result};
use crate::base::progress::Meter;

/// Takes the damage that a verification finds and counts the bytes that it has checked.
#[derive(Debug)]
pub(crate) struct Inspection<'a> {
    errors: Vec<Error>,
    meter: Option<&'a Meter<'a>>,
}

impl<'a> Inspection<'a> {
    /// Starts without damage. `meter` reports the progress of the verification, and can cancel it.
    pub(crate) fn new(meter: Option<&'a Meter<'a>>) -> Self {
        Self { errors: Vec::new(), meter }
    }

    /// Adds damage.
    pub(crate) fn report(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// Returns how much damage has been found so far, to see later whether there is more.
    pub(crate) fn found(&self) -> usize {
        self.errors.len()
    }

    /// Counts bytes as checked. Fails if the caller cancels.
    pub(crate) fn advance(&self, bytes: usize) -> Result<()> {
        self.meter.map_or(Ok(()), |meter| meter.advance(bytes as u64))
    }

    /// Returns the damage.
    pub(crate) fn into_errors(self) -> Vec<Error> {
        self.errors
    }
}
