//! Cutting Latin words as Python's jieba does.

/// The words in a token of jieba-rs, as Python's jieba cuts them.
///
/// jieba-rs joins letters and digits across single dots, hyphens and underscores, as in
/// `example.org`. Python's jieba joins across a dot only if digits follow the dot, as in `4.2`.
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

/// Returns the length of the first word.
///
/// A word is a run of letters and digits, together with a point and digits and then a percent sign,
/// if these follow. If the text starts with something else, that part up to the first letter or
/// digit is the word.
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
