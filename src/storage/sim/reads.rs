//! Files that are open for reading, and failures of these reads.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use super::faults::{Fault, Need};
use super::world::World;
use super::{ReadFile, Sim, lock};
use crate::storage::Access;

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

    /// Sets how files that are opened from now on are read. [`Access::Mapped`] is the same as
    /// [`Access::Resident`], because these files cannot be mapped.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Access;
    /// use fpdb::storage::{Sim, Storage};
    ///
    /// let sim = Sim::new();
    /// sim.set_contents("a.log", b"some bytes");
    /// sim.set_access(Access::Cold);
    /// assert_eq!(sim.open("a.log")?.access(), Access::Cold);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn set_access(&self, access: Access) {
        self.world().access = match access {
            Access::Mapped => Access::Resident,
            access => access,
        };
    }
}

/// A file opened for reading: its bytes when it was opened.
pub(super) struct OpenFile {
    world: Arc<Mutex<World>>,
    bytes: Arc<[u8]>,
    access: Access,
}

impl OpenFile {
    pub(super) fn new(world: Arc<Mutex<World>>, bytes: Arc<[u8]>, access: Access) -> Self {
        Self { world, bytes, access }
    }
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenFile({} bytes)", self.bytes.len())
    }
}

impl ReadFile for OpenFile {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A short read leaves the first half of the bytes in `to`.
    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        let fault = lock(&self.world).reads.next(Need::Read);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let from = self.bytes.get(start..).and_then(|rest| rest.get(..to.len()));
        let from = from.ok_or(io::ErrorKind::UnexpectedEof)?;
        match fault {
            None => to.copy_from_slice(from),
            Some(fault) => {
                if fault == Fault::ShortRead {
                    let half = to.len() / 2;
                    to[..half].copy_from_slice(&from[..half]);
                }
                return Err(fault.error());
            }
        }
        Ok(())
    }

    fn access(&self) -> Access {
        self.access
    }
}
