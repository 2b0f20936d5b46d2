//! The handle of a database: which width it has, how it is made, and in which process it works.

use crate::code::{Failure, FpdbCode};
use crate::database::{Database, OfWidth};
use crate::options::{Fitting, Given, Mode};
use crate::recipe::FpdbRecipe;
use crate::width::{Width, with_width};

/// An open database. Many threads may use it at the same time.
#[derive(Debug)]
pub struct FpdbDb {
    database: Box<dyn Database>,
    /// The process that opened it.
    process: u32,
}

const _: () = {
    const fn many_threads_may_use<T: Send + Sync>() {}
    many_threads_may_use::<FpdbDb>();
    many_threads_may_use::<FpdbRecipe>();
};

impl FpdbDb {
    /// Creates or opens what is at a path. Nothing is written before all options are checked.
    pub(crate) fn open(path: &str, given: &Given<'_>, mode: Mode) -> Result<Self, Failure> {
        let fitting = given.check(path, mode)?;
        let process = std::process::id();
        with_width!(fitting.bits, |F| {
            let database = Box::new(open::<F>(path, given, fitting, mode)?);
            Ok(Self { database, process })
        })
    }

    /// Returns the database, in the process that opened it. In a child that was forked, locks may
    /// be held by threads that do not exist there.
    pub(crate) fn get(&self) -> Result<&dyn Database, Failure> {
        if self.is_in_own_process() { Ok(&*self.database) } else { Err(forked()) }
    }

    /// Returns the number of bytes of a fingerprint.
    pub(crate) fn size(&self) -> usize {
        self.database.size()
    }

    /// Returns the recipe that makes fingerprints for the database, if it has one.
    pub(crate) fn recipe(&self) -> Result<Option<FpdbRecipe>, Failure> {
        let database = self.get()?;
        let Some(name) = database.recipe() else { return Ok(None) };
        let recipe = FpdbRecipe::named(name, database.bits()).map_err(|unknown| Failure {
            code: FpdbCode::Unsupported,
            message: format!(
                "this version of fpdb cannot make fingerprints for the database: {}",
                unknown.message
            ),
        })?;
        Ok(Some(recipe))
    }

    /// Closes the database. A child that was forked only frees the memory.
    pub(crate) fn close(self) -> Result<(), Failure> {
        if self.is_in_own_process() { self.database.close() } else { Err(forked()) }
    }

    fn is_in_own_process(&self) -> bool {
        self.process == std::process::id()
    }
}

fn forked() -> Failure {
    let message = "the database was opened before this process was forked: open it in the process that uses it";
    Failure { code: FpdbCode::Closed, message: message.to_owned() }
}

fn open<F: Width>(
    path: &str,
    given: &Given<'_>,
    fitting: Fitting,
    mode: Mode,
) -> Result<OfWidth<F>, Failure> {
    let options = given.options::<F>(fitting)?;
    Ok(match mode {
        Mode::Open if given.read_only()? => OfWidth::Reader(options.open_read_only(path)?),
        Mode::Open => OfWidth::Writer(options.open(path)?),
        Mode::Create => OfWidth::Writer(options.create(path)?),
        Mode::OpenOrCreate => OfWidth::Writer(options.open_or_create(path)?),
    })
}
