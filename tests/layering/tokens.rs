//! Splits Rust source into tokens, without comments and literals.

/// Returns the words, the path separators `::` and the other symbols of `source`, in order.
///
/// Comments are left out. A string or character literal becomes the token `""`.
pub(crate) fn tokens(source: &str) -> Vec<String> {
    let mut lexer = Lexer { rest: source };
    std::iter::from_fn(|| lexer.next()).collect()
}

struct Lexer<'a> {
    rest: &'a str,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<String> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.skip(block_comment(self.rest));
            } else {
                break;
            }
        }
        let first = self.rest.chars().next()?;
        if let Some(length) = literal(self.rest) {
            self.skip(length);
            return Some("\"\"".to_owned());
        }
        let length = match first {
            _ if is_word(first) => self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len()),
            ':' if self.rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let token = self.rest[..length].to_owned();
        self.skip(length);
        Some(token)
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a block comment, with the comments inside it.
fn block_comment(source: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < source.len() {
        match &source.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of the string or character literal that `source` begins with.
fn literal(source: &str) -> Option<usize> {
    let prefix = source.find(|c: char| !matches!(c, 'b' | 'c' | 'r'))?;
    let raw = source[..prefix].ends_with('r');
    let rest = &source[prefix..];
    if prefix > 2 {
        return None;
    }
    let length = if raw {
        let hashes = rest.find(|c| c != '#')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let inside = rest[hashes..].strip_prefix('"')?;
        hashes + 1 + inside.find(&end)? + end.len()
    } else if rest.starts_with('"') {
        quoted(rest, '"')?
    } else if rest.starts_with('\'') {
        character(rest)?
    } else {
        return None;
    };
    Some(prefix + length)
}

/// The length of a character literal; a lifetime is not one.
fn character(source: &str) -> Option<usize> {
    let inside = &source[1..];
    let first = inside.chars().next()?;
    let is_literal = first == '\\' || inside[first.len_utf8()..].starts_with('\'');
    if is_literal { quoted(source, '\'') } else { None }
}

/// The length of a literal between two quotes, in which a backslash escapes a character.
fn quoted(source: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in source.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[test]
fn tokens_leave_out_comments_and_the_text_of_literals() {
    let source = r##"
        use a::b; // use c::d;
        /* e::f /* nested */ g::h */
        fn i<'j>(k: &'j str) { l("m::n \" o", 'p', '\'', b'q', r#"r::"s"#, b"\\") }
    "##;
    let expected = [
        &["use", "a", "::", "b", ";", "fn", "i", "<", "'", "j", ">", "(", "k", ":", "&"][..],
        &["'", "j", "str", ")", "{", "l", "(", "\"\"", ",", "\"\"", ",", "\"\"", ",", "\"\""],
        &[",", "\"\"", ",", "\"\"", ")", "}"],
    ];
    assert_eq!(tokens(source), expected.concat());
}
