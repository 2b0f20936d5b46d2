//! Ways to cut a text into tokens, for this crate's own recipes.

use std::mem;
use std::ops::Range;

use crate::tokens::{Sink, scan};

/// A way to cut a text into tokens.
pub(crate) trait Cut: Send + Sync {
    /// Calls `each` with each token, in the order of the text.
    fn cut(&self, text: &str, each: impl FnMut(&str));
}

/// Cuts by the characters alone, into words and single ideographs. See [`tokens`](crate::tokens).
pub(crate) struct AnyLanguage;

impl Cut for AnyLanguage {
    fn cut(&self, text: &str, mut each: impl FnMut(&str)) {
        tokens(text, |token| each(token.text));
    }
}

/// A token, and where it is in the text.
pub(crate) struct Token<'a> {
    /// In lower case and NFKC.
    pub(crate) text: &'a str,
    /// The bytes of the original text.
    pub(crate) place: Range<usize>,
    /// Whether it is a character of a script without spaces.
    pub(crate) is_ideograph: bool,
}

/// Calls `each` with each token, as [`AnyLanguage`] cuts them.
pub(crate) fn tokens(text: &str, each: impl FnMut(Token<'_>)) {
    let (word, lower) = (String::new(), String::new());
    let mut words = Words { word, place: 0..0, next: 0..0, lower, each };
    scan(text, &mut words);
    words.stop();
}

struct Words<E> {
    /// The part of the current word that has been read, and its place.
    word: String,
    place: Range<usize>,
    /// Where the next part is.
    next: Range<usize>,
    /// ASCII characters in lower case.
    lower: String,
    each: E,
}

impl<E: FnMut(Token<'_>)> Words<E> {
    fn extend(&mut self, letters: &str, place: Range<usize>) {
        if self.word.is_empty() {
            self.place.start = place.start;
        }
        self.place.end = place.end;
        self.word.push_str(letters);
    }
}

impl<E: FnMut(Token<'_>)> Sink for Words<E> {
    #[inline]
    fn place(&mut self, bytes: Range<usize>) {
        self.next = bytes;
    }

    #[inline]
    fn letter(&mut self, c: char) {
        self.extend(c.encode_utf8(&mut [0; 4]), self.next.clone());
    }

    #[inline]
    fn ideograph(&mut self, c: char) {
        self.stop();
        let mut bytes = [0; 4];
        let text = &*c.encode_utf8(&mut bytes);
        (self.each)(Token { text, place: self.next.clone(), is_ideograph: true });
    }

    #[inline]
    fn space(&mut self) {
        self.stop();
    }

    #[inline]
    fn stop(&mut self) {
        if !self.word.is_empty() {
            let (text, place) = (self.word.as_str(), self.place.clone());
            (self.each)(Token { text, place, is_ideograph: false });
            self.word.clear();
        }
    }

    /// Passes words as they are in the text, instead of letters.
    fn ascii(&mut self, text: &str, at: usize) {
        let mut lower = mem::take(&mut self.lower);
        lower.clear();
        lower.push_str(text);
        lower.make_ascii_lowercase();
        let mut from = 0;
        loop {
            let rest = &lower[from..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            let (text, place) = (&rest[..letters], at + from..at + from + letters);
            from += letters + 1;
            if from > lower.len() {
                // The word may go on.
                if !text.is_empty() {
                    self.extend(text, place);
                }
                break;
            }
            if !self.word.is_empty() {
                if !text.is_empty() {
                    self.extend(text, place);
                }
                self.stop();
            } else if !text.is_empty() {
                (self.each)(Token { text, place, is_ideograph: false });
            }
        }
        self.lower = lower;
    }
}

/// Like [`AnyLanguage`], except that jieba finds the words among Han characters, and other words
/// are cut into pieces of three letters.
///
/// A Chinese word has one or two characters and carries about as much information as three letters.
/// So a long foreign word, or a program in a manual, counts by its length next to the Chinese
/// around it.
///
/// Jieba uses its dictionary alone, without its hidden Markov model for words that are not in the
/// dictionary: with the model, a changed character more often changes how its neighbours are cut.
/// White space between Han characters is ignored.
#[cfg(feature = "zh")]
pub(crate) struct Chinese {
    pub(crate) jieba: &'static jieba_rs::Jieba,
}

#[cfg(feature = "zh")]
mod chinese {
    use jieba_rs::Jieba;

    use crate::cut::{Chinese, Cut};
    use crate::tokens::{Sink, scan};

    /// The number of letters in a piece of a word that is not Chinese.
    const PIECE: usize = 3;

    /// The number of bytes after which collected runs are passed to jieba; a single run may be
    /// longer. Jieba needs some tens of bytes of memory per byte.
    const ENOUGH: usize = 1 << 13;

    impl Cut for Chinese {
        fn cut(&self, text: &str, each: impl FnMut(&str)) {
            let (runs, piece) = (String::with_capacity(256), String::with_capacity(16));
            let mut pieces = Pieces { jieba: self.jieba, runs, piece, letters: 0, each };
            scan(text, &mut pieces);
            pieces.end_runs();
            pieces.end_piece();
        }
    }

    struct Pieces<'a, E> {
        jieba: &'a Jieba,
        /// Runs of Han characters with only white space between them. A line end follows each run
        /// but the last. Jieba cuts them in one call, which costs less than one call per run.
        runs: String,
        piece: String,
        /// The number of letters in `piece`.
        letters: usize,
        each: E,
    }

    impl<E: FnMut(&str)> Pieces<'_, E> {
        fn end_runs(&mut self) {
            if !self.runs.is_empty() {
                let tokens = self.jieba.cut(&self.runs, false);
                tokens.iter().filter(|t| t.word != "\n").for_each(|t| (self.each)(t.word));
                self.runs.clear();
            }
        }

        fn end_piece(&mut self) {
            if !self.piece.is_empty() {
                (self.each)(&self.piece);
                self.piece.clear();
                self.letters = 0;
            }
        }
    }

    impl<E: FnMut(&str)> Sink for Pieces<'_, E> {
        fn letter(&mut self, c: char) {
            self.end_runs();
            self.piece.push(c);
            self.letters += 1;
            if self.letters == PIECE {
                self.end_piece();
            }
        }

        fn ideograph(&mut self, c: char) {
            self.end_piece();
            if is_han(c) {
                self.runs.push(c);
            } else {
                self.end_runs();
                (self.each)(c.encode_utf8(&mut [0; 4]));
            }
        }

        fn space(&mut self) {
            self.end_piece();
        }

        fn stop(&mut self) {
            if self.runs.len() >= ENOUGH {
                self.end_runs();
            } else if self.runs.ends_with(is_han) {
                self.runs.push('\n');
            }
            self.end_piece();
        }
    }

    /// Returns whether this is a Han character, of which jieba's dictionary has words.
    fn is_han(c: char) -> bool {
        matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3fffd}' | '\u{3005}' | '\u{3007}')
    }
}

#[cfg(all(test, feature = "zh"))]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_like_its_sentences() {
        let cut = |text: &str| {
            let mut tokens = String::new();
            let jieba = crate::dictionary::jieba().unwrap();
            Chinese { jieba }.cut(text, |token| tokens.extend([token, "/"]));
            tokens
        };
        for text in ["图书馆晚上六点闭馆，今天到期的图书可以在午夜之前归还。", "今天，", "馆 里！"]
        {
            assert_eq!(cut(&text.repeat(1000)), cut(text).repeat(1000), "{text}");
        }
    }
}
