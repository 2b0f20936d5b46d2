//! `--stamp`

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// Where the stamps of documents come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StampSource {
    /// The time at which the run starts.
    Now,
    /// A field of the records.
    Field(String),
}

impl StampSource {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("expected `now` or the name of a field".to_owned()),
            "now" => Ok(Self::Now),
            field => Ok(Self::Field(field.to_owned())),
        }
    }
}

/// Returns the time in seconds since the beginning of 1970, in UTC.
pub(super) fn now() -> Result<u64> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(time.context("the clock shows a time before 1970: give --stamp a field")?.as_secs())
}
