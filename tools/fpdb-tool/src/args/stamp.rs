//! Stamps on the command line: numbers, and times as seconds since the beginning of 1970 in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use humantime::{format_rfc3339_seconds, parse_duration, parse_rfc3339_weak};

/// Where the stamps of documents come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StampSource {
    /// All have this one.
    Given(u64),
    /// A field of the records.
    Field(String),
}

impl StampSource {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected a stamp or the name of a field".to_owned());
        }
        Ok(parse(text).map_or_else(|_| Self::Field(text.to_owned()), Self::Given))
    }
}

/// Parses a stamp: a number, a date or time, `now`, or a duration, which means so long ago.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let midnight = format!("{text} 00:00:00");
    let time = parse_rfc3339_weak(text).or_else(|_| parse_rfc3339_weak(&midnight)).ok();
    if let Some(time) = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        return Ok(time.as_secs());
    }
    let ago = if text == "now" { Some(Duration::ZERO) } else { parse_duration(text).ok() };
    let ago = ago.ok_or(
        "expected a number, a time since 1970 such as 2026-01-31 or 2026-01-31T12:00:00Z, `now`, or a \
         duration such as 30d, which means so long ago",
    )?;
    before(SystemTime::now(), ago)
}

/// Returns the stamp of so long before `now`.
fn before(now: SystemTime, ago: Duration) -> Result<u64, String> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    now.checked_sub(ago).map(|time| time.as_secs()).ok_or_else(|| {
        let clock = format_rfc3339_seconds(UNIX_EPOCH + now);
        format!(
            "so long ago was before 1970, because the clock of this machine says {clock}: if that is \
             wrong, set the clock"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_times_and_durations_are_stamps() {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse("1970-01-02"), Ok(86_400));
        assert_eq!(parse("2026-01-31T12:00:00Z"), Ok(1_769_860_800));
        assert_eq!(parse("2026-01-31 12:00:01"), Ok(1_769_860_801));
        for (text, ago) in [("now", 0), ("90s", 90), ("30d", 30 * 86_400), ("1h 30m", 5400)] {
            let (before, stamp, after) = (now() - ago, parse(text).unwrap(), now() - ago);
            assert!((before..=after).contains(&stamp), "{text}");
        }
        for text in ["", "-1", "1.5", "tomorrow", "2026-13-01", "1969-12-31", "d30"] {
            assert!(parse(text).unwrap_err().contains("such as 30d"), "{text}");
        }
    }

    #[test]
    fn a_clock_that_was_never_set_is_the_reason_given() {
        let day = Duration::from_secs(86_400);
        assert_eq!(before(UNIX_EPOCH + day * 31, day * 30), Ok(86_400));
        let error = before(UNIX_EPOCH + day * 4, day * 30).unwrap_err();
        assert!(
            error.contains("1970-01-05T00:00:00Z") && error.contains("set the clock"),
            "{error}"
        );
        assert!(parse("9999y").is_err());
    }
}
