//! Options whose value is one of a few words.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Parses a word that stands for a variant. The parser that `value_enum` uses is compiled again for
/// each enum, which is three times as much code.
pub(crate) fn choice<E: ValueEnum + Send + Sync + 'static>() -> impl TypedValueParser<Value = E> {
    let words = E::value_variants().iter().filter_map(E::to_possible_value);
    PossibleValuesParser::new(words).try_map(|word| E::from_str(&word, false))
}
