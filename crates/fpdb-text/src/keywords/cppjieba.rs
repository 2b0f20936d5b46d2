//! Segmentation as in cppjieba 5.3, which differs from jieba's for words that are not in the
//! dictionary.
//!
//! Between separators, the hidden Markov model processes the characters that the dictionary joins
//! to no word, including punctuation. The model does not know punctuation in any state, so at
//! punctuation its scores are lost. The characters before the punctuation are cut as if a word had
//! to end there. Everything after it, up to the next word of the dictionary, is cut into single
//! characters.

use jieba_rs::Jieba;

/// The model. It has four states: begin, end and middle of a word, and a word of one character.
mod model {
    const MIN_FLOAT: f64 = super::IMPOSSIBLE;
    jieba_macros::generate_hmm_data!();
}

/// The logarithm of the probability of an impossible event. As in cppjieba, it is finite: a sum of
/// two of these is below the smallest score, and adding a score to one of these does not change it.
const IMPOSSIBLE: f64 = -3.14e100;

const STATES: usize = 4;
const END: usize = 1;
const ALONE: usize = 3;

/// Characters that are cut off first, each on its own.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '，', '。'];

/// Returns the words of a text, in order. Concatenated they are the text.
pub(super) fn cut<'t>(jieba: &Jieba, text: &'t str) -> Vec<&'t str> {
    let mut cutter = Cutter { text, words: Vec::new(), loose: Vec::new() };
    for token in jieba.cut(text, false) {
        if is_word(token.word) {
            cutter.end_run(token.byte_start);
            cutter.words.push(token.word);
        } else {
            cutter.add_loose(token.byte_start, token.word);
        }
    }
    cutter.end_run(text.len());
    cutter.words
}

/// Returns whether this token comes from the dictionary. jieba also joins letters and digits that
/// are not in the dictionary, and the two characters of a line end.
fn is_word(token: &str) -> bool {
    token.chars().nth(1).is_some()
        && !token.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && token != "\r\n"
}

struct Cutter<'t> {
    text: &'t str,
    words: Vec<&'t str>,
    /// Neighbouring characters that are in no word, each with the position at which it starts.
    loose: Vec<(usize, char)>,
}

impl Cutter<'_> {
    fn add_loose(&mut self, start: usize, token: &str) {
        for (at, c) in token.char_indices() {
            let (start, end) = (start + at, start + at + c.len_utf8());
            if SEPARATORS.contains(&c) {
                self.end_run(start);
                self.words.push(&self.text[start..end]);
            } else {
                self.loose.push((start, c));
            }
        }
    }

    /// Cuts the loose characters, which end at the byte position `end`.
    fn end_run(&mut self, end: usize) {
        let run = std::mem::take(&mut self.loose);
        let mut rest = run.as_slice();
        while let Some(&(start, first)) = rest.first() {
            let length = match first {
                'a'..='z' | 'A'..='Z' => leading(rest, |c| c.is_ascii_alphanumeric()),
                '0'..='9' => leading(rest, |c| c.is_ascii_digit() || c == '.'),
                '\0'..='\x7f' => 1,
                _ => leading(rest, |c| !c.is_ascii()),
            };
            let (piece, after) = rest.split_at(length);
            let end = after.first().map_or(end, |next| next.0);
            if first.is_ascii() {
                self.words.push(&self.text[start..end]);
            } else {
                self.cut_by_model(piece, end);
            }
            rest = after;
        }
        self.loose = run;
        self.loose.clear();
    }

    fn cut_by_model(&mut self, piece: &[(usize, char)], end: usize) {
        let mut start = piece.first().map_or(end, |first| first.0);
        for (i, state) in most_likely(piece).into_iter().enumerate() {
            if state == END || state == ALONE {
                let end = piece.get(i + 1).map_or(end, |next| next.0);
                self.words.push(&self.text[start..end]);
                start = end;
            }
        }
    }
}

fn leading(run: &[(usize, char)], belongs: impl Fn(char) -> bool) -> usize {
    run.iter().take_while(|&&(_, c)| belongs(c)).count()
}

/// Returns the most likely sequence of states of some characters (Viterbi), with cppjieba's choice
/// among equals: the first state, or the end of a word if no state is better than impossible.
fn most_likely(piece: &[(usize, char)]) -> Vec<usize> {
    let Some((&(_, first), others)) = piece.split_first() else { return Vec::new() };
    let emitted = emission(first);
    let mut scores: [f64; STATES] = std::array::from_fn(|s| model::INITIAL_PROBS[s] + emitted[s]);
    let mut before = Vec::with_capacity(others.len());
    for &(_, c) in others {
        let emitted = emission(c);
        let mut next = [IMPOSSIBLE; STATES];
        let mut from = [END; STATES];
        for (to, best) in next.iter_mut().enumerate() {
            for (state, score) in scores.iter().enumerate() {
                let score = score + model::TRANS_PROBS[state][to] + emitted[to];
                if score > *best {
                    *best = score;
                    from[to] = state;
                }
            }
        }
        scores = next;
        before.push(from);
    }
    let mut states = vec![if scores[END] >= scores[ALONE] { END } else { ALONE }];
    for from in before.iter().rev() {
        states.push(from[states[states.len() - 1]]);
    }
    states.reverse();
    states
}

/// Returns the logarithm of the probability of a character in each state.
fn emission(c: char) -> [f64; STATES] {
    if c == '∶' {
        // This character is in the model's file, but not in the part that jieba-rs contains.
        return [IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE, -15.828866];
    }
    let row = u32::from(c)
        .checked_sub(model::EMIT_MIN_CHAR)
        .and_then(|offset| model::EMIT_INDEX.get(offset as usize))
        .filter(|&&row| row != model::EMIT_NONE);
    row.map_or([IMPOSSIBLE; STATES], |&row| model::EMIT_PROBS[usize::from(row)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary;

    fn cut_joined(text: &str) -> String {
        cut(dictionary::cppjieba().unwrap(), text).join("/")
    }

    /// From cppjieba's own tests.
    #[test]
    fn words_are_cut_as_cppjieba_does() {
        assert_eq!(cut_joined("我来自北京邮电大学。"), "我/来自/北京邮电大学/。");
        assert_eq!(cut_joined("B超 T恤"), "B超/ /T恤");
        assert_eq!(cut_joined("他来到了网易杭研大厦"), "他/来到/了/网易/杭研/大厦");
        assert_eq!(cut_joined("南京市长江大桥"), "南京市/长江大桥");
        assert_eq!(
            cut_joined("我来自北京邮电大学。。。学号123456，用AK47"),
            "我/来自/北京邮电大学/。/。/。/学号/123456/，/用/AK47"
        );
    }

    #[test]
    fn words_concatenated_are_the_text() {
        let text = "“他说：3.14.15\r\nabc1 2a，«是»吗？！”𠮷野家·∶的的的、AT&T";
        assert_eq!(cut(dictionary::cppjieba().unwrap(), text).concat(), text);
        assert_eq!(cut_joined(""), "");
    }

    #[test]
    fn punctuation_ends_a_word_of_the_model_and_splits_the_rest() {
        let words = cut_joined("在军”杭研");
        assert_eq!(words, "在军/”/杭/研");
        assert_eq!(cut_joined("杭研"), "杭研");
    }
}
