//! Files that are open for reading.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use super::faults::{Fault, Need};
use super::world::World;
use crate::base::parallel::lock;
use crate::file::storage::ReadFile;

/// A file opened for reading: its bytes when it was opened.
pub(super) struct OpenFile {
    world: Arc<Mutex<World>>,
    bytes: Arc<[u8]>,
}

impl OpenFile {
    pub(super) fn new(world: Arc<Mutex<World>>, bytes: Arc<[u8]>) -> Self {
        Self { world, bytes }
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
}
