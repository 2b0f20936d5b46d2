//! Numbers of entries on the command line.

/// The largest number of entries that commands accept.
const MAX: u64 = 10_000_000_000;

/// Parses a number of entries: digits, or digits, `e` and a power of ten.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let (digits, power) = text.split_once('e').unwrap_or((text, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = (plain(digits) && plain(power)).then(|| {
        let scale = 10u64.checked_pow(power.parse().ok()?)?;
        digits.parse::<u64>().ok()?.checked_mul(scale)
    });
    let number = number.flatten().filter(|n| (1..=MAX).contains(n));
    number.ok_or_else(|| "expected a number from 1 to 1e10, such as 1000000 or 1e6".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_plain_digits_or_use_a_power_of_ten() {
        for (text, count) in [("1", 1), ("10000", 10_000), ("1e6", 1_000_000), ("25e1", 250)] {
            assert_eq!(parse(text), Ok(count));
        }
        for wrong in ["", "0", "-1", "1e", "e6", "1e99", "1e11", "1.5e6", "1_000", "+5"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
