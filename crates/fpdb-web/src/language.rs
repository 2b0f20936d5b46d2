//! A guess at the language of a text.

use crate::html::is_unspaced;

/// Bytes of the text that the guess is based on.
const SAMPLE: usize = 512;

/// Guesses the language of a text from its beginning, as an ISO 639-3 code such as `eng` or `cmn`.
/// Returns None if no guess is reliable. It takes about as long as extracting the text.
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
    let end = SAMPLE.min(text.len());
    let end = (0..=end).rev().find(|&at| text.is_char_boundary(at))?;
    let sample = text.get(..end)?;
    // In a Chinese or Japanese text, words in other scripts are names and code.
    let wide: String = sample.chars().filter(|&c| is_unspaced(c)).collect();
    let info = whatlang::detect(if wide.len() * 4 > sample.len() { &wide } else { sample })?;
    info.is_reliable().then(|| info.lang().code())
}
