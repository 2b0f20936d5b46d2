//! The handle of a database: which width it has, and how it is made.

use crate::code::{Failure, FpdbCode};
use crate::database::{Database, OfWidth};
use crate::options::{Given, Mode};
use crate::recipe::FpdbRecipe;
use crate::width::{Width, with_width};

/// An open database. It may be used by many threads at the same time.
#[derive(Debug)]
pub struct FpdbDb(Box<dyn Database>);

impl FpdbDb {
    /// Creates or opens what is at a path. Nothing is written before all options are checked.
    pub(crate) fn open(path: &str, given: &Given<'_>, mode: Mode) -> Result<Self, Failure> {
        let bits = given.check(path, mode)?;
        with_width!(bits, |F| Ok(Self(Box::new(open::<F>(path, given, mode)?))))
    }

    /// Returns the database.
    pub(crate) fn get(&self) -> &dyn Database {
        &*self.0
    }

    /// Returns the recipe that makes fingerprints for the database.
    pub(crate) fn recipe(&self) -> Result<FpdbRecipe, Failure> {
        match self.0.recipe() {
            Some(name) => FpdbRecipe::named(name, self.0.bits()),
            None => Err(Failure {
                code: FpdbCode::Unsupported,
                message: "the database has no recipe: give one when you create it".to_owned(),
            }),
        }
    }

    pub(crate) fn close(self) -> Result<(), Failure> {
        self.0.close()
    }
}

fn open<F: Width>(path: &str, given: &Given<'_>, mode: Mode) -> Result<OfWidth<F>, Failure> {
    let options = given.options::<F>()?;
    Ok(match mode {
        Mode::Open if given.read_only()? => OfWidth::Reader(options.open_read_only(path)?),
        Mode::Open => OfWidth::Writer(options.open(path)?),
        Mode::Create => OfWidth::Writer(options.create(path)?),
        Mode::OpenOrCreate => OfWidth::Writer(options.open_or_create(path)?),
    })
}
