//! Cutting the Latin words of a Chinese text as Python's jieba does.

/// The words of which a token of jieba-rs consists. It joins letters and digits across single
/// dots, hyphens and underscores, as in `example.org`; Python's jieba nothing but a number to what
/// stands before its point.
pub(super) struct Latin<'t> {
    rest: &'t str,
}

impl<'t> Latin<'t> {
    pub(super) fn new(token: &'t str) -> Self {
        Self { rest: token }
    }
}

impl<'t> Iterator for Latin<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.rest.as_bytes();
        let joined = self.rest.is_ascii() && self.rest.contains(['.', '-', '_']);
        let length = if joined { leading_word(bytes) } else { bytes.len() };
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// The length of the letters and digits that come first, with a point and digits, and then a sign
/// of percent, if those follow; or else of what comes before the first letter or digit.
fn leading_word(bytes: &[u8]) -> usize {
    let run = |from: usize, belongs: fn(&u8) -> bool| {
        bytes[from..].iter().take_while(|byte| belongs(byte)).count()
    };
    let mut end = run(0, u8::is_ascii_alphanumeric);
    if end == 0 {
        return run(0, |byte| !byte.is_ascii_alphanumeric());
    }
    if bytes.get(end) == Some(&b'.') {
        let digits = run(end + 1, u8::is_ascii_digit);
        end += if digits > 0 { 1 + digits } else { 0 };
    }
    end + usize::from(bytes.get(end) == Some(&b'%'))
}
