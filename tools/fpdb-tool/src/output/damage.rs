//! Prints the damage of a database.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use fpdb::Error;

use crate::output::{Context, printable};

/// Prints damage by file. Returns the number of damaged files.
pub(crate) fn print(errors: &[Error], context: &mut Context<'_>) -> io::Result<usize> {
    let mut by_file: BTreeMap<Cow<'_, str>, Vec<&Error>> = BTreeMap::new();
    for error in errors {
        let file = error.path().map_or("database".into(), Path::to_string_lossy);
        by_file.entry(file).or_default().push(error);
    }
    for (file, errors) in &by_file {
        writeln!(context.out, "damaged: {}", printable(file))?;
        for error in errors {
            writeln!(context.out, "  {}", printable(&line(error)))?;
        }
    }
    Ok(by_file.len())
}

/// Returns the message without the file, which stands above it.
fn line(error: &Error) -> String {
    let message = error.to_string();
    let Some(file) = error.path().map(Path::display) else { return message };
    match error.offset() {
        None => message.replace(&format!(" ({file})"), ""),
        Some(offset) => {
            format!("byte {offset}: {}", message.replace(&format!(" ({file}, byte {offset})"), ""))
        }
    }
}
