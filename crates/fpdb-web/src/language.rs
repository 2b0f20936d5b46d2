//! A guess at the language of a text.

use whatlang::Lang;

use crate::html::is_unspaced;

/// The number, and the bytes each, of the pieces of the text that the guess is based on.
const PIECES: usize = 8;
const PIECE: usize = 256;

/// Guesses the language of a text, as an ISO 639-3 code such as `eng` or `cmn`. Returns None if no
/// guess is reliable. The guess is that of most pieces of the text, which are evenly spaced, so a
/// notice in another language at its beginning does not decide. It takes about as long as
/// extracting the text.
///
/// This function needs the cargo feature `language`.
///
/// # Examples
///
/// ```
/// let text = "It was a dark and stormy night, and nobody knew where the others had gone.";
/// assert_eq!(fpdb_web::language(text), Some("eng"));
/// assert_eq!(fpdb_web::language("42"), None);
/// ```
pub fn language(text: &str) -> Option<&'static str> {
    let mut votes: Vec<(Lang, usize)> = Vec::new();
    for language in pieces(text).into_iter().filter_map(of_piece) {
        match votes.iter_mut().find(|(voted, _)| *voted == language) {
            Some((_, count)) => *count += 1,
            None => votes.push((language, 1)),
        }
    }
    let all: usize = votes.iter().map(|(_, count)| count).sum();
    let winner = votes.into_iter().find(|(_, count)| 2 * count > all);
    winner.map(|(language, _)| language.code())
}

fn of_piece(piece: &str) -> Option<Lang> {
    // In a Chinese or Japanese text, words in other scripts are names and code.
    let wide: String = piece.chars().filter(|&c| is_unspaced(c)).collect();
    let info = whatlang::detect(if wide.len() * 4 > piece.len() { &wide } else { piece })?;
    info.is_reliable().then(|| info.lang())
}

/// Returns the text, or pieces of it that are evenly spaced.
fn pieces(text: &str) -> Vec<&str> {
    if text.len() <= PIECES * PIECE {
        return vec![text];
    }
    // A piece begins and ends between characters.
    let boundary = |at: usize| (at..text.len()).find(|&at| text.is_char_boundary(at));
    let piece = |number: usize| {
        let at = number * (text.len() - PIECE) / (PIECES - 1);
        text.get(boundary(at)?..boundary(at + PIECE).unwrap_or(text.len()))
    };
    (0..PIECES).filter_map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str =
        "This site uses cookies to improve your experience, and you agree to it. ";
    const GERMAN: &str = "Der Fluss stieg in der Nacht, und die Leute trugen Sand zum Damm. ";

    #[test]
    fn a_notice_in_another_language_does_not_decide() {
        for (before, after) in [(10, 40), (0, 40), (1000, 10_000)] {
            let text = ENGLISH.repeat(before) + &GERMAN.repeat(after);
            assert_eq!(language(&text), Some("deu"), "{before} {after}");
        }
        let chinese = ENGLISH.repeat(8) + &"夜里河水上涨，村民们把沙袋搬到了堤坝上。".repeat(200);
        assert_eq!(language(&chinese), Some("cmn"));
    }

    #[test]
    fn pieces_are_of_the_entire_text() {
        let text = "ä".repeat(5000) + "end";
        let pieces = pieces(&text);
        assert!(pieces[0].starts_with("ä") && pieces[PIECES - 1].ends_with("end"));
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE + 2));
    }
}
