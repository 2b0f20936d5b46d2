//! `query`

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::{Description, Fingerprint, Ids, Match, Options, QueryOptions, Snapshot};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::{self, Outcome};
use crate::input::fingerprints::{self, Format};
use crate::output::{Context, json_line, printable};
use crate::progress;

/// Queries answered together.
const BATCH: usize = 256;

/// Finds the entries within a distance of fingerprints
///
/// Queries are answered in the order given, each completely unless --limit is given: the nearest
/// matches first, and equally near ones by fingerprint and id.
///
/// With --json, a record a query, {"type":"query","i":0,"query":"0x...","matches":[...]}, and a
/// summary record last.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Fingerprints in hex, with or without 0x; with --from fp, files of them (`-` is standard
    /// input)
    #[arg(value_name = "FINGERPRINT|FILE", required = true)]
    queries: Vec<String>,

    /// Distance in bits [default: the database's]
    #[arg(short = 'k', long = "distance", value_name = "BITS")]
    distance: Option<u32>,

    /// Take queries from files that hold this
    #[arg(long, value_enum)]
    from: Option<Source>,

    /// How the fingerprints in the files are written
    #[arg(long, value_enum, default_value = "auto", requires = "from")]
    fp_format: Format,

    /// At most so many matches a query, the nearest ones
    #[arg(long, value_name = "MATCHES")]
    limit: Option<usize>,

    /// Exit with 1 if no query has a match
    #[arg(long)]
    exit_status: bool,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Fingerprints
    Fp,
}

#[derive(Serialize)]
struct Record {
    r#type: &'static str,
    i: u64,
    query: String,
    matches: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    fingerprint: String,
    distance: u32,
    id: u64,
    name: Option<String>,
}

#[derive(Serialize)]
struct Summary {
    r#type: &'static str,
    queries: u64,
    /// Queries with a match.
    matched: u64,
    matches: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let description = fpdb::describe(&self.path)?;
        let summary =
            by_width!(description.bits, |options| self.answer_all(options, &description, context))?;
        if context.json {
            json_line(context.out, &summary)?;
        }
        let failed = self.exit_status && summary.matched == 0;
        Ok(if failed { Outcome::CheckFailed } else { Outcome::Done })
    }

    fn answer_all<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<Summary> {
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let distance = self.distance.unwrap_or(description.max_distance);
        let mut printer = Printer {
            json: context.json,
            one_query: self.from.is_none() && self.queries.len() == 1,
            names: description.ids == Ids::Names,
            summary: Summary { r#type: "summary", queries: 0, matched: 0, matches: 0 },
        };
        let files: Vec<PathBuf> = match self.from {
            Some(Source::Fp) => self.queries.iter().map(PathBuf::from).collect(),
            None => Vec::new(),
        };
        let bar = progress::over_files(context, &files);
        let mut queries: Box<dyn Iterator<Item = Result<F>>> = match self.from {
            Some(Source::Fp) => Box::new(fingerprints::read(&files, self.fp_format, &bar)),
            None => Box::new(
                self.queries.iter().map(|q| F::parse(q).map_err(|e| failure::as_usage(&e))),
            ),
        };
        printer.header(context)?;
        loop {
            // Those before an unreadable one are answered before the error is told.
            let (batch, error) = take(&mut queries, BATCH);
            for (query, matches) in batch.iter().zip(self.answer(&snapshot, &batch, distance)?) {
                let found = matches.into_iter().map(|m| Found::new(m, &snapshot, printer.names));
                printer.print(query.to_hex(), found.collect::<Result<_>>()?, context)?;
            }
            if let Some(error) = error {
                return Err(error);
            }
            if batch.len() < BATCH {
                return Ok(printer.summary);
            }
        }
    }

    fn answer<F: Fingerprint>(
        &self,
        snapshot: &Snapshot<F>,
        batch: &[F],
        distance: u32,
    ) -> Result<Vec<Vec<Match<F>>>> {
        if self.limit == Some(0) {
            bail!("--limit 0 leaves no answer to give");
        }
        let Some(limit) = self.limit else { return Ok(snapshot.query_batch(batch, distance)?) };
        let options = QueryOptions::within(distance).limit(limit);
        batch.iter().map(|&query| Ok(snapshot.query_with(query, &options)?)).collect()
    }
}

impl Found {
    fn new<F: Fingerprint>(found: Match<F>, snapshot: &Snapshot<F>, names: bool) -> Result<Self> {
        Ok(Self {
            fingerprint: found.fingerprint.to_hex(),
            distance: found.distance,
            id: found.id.0,
            name: if names { snapshot.name(found.id)? } else { None },
        })
    }
}

/// Up to `count` items, and the error that ended them early.
fn take<T>(
    items: &mut dyn Iterator<Item = Result<T>>,
    count: usize,
) -> (Vec<T>, Option<anyhow::Error>) {
    let mut taken = Vec::new();
    for item in items.take(count) {
        match item {
            Ok(item) => taken.push(item),
            Err(error) => return (taken, Some(error)),
        }
    }
    (taken, None)
}

/// Prints answers as they come, and counts them.
struct Printer {
    json: bool,
    /// There is but one query, so it need not be repeated in each line of the table.
    one_query: bool,
    /// The database has names, so the table has a column for them.
    names: bool,
    summary: Summary,
}

impl Printer {
    fn header(&self, context: &mut Context<'_>) -> Result<()> {
        if !self.json {
            self.line(["query", "fingerprint", "distance", "id", "name"], context)?;
        }
        Ok(())
    }

    fn print(
        &mut self,
        query: String,
        matches: Vec<Found>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let i = self.summary.queries;
        self.summary.queries += 1;
        self.summary.matched += u64::from(!matches.is_empty());
        self.summary.matches += matches.len() as u64;
        if self.json {
            json_line(context.out, &Record { r#type: "query", i, query, matches })?;
            return Ok(());
        }
        for found in matches {
            let (distance, id) = (found.distance.to_string(), found.id.to_string());
            let name = found.name.as_deref().map(printable).unwrap_or_default();
            self.line([&query, &found.fingerprint, &distance, &id, &name], context)?;
        }
        Ok(())
    }

    /// A line of the table. It is printed before the next is known, so widths are settled.
    fn line(&self, cells: [&str; 5], context: &mut Context<'_>) -> Result<()> {
        let [query, fingerprint, distance, id, name] = cells;
        if !self.one_query {
            write!(context.out, "{query:18}  ")?;
        }
        write!(context.out, "{fingerprint:18}  {distance:>8}  {id:>12}")?;
        if self.names {
            write!(context.out, "  {name}")?;
        }
        writeln!(context.out)?;
        Ok(())
    }
}
