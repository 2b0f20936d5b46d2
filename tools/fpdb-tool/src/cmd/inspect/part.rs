//! One file of a database, and its parts.

use std::path::Path;

use anyhow::{Result, bail};
use fpdb::Description;
use serde::Serialize;

use crate::anatomy::{Field, File, Part};
use crate::failure::Exit;
use crate::output::{self, Context};

/// Which part of which file.
#[derive(clap::Args)]
pub(super) struct PartArgs {
    /// Show a file of the database, by its name
    #[arg(long, value_name = "NAME", conflicts_with = "table", help_heading = "One file")]
    file: Option<String>,

    /// Show a table of a segment: its blocks, or columns
    #[arg(long, value_name = "N", help_heading = "One file")]
    table: Option<u16>,

    /// The segment of the table, by its number; not needed if there is only one
    #[arg(long, value_name = "ID", requires = "table", help_heading = "One file")]
    segment: Option<u64>,

    /// Show a block of a table, counted from 0. Of other files: a section of postings, a bucket of
    /// columns, a leaf or inner node of documents by its page, a tombstone, or a frame of a log
    #[arg(long, value_name = "N", help_heading = "One file")]
    block: Option<u64>,

    /// Show the bytes of each field, too
    #[arg(long, help_heading = "One file")]
    hex: bool,
}

/// `fpdb.inspect-file/1`
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: &'a str,
    block: Option<u64>,
    fields: &'a [Field],
    /// What ends the fields, if that is damage.
    error: Option<String>,
}

impl PartArgs {
    pub(super) fn is_given(&self) -> bool {
        self.file.is_some() || self.table.is_some() || self.block.is_some() || self.hex
    }

    /// Shows a file of a database. `names` are those of all its files.
    pub(super) fn run(
        &self,
        folder: &Path,
        names: &[String],
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<Exit> {
        let name = self.name(names, description)?;
        let part = self.block.map_or(Part::Ends, Part::Block);
        let file = File::open(&folder.join(name))?;
        let mut fields = Vec::new();
        let read = file.read(part, description, &mut fields);
        let error = match read {
            // Nothing was found: there is no such part.
            Err(error) if fields.is_empty() => return Err(error),
            read => read.err().map(|error| error.to_string()),
        };
        let exit = if error.is_none() { Exit::Done } else { Exit::CheckFailed };
        if context.json {
            let (schema, block) = ("fpdb.inspect-file/1", self.block);
            context.report(&Report { schema, file: name, block, fields: &fields, error })?;
        } else {
            self.print(&fields, error.as_deref(), context)?;
        }
        Ok(exit)
    }

    /// Finds the file that is meant.
    fn name<'a>(&self, names: &'a [String], description: &Description) -> Result<&'a str> {
        if let Some(wanted) = &self.file {
            return match names.iter().find(|name| *name == wanted) {
                Some(name) => Ok(name),
                None => bail!("there is no file {wanted}: inspect without --file lists all"),
            };
        }
        let Some(table) = self.table else {
            bail!("--block and --hex show a file: add --table, or --file with a file's name");
        };
        let tables = description.layout.tables();
        if usize::from(table) >= tables {
            bail!("there is no table {table}: the layout has {tables}, from 0 on");
        }
        let ending = match description.columns && (table > 0 || self.block.is_none()) {
            true => format!(".c{table:02}"),
            false => format!(".t{table:02}"),
        };
        let is_meant = |name: &&String| {
            let number = name.strip_suffix(&ending).and_then(|n| u64::from_str_radix(n, 16).ok());
            number.is_some_and(|number| self.segment.is_none_or(|segment| segment == number))
        };
        match names.iter().filter(is_meant).collect::<Vec<_>>()[..] {
            [name] => Ok(name),
            [] => bail!("there is no such table: inspect without --table lists all segments"),
            _ => bail!("there are several segments: choose one with --segment, by its number"),
        }
    }

    fn print(
        &self,
        fields: &[Field],
        error: Option<&str>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let bits = |field: &Field| match field.bits {
            Some((first, count)) => format!("bits {first}+{count}"),
            None => String::new(),
        };
        let cells = |f: &Field| {
            let offset = f.offset.to_string();
            [offset, bits(f), f.name.clone(), f.value.clone(), f.section.to_owned()]
        };
        let lines: Vec<[String; 5]> = fields.iter().map(cells).collect();
        let header = ["offset", "bits", "field", "value", "section"];
        if self.hex {
            let with_bytes = |(line, field): (&[String; 5], &Field)| {
                let [offset, bits, name, value, section] = line.clone();
                [offset, bits, name, value, section, field.bytes.clone()]
            };
            let lines: Vec<[String; 6]> = lines.iter().zip(fields).map(with_bytes).collect();
            let [offset, bits, name, value, section] = header;
            output::table(context.out, [offset, bits, name, value, section, "bytes"], &lines)?;
        } else {
            output::table(context.out, header, &lines)?;
        }
        if let Some(error) = error {
            writeln!(context.out, "damaged here: {}", output::printable(error))?;
        }
        Ok(())
    }
}
