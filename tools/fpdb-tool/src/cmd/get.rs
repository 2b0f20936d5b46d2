//! `get`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Description, DocId, Fingerprint, Ids, Key, Options, Snapshot};
use serde::Serialize;

use crate::args::database::{self, by_width};
use crate::args::memory::MemoryArgs;
use crate::input::walk::name_parser;
use crate::output::document::{Original, Record};
use crate::output::failure::Exit;
use crate::output::{self, Context, json_line};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool get crawl.fpdb https://example.org/
  fpdb-tool get crawl.fpdb https://example.org/ https://example.com/ --json";

/// Finds documents by their names
///
/// Shows the id, the fingerprint and the stamp of each document, in the order given. For a
/// duplicate that dedup has remembered, also shows the document that it duplicates. In a database
/// with unique ids, documents are found by their ids instead of names. Names that are not in the
/// database are reported on standard error.
///
/// With --json, prints one record per name: {"type":"document","name":"...","id":0,
/// "fingerprint":"0x...","stamp":null,"duplicate_of":null} or {"type":"missing","name":"..."}. The
/// field duplicate_of of a duplicate is {"id":0,"name":"..."}, and its name is null if that
/// document has been removed. A summary record comes last.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Names of documents, or ids in a database with unique ids. Bytes that are not UTF-8 are taken
    /// as `%E9`, as in the names that dedup makes of paths
    #[arg(value_name = "NAME", required = true, value_parser = name_parser())]
    names: Vec<String>,

    /// Exit with code 1 if any of the documents is missing
    #[arg(long)]
    exit_status: bool,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// A document that is not in the database: its name or, without names, its id.
#[derive(Serialize)]
struct Missing<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
}

#[derive(Serialize)]
struct Summary {
    documents: u64,
    missing: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        database::need_documents(&description, "get")?;
        by_width!(description.bits, |options| self.get(options, &description, context))
    }

    fn get<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<Exit> {
        let keys = self.names.iter().map(|name| database::parse_key(description.ids, name));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let options = self.memory.apply(options.index_memory(0));
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let mut summary = Summary { documents: 0, missing: 0 };
        for key in keys {
            match find(&snapshot, key, description.ids)? {
                Some(record) => {
                    print(&record, summary.documents == 0, context)?;
                    summary.documents += 1;
                }
                None => {
                    report_missing(key, context)?;
                    summary.missing += 1;
                }
            }
        }
        if context.json {
            context.summary("fpdb.get/1", &summary)?;
        }
        let failed = self.exit_status && summary.missing > 0;
        Ok(if failed { Exit::CheckFailed } else { Exit::Done })
    }
}

fn find<F: Fingerprint>(snapshot: &Snapshot<F>, key: Key<'_>, ids: Ids) -> Result<Option<Record>> {
    let Some(document) = snapshot.get(key)? else { return Ok(None) };
    let name = match key {
        Key::Name(name) if ids == Ids::Names => Some(name.to_owned()),
        _ => None,
    };
    Record::new(name, &document, snapshot).map(Some)
}

/// Prints a document as a record or as lines, which an empty line separates from those before.
fn print(record: &Record, is_first: bool, context: &mut Context<'_>) -> Result<()> {
    if context.json {
        json_line(context.out, record)?;
        return Ok(());
    }
    if !is_first {
        writeln!(context.out)?;
    }
    let stamp = record.stamp.map_or_else(|| "none".to_owned(), |stamp| stamp.to_string());
    let mut rows = vec![
        ("id", record.id.to_string()),
        ("fingerprint", record.fingerprint.clone()),
        ("stamp", stamp),
    ];
    rows.extend(record.duplicate_of.as_ref().map(|original| ("duplicate of", describe(original))));
    if let Some(name) = &record.name {
        rows.insert(0, ("name", name.clone()));
    }
    output::rows(context.out, &rows)?;
    Ok(())
}

fn describe(Original { id, name }: &Original) -> String {
    name.as_ref().map_or_else(|| id.to_string(), |name| format!("{id} {name}"))
}

fn report_missing(key: Key<'_>, context: &mut Context<'_>) -> Result<()> {
    let (name, id) = match key {
        Key::Name(name) => (Some(name), None),
        Key::Id(DocId(id)) => (None, Some(id)),
    };
    if context.json {
        json_line(context.out, &Missing { r#type: "missing", name, id })?;
        return Ok(());
    }
    match (name, id) {
        (Some(name), _) => context.say(format_args!("not found: {name}")),
        (None, Some(id)) => context.say(format_args!("not found: {id}")),
        (None, None) => {}
    }
    Ok(())
}
