//! Numbers on the command line.

/// The largest number of entries that commands accept.
const MAX_ENTRIES: u64 = 1 << 36;

/// Parses a number of entries: digits, a power of two such as `2^34`, or a decimal number, `e` and
/// a power of ten that makes it whole.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let number = whole(text).filter(|n| (1..=MAX_ENTRIES).contains(n));
    number.ok_or_else(|| {
        "expected a whole number from 1 to 2^36, such as 1000000, 6.7e7 or 2^34".to_owned()
    })
}

/// Returns the value of a number such as `10`, `2^20`, `1e6` or `6.7e7` if it is whole.
fn whole(text: &str) -> Option<u64> {
    if let Some(power) = text.strip_prefix("2^") {
        return 1u64.checked_shl(power.parse().ok().filter(|_| !power.starts_with('+'))?);
    }
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (digits, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_plain(digits) || !is_plain(power) || mantissa.contains('.') && !is_plain(fraction) {
        return None;
    }
    let places = u32::try_from(fraction.len()).ok()?;
    let scale = 10u64.checked_pow(power.parse::<u32>().ok()?.checked_sub(places)?)?;
    format!("{digits}{fraction}").parse::<u64>().ok()?.checked_mul(scale)
}

/// Parses a number of bytes: `1024`, `64KiB`, `256 MiB`, `1G`. All units are powers of 1024.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err("expected a number of bytes, such as 64MiB or 1GiB".to_owned()),
    };
    let number: usize =
        number.parse().map_err(|_| "expected a number before the unit".to_owned())?;
    let unit = 1usize.checked_shl(shift).ok_or("too large for this machine")?;
    number.checked_mul(unit).ok_or_else(|| "too large for this machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_in_digits_or_with_a_power_of_ten() {
        let counts = [("1", 1), ("10000", 10_000), ("1e6", 1_000_000), ("25e1", 250)];
        let decimals = [
            ("6.7e7", 67_000_000),
            ("1.50e2", 150),
            ("0.5e1", 5),
            ("2^36", MAX_ENTRIES),
            ("2^0", 1),
        ];
        for (text, count) in counts.into_iter().chain(decimals) {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for wrong in [
            "", "0", "-1", "1e", "e6", "1e99", "1e11", "2^37", "2^", "2^+1", "2^64", "3^2",
            "1_000", "+5", "1.5", "1.25e1",
        ] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
        for wrong in [".5e1", "1.e1", "1.5.5e3", "1e1.5", "1e-1", "0.0e1", "99999999999999999999e0"]
        {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_an_optional_unit() {
        let sizes =
            [("0", 0), ("4096", 4096), ("256MiB", 1 << 28), ("2 gib", 1 << 31), ("3K", 3072)];
        for (text, bytes) in sizes {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn malformed_sizes_are_refused() {
        for text in ["", "MiB", "-1", "1.5G", "1MB", "99999999999999999999", "99999999999TiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
