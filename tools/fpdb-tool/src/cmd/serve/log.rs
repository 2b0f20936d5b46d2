//! The log of the server and of the database: a line per event, with time and level.

use std::io;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

/// How serious an event must be to be in the log.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

impl Level {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

/// Writes events of all threads to standard error from now on.
pub(super) fn start(level: Level) -> Result<()> {
    let log = tracing_subscriber::fmt().with_max_level(level.filter()).with_writer(io::stderr);
    log.with_ansi(false).try_init().map_err(|error| anyhow!("cannot start the log: {error}"))
}
