//! Sizes on the command line.

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
