//! Arguments of any value, of which shells complete some.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use fpdb::Layout;
use fpdb::text::built_in_names;

/// Accepts every string, and lets shells complete these. Give it with `hide_possible_values`,
/// because help would present them as the only ones.
#[derive(Clone)]
pub(crate) struct Suggested(fn() -> Vec<&'static str>);

/// The names of recipes.
pub(crate) fn recipes() -> Suggested {
    Suggested(|| built_in_names().collect())
}

/// The names of layouts of a new database.
pub(crate) fn layouts() -> Suggested {
    Suggested(|| ["auto"].iter().chain(Layout::preset_names()).copied().collect())
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
