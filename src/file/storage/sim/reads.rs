//! Failures of reads of open files.

use super::Sim;
use super::faults::Fault;

impl Sim {
    /// Returns how many times bytes of open files were read. [`fail_read_at`](Sim::fail_read_at)
    /// counts these.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.world().reads.calls
    }

    /// Makes read number `read` of an open file (see [`reads`](Sim::reads)) fail with `fault`:
    /// [`Fault::Error`] or [`Fault::ShortRead`]; others do not apply. If `persistent`, all later
    /// reads fail too. Replaces what was set before.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::storage::{Fault, Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.set_contents("a.log", b"some bytes");
    /// let file = sim.open("a.log")?;
    /// sim.fail_read_at(sim.reads(), Fault::Error, false);
    /// let mut bytes = [0; 4];
    /// assert!(file.read_at(0, &mut bytes).is_err());
    /// assert!(file.read_at(0, &mut bytes).is_ok());
    /// assert_eq!(&bytes, b"some");
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn fail_read_at(&self, read: usize, fault: Fault, persistent: bool) {
        self.world().reads.arm(read, fault, persistent);
    }
}
