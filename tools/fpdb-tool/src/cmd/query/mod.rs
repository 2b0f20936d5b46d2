//! `query`

mod args;
mod explain;
mod queries;

use std::path::PathBuf;

use anyhow::{Result, bail};
use fpdb::text::Recipe;
use fpdb::{Description, Fingerprint, Ids, Match, Options, QueryOptions, Snapshot, Within};
use serde::Serialize;

use crate::args::database::{self, SKETCH_BITS, by_width};
use crate::input;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, json_line, printable};
pub(crate) use args::Args;
use explain::{Answer, Explained};
use queries::Query;

#[derive(Serialize)]
struct Record<'a> {
    r#type: &'static str,
    i: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a str>,
    query: Option<String>,
    matches: Vec<MatchRecord>,
    /// With `--explain`.
    #[serde(flatten)]
    explained: Option<Explained>,
}

#[derive(Serialize)]
struct MatchRecord {
    fingerprint: String,
    distance: u32,
    /// The estimated similarity, if the recipe of the database tells one.
    #[serde(flatten)]
    similarity: Option<Similarity>,
    id: u64,
    name: Option<String>,
}

/// An estimated Jaccard similarity, and its standard error.
#[derive(Serialize)]
struct Similarity {
    similarity: f64,
    standard_error: f64,
}

#[derive(Serialize)]
struct Summary {
    queries: u64,
    /// Queries with at least one match.
    matched: u64,
    matches: u64,
}

impl Summary {
    /// Counts a query with so many matches.
    fn count(&mut self, matches: usize) {
        self.queries += 1;
        self.matched += u64::from(matches > 0);
        self.matches += matches as u64;
    }
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        by_width!(description.bits, |options| self.answer_all(options, &description, context))
    }

    fn answer_all<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<Exit> {
        if self.limit == Some(0) {
            bail!("--limit must be at least 1");
        }
        if self.since.is_some() {
            database::need_documents(description, "query --since")?;
        }
        let files: Vec<PathBuf> = match self.from {
            Some(_) => self.queries.iter().map(PathBuf::from).collect(),
            None => Vec::new(),
        };
        input::check_all(&files)?;
        let options = self.memory.apply(options.index_memory(0));
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let within = self.distance.map_or(Within::Rule, Within::Distance);
        let recipe = description.recipe.as_deref().and_then(|name| Recipe::find(name).ok());
        let mut printer = Printer {
            json: context.json,
            one_query: self.from.is_none() && self.queries.len() == 1,
            sketches: F::BITS == SKETCH_BITS,
            names: description.ids == Ids::Names,
            similarities: recipe.as_ref().is_some_and(|recipe| recipe.similarity(0).is_some()),
            summary: Summary { queries: 0, matched: 0, matches: 0 },
        };
        let bar = progress::over_files(context, &files);
        let lists = self.lists(&bar);
        let mut queries = self.queries::<F>(description, &files, &lists, &bar)?;
        printer.header(context)?;
        loop {
            // Queries before an unreadable one are answered before the error is reported.
            let (batch, more) = queries.take(context);
            let answers = self.answer(&snapshot, &batch, within)?;
            for (query, (matches, explained)) in batch.iter().zip(answers) {
                let record = |found| {
                    MatchRecord::new(query, found, &snapshot, printer.names, recipe.as_ref())
                };
                let matches = matches.into_iter().map(record).collect::<Result<_>>()?;
                let fingerprint = query.fingerprint.map(F::to_hex);
                printer.print(
                    query.document.as_deref(),
                    fingerprint,
                    matches,
                    explained,
                    context,
                )?;
            }
            if !more? {
                break;
            }
        }
        if context.json {
            context.summary("fpdb.query/1", &printer.summary)?;
        }
        queries.verdict(context)?;
        let failed = self.exit_status && printer.summary.matched == 0;
        Ok(if failed { Exit::CheckFailed } else { Exit::Done })
    }

    fn options(&self, within: Within) -> QueryOptions {
        let options = QueryOptions::within(within);
        let options = self.limit.map_or(options, |limit| options.limit(limit));
        self.since.map_or(options, |stamp| options.since(stamp))
    }

    /// Returns the matches of each query, and how they were found if that is wanted. A query
    /// without a fingerprint has none.
    fn answer<F: Fingerprint>(
        &self,
        snapshot: &Snapshot<F>,
        batch: &[Query<F>],
        within: Within,
    ) -> Result<Vec<Answer<F>>> {
        let fingerprints: Vec<F> = batch.iter().filter_map(|query| query.fingerprint).collect();
        let options = self.options(within);
        let answers: Vec<Answer<F>> = if self.explain {
            let answer = |&query: &F| Explained::answer(snapshot, query, options);
            fingerprints.iter().map(answer).collect::<fpdb::Result<_>>()?
        } else if (self.limit, self.since) == (None, None) {
            let answers = snapshot.query_batch(&fingerprints, within)?;
            answers.iter().map(|matches| (matches.to_vec(), None)).collect()
        } else {
            let answer = |&query: &F| Ok((snapshot.query(query, options)?, None));
            fingerprints.iter().map(answer).collect::<fpdb::Result<_>>()?
        };
        let mut answers = answers.into_iter();
        let answer = |query: &Query<F>| query.fingerprint.and_then(|_| answers.next());
        Ok(batch.iter().map(answer).map(Option::unwrap_or_default).collect())
    }
}

impl MatchRecord {
    fn new<F: Fingerprint>(
        query: &Query<F>,
        found: Match<F>,
        snapshot: &Snapshot<F>,
        names: bool,
        recipe: Option<&Recipe<F>>,
    ) -> Result<Self> {
        let similarity = recipe
            .zip(query.fingerprint)
            .and_then(|(recipe, query)| recipe.similarity_of(query, found.fingerprint));
        Ok(Self {
            fingerprint: found.fingerprint.to_hex(),
            distance: found.distance,
            similarity: similarity.map(|(similarity, error)| Similarity {
                similarity: rounded(similarity),
                standard_error: rounded(error),
            }),
            id: found.id.0,
            name: if names { snapshot.name(found.id)? } else { None },
        })
    }
}

/// Returns a share with three digits after the point.
fn rounded(share: f64) -> f64 {
    (share * 1e3).round() / 1e3
}

/// Prints answers as they arrive and counts them.
struct Printer {
    json: bool,
    /// There is only one query, so lines of the table do not repeat it.
    one_query: bool,
    /// The database has sketches, which are too long for the table.
    sketches: bool,
    /// The database has names, so the table has a column for them.
    names: bool,
    /// The recipe of the database tells similarities, so the table has a column for them.
    similarities: bool,
    summary: Summary,
}

impl Printer {
    fn header(&self, context: &mut Context<'_>) -> Result<()> {
        if !self.json {
            let header = ["query", "fingerprint", "distance", "similarity", "id", "name"];
            self.line(header, context)?;
        }
        Ok(())
    }

    fn print(
        &mut self,
        document: Option<&str>,
        query: Option<String>,
        matches: Vec<MatchRecord>,
        explained: Option<Explained>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let i = self.summary.queries;
        self.summary.count(matches.len());
        if self.json {
            let r#type = "query";
            json_line(context.out, &Record { r#type, i, document, query, matches, explained })?;
            return Ok(());
        }
        let query = document.map(printable).or(query).unwrap_or_default();
        for found in matches {
            let (distance, id) = (found.distance.to_string(), found.id.to_string());
            let name = found.name.as_deref().map(printable).unwrap_or_default();
            let similarity = found.similarity.map(|found| format!("{:.3}", found.similarity));
            let similarity = similarity.unwrap_or_default();
            self.line([&query, &found.fingerprint, &distance, &similarity, &id, &name], context)?;
        }
        explained.map_or(Ok(()), |explained| explained.print(&query, context))
    }

    /// Prints a line of the table. The widths are fixed because the next line is not known yet.
    fn line(&self, cells: [&str; 6], context: &mut Context<'_>) -> Result<()> {
        let [query, fingerprint, distance, similarity, id, name] = cells;
        if !self.one_query {
            write!(context.out, "{query:18}  ")?;
        }
        if !self.sketches {
            write!(context.out, "{fingerprint:18}  ")?;
        }
        write!(context.out, "{distance:>8}  ")?;
        if self.similarities {
            write!(context.out, "{similarity:>10}  ")?;
        }
        write!(context.out, "{id:>12}")?;
        if self.names {
            write!(context.out, "  {name}")?;
        }
        writeln!(context.out)?;
        Ok(())
    }
}
