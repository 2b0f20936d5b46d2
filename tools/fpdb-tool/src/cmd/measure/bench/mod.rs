//! `bench`

mod args;
mod latency;
mod mix;
mod page;
mod ready;
mod report;
mod run;
mod target;

use std::fs;

use anyhow::{Context as _, Result, bail};
use fpdb::Fingerprint;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::output::{self, Context};
use crate::progress;
pub(crate) use args::Args;
use args::{DEFAULT_OPERATIONS, DurabilityArg};
use mix::Kind;
use ready::Ready;
use report::{Database, KindReport, Phase, Report};
use run::{Done, Work};

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        self.check()?;
        let report = match &self.path {
            Some(path) => {
                let found = fpdb::describe(path)?;
                by_width!(found.bits, |options| {
                    let ready = ready::open(&self, options, path, &found)?;
                    self.measure(ready, context)?
                })
            }
            None => by_width!(self.made.bits.unwrap_or(64), |options| {
                let ready = ready::create(&self, options, context)?;
                self.measure(ready, context)?
            }),
        };
        self.present(&report, context)
    }

    fn measure<F: Fingerprint>(&self, ready: Ready<F>, context: &Context<'_>) -> Result<Report> {
        let Ready { target, distance, database, _folder } = ready;
        let bar = progress::working(context, "sampling entries");
        let sample = if self.mix.hits > 0 { target.sample(self.seed)? } else { Vec::new() };
        if self.mix.hits > 0 && sample.is_empty() {
            bail!("the database is empty, so there are no entries to hit: use --mix 0:1:0");
        }
        let queries = self.mix.queries();
        let warm_up = Work {
            target: &target,
            mix: queries,
            sample: &sample,
            distance,
            threads: self.threads,
            seed: !self.seed,
            operations: if queries.is_empty() { 0 } else { self.warm_up },
            limit: None,
        };
        bar.set_message("warming up");
        let warmed = warm_up.run()?;
        bar.set_message("measuring");
        let operations = self.queries.unwrap_or(match self.seconds {
            Some(_) => u64::MAX,
            None => DEFAULT_OPERATIONS,
        });
        let work =
            Work { mix: self.mix, seed: self.seed, operations, limit: self.seconds, ..warm_up };
        let done = work.run()?;
        bar.finish_and_clear();
        target.close()?;
        Ok(self.report(database, distance, &warmed, &done))
    }

    fn report(&self, database: Database, distance: u32, warmed: &Done, done: &Done) -> Report {
        let seconds = done.elapsed.as_secs_f64();
        let kinds = Kind::ALL.iter().zip(&done.kinds).filter(|(_, times)| times.count() > 0);
        let kinds: Vec<_> =
            kinds.map(|(&kind, times)| KindReport::new(kind, times, seconds)).collect();
        let clock_ns = run::clock();
        let measured = phase(done);
        let stopped = self.queries.is_some_and(|requested| measured.operations < requested);
        Report {
            schema: "fpdb.bench/1",
            database,
            distance,
            mix: self.mix,
            durability: (self.mix.inserts > 0).then_some(match self.durability {
                DurabilityArg::Sync => "sync",
                DurabilityArg::Buffered => "buffered",
            }),
            threads: self.threads,
            seed: self.seed,
            warm_up: phase(warmed),
            measured,
            waited_seconds: done.waited.map(|waited| waited.as_secs_f64()),
            clock_ns,
            notes: report::notes(&kinds, self.threads, clock_ns, done, stopped),
            kinds,
        }
    }

    fn present(&self, report: &Report, context: &mut Context<'_>) -> Result<Outcome> {
        if context.json {
            output::json_line(context.out, report)?;
        } else {
            report.print(context.out)?;
        }
        report.notes.iter().for_each(|note| context.say(format!("note: {note}")));
        if let Some(path) = &self.html {
            let written = fs::write(path, page::html(report));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        let missed: u64 = report.kinds.iter().map(KindReport::missed).sum();
        if missed > 0 {
            context.say(format!("{missed} hits did not find the entry that they were made from"));
            return Ok(Outcome::CheckFailed);
        }
        Ok(Outcome::Done)
    }
}

fn phase(done: &Done) -> Phase {
    let operations = done.kinds.iter().map(latency::Latencies::count).sum();
    Phase { operations, seconds: done.elapsed.as_secs_f64() }
}
