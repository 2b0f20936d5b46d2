//! Ways to cut a text into tokens, for our own recipes.

use crate::tokens::{Sink, scan};

/// A way to cut a text into tokens.
pub(crate) trait Cut: Send + Sync {
    /// Calls `each` with every token, in their order.
    fn cut(&self, text: &str, each: impl FnMut(&str));
}

/// By the characters alone: words, and ideographs one by one. See [`tokens`](crate::tokens).
pub(crate) struct AnyLanguage;

impl Cut for AnyLanguage {
    fn cut(&self, text: &str, each: impl FnMut(&str)) {
        let mut words = Words { word: String::new(), each };
        scan(text, &mut words);
        words.stop();
    }
}

struct Words<E> {
    /// As far as it has been read.
    word: String,
    each: E,
}

impl<E: FnMut(&str)> Sink for Words<E> {
    #[inline]
    fn letter(&mut self, c: char) {
        self.word.push(c);
    }

    #[inline]
    fn ideograph(&mut self, c: char) {
        self.stop();
        (self.each)(c.encode_utf8(&mut [0; 4]));
    }

    #[inline]
    fn space(&mut self) {
        self.stop();
    }

    #[inline]
    fn stop(&mut self) {
        if !self.word.is_empty() {
            (self.each)(&self.word);
            self.word.clear();
        }
    }
}

/// As [`AnyLanguage`], but the words among Han characters are found by jieba, and other words are
/// cut into pieces of three letters.
///
/// A Chinese word has one or two characters and says as much as these: so a long foreign word, or
/// a program in a manual, weighs as its length does beside the Chinese around it.
///
/// Jieba goes by its dictionary alone, without its hidden Markov model for the words that are not
/// in it: with the model, a changed character more often changes how its neighbours are cut. White
/// space between Han characters is not there.
#[cfg(feature = "zh")]
pub(crate) struct Chinese {
    pub(crate) jieba: &'static jieba_rs::Jieba,
}

#[cfg(feature = "zh")]
mod chinese {
    use jieba_rs::Jieba;

    use crate::cut::{Chinese, Cut};
    use crate::tokens::{Sink, scan};

    /// Letters to a piece of a word that is not Chinese.
    const PIECE: usize = 3;

    /// Bytes of runs that jieba is given at once, but for a run that has more. For each byte it
    /// needs some tens in memory.
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
        /// Runs of Han characters with nothing but white space between them, each but the last with
        /// a line end after it: jieba takes them at once, which costs less than one by one.
        runs: String,
        piece: String,
        /// Of the piece.
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

    /// Is this a Han character, of which dictionaries have the words?
    fn is_han(c: char) -> bool {
        matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3fffd}' | '\u{3005}' | '\u{3007}')
    }
}

#[cfg(all(test, feature = "zh"))]
mod tests {
    use super::*;

    #[test]
    fn long_chinese_text_is_cut_as_its_sentences_are() {
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
