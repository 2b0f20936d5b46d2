//! Replay: one line of text identifies a state, and checks it again.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use fpdb::storage::{CrashLimits, Fault, Sim};
use fpdb::{Durability, Fingerprint, Ids, Sketch};

use super::faults::Case;
use super::matrix::{Workload, explore, revisit};
use super::oracle::Verdict;
use super::script::{BANDS, Setup};
use super::{BUFFERED, NAMES, SKETCHES, USER, WIDE};

/// The variable with the line.
const VARIABLE: &str = "FPDB_CRASH_REPLAY";

/// A state after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of operations before the crash.
    pub(crate) at: usize,
    /// The position of the state among the states of this crash.
    pub(crate) state: usize,
    pub(crate) limits: CrashLimits,
    /// The same two numbers of a second crash.
    pub(crate) second: Option<(usize, usize)>,
}

/// What is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Crash(Place),
    Fault(Case),
}

/// Describes a violation, with the command that checks this state again.
pub(crate) fn violation<F: Fingerprint>(
    text: &str,
    state: &Sim,
    workload: &Workload<F>,
    place: Place,
) -> String {
    format!("{text}\n  {}\n{}", state.describe(), command(workload, What::Crash(place)))
}

/// Returns the command that replays this part of the workload.
pub(crate) fn command<F: Fingerprint>(workload: &Workload<F>, what: What) -> String {
    let line = line(workload, what);
    format!("to replay it: {VARIABLE}=\"{line}\" cargo test --test crash replay")
}

fn line<F: Fingerprint>(workload: &Workload<F>, what: What) -> String {
    let Workload { setup, letters, seed, skip, skip_later } = workload;
    let mut line = format!(
        "bits={} layout={} ids={} durability={} block-size={} memtable={} segment={} \
         steps={letters} seed={seed}",
        F::BITS,
        setup.layout,
        setup.ids,
        if setup.durability == Durability::Sync { "sync" } else { "buffered" },
        setup.block_size,
        setup.memtable,
        setup.segment,
    );
    let mut add = |key: &str, value: &dyn Display| line += &format!(" {key}={value}");
    for (key, label) in [("skip", skip), ("skip-later", skip_later)] {
        if let Some(label) = label {
            add(key, &label.replace(' ', "+"));
        }
    }
    match what {
        What::Crash(Place { at, state, limits, second }) => {
            add("limits", &format_args!("{},{}", limits.exhaustive, limits.samples));
            add("crash", &format_args!("{at},{state}"));
            if let Some((at, state)) = second {
                add("second", &format_args!("{at},{state}"));
            }
        }
        What::Fault(Case { call, fault, persistent }) => {
            add("fault", &format_args!("{fault:?},{call},{persistent}"));
        }
    }
    line
}

/// The words of a line, each `KEY=VALUE`.
struct Words<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        Self(line.split_whitespace().filter_map(|word| word.split_once('=')).collect())
    }

    fn get<T: FromStr>(&self, key: &str) -> Verdict<T> {
        let value = self.0.get(key).ok_or_else(|| format!("{key} is missing"))?;
        value.parse().map_err(|_| format!("{key}={value} is not valid"))
    }

    fn pair(&self, key: &str) -> Verdict<Option<(usize, usize)>> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        let pair =
            value.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        pair.map(Some).ok_or_else(|| format!("{key}={value} is not valid"))
    }

    fn workload<F: Fingerprint>(&self) -> Verdict<Workload<F>> {
        const LAYOUTS: [&str; 3] = ["half-2", "single", BANDS];
        let layout = self.get::<String>("layout")?;
        let layout = LAYOUTS.into_iter().find(|name| *name == layout).ok_or("unknown layout")?;
        const IDS: [Ids; 3] = [Ids::User, Ids::Unique, Ids::Names];
        let ids = self.get::<String>("ids")?;
        let ids = IDS.into_iter().find(|known| known.to_string() == ids).ok_or("unknown ids")?;
        let is_sync = self.get::<String>("durability")? == "sync";
        let durability = if is_sync { Durability::Sync } else { Durability::Buffered };
        let (memtable, block_size) = (self.get("memtable")?, self.get("block-size")?);
        let setup = Setup::new(layout, ids, durability).memtable(memtable).block_size(block_size);
        let setup = setup.segment(self.get("segment")?);
        let workload = Workload::new(setup, &self.get::<String>("steps")?, self.get("seed")?);
        let label = |key| self.0.get(key).map(|label| label.replace('+', " "));
        Ok(Workload { skip: label("skip"), skip_later: label("skip-later"), ..workload })
    }

    fn what(&self, seed: u64) -> Verdict<What> {
        if let Some(text) = self.0.get("fault") {
            return fault(text).map(What::Fault);
        }
        let (exhaustive, samples) = self.pair("limits")?.ok_or("limits is missing")?;
        let limits = CrashLimits { exhaustive, samples, seed, ..CrashLimits::default() };
        let (at, state) = self.pair("crash")?.ok_or("crash is missing")?;
        Ok(What::Crash(Place { at, state, limits, second: self.pair("second")? }))
    }

    fn run<F: Fingerprint>(&self) -> Verdict {
        let workload = self.workload::<F>()?;
        match self.what(workload.seed)? {
            What::Crash(place) => revisit(&workload, place).map(drop),
            What::Fault(case) => case.run(&workload).map(drop),
        }
    }
}

fn fault(text: &str) -> Verdict<Case> {
    let invalid = || format!("fault={text} is not valid");
    let [fault, call, persistent] =
        text.split(',').collect::<Vec<_>>().try_into().map_err(|_| invalid())?;
    let fault = Case::FAULTS.into_iter().find(|known| format!("{known:?}") == fault);
    Ok(Case {
        call: call.parse().map_err(|_| invalid())?,
        fault: fault.ok_or_else(invalid)?,
        persistent: persistent.parse().map_err(|_| invalid())?,
    })
}

/// Checks the state that the line describes.
fn replay(line: &str) -> Verdict {
    let words = Words::new(line);
    match words.get("bits")? {
        u64::BITS => words.run::<u64>(),
        u128::BITS => words.run::<u128>(),
        Sketch::BITS => words.run::<Sketch>(),
        bits => Err(format!("bits={bits} is not valid")),
    }
}

/// Not a test by itself: it checks the state that a failed test has printed.
#[test]
fn state_of_the_environment_variable() {
    if let Ok(line) = std::env::var(VARIABLE) {
        replay(&line).unwrap_or_else(|violation| panic!("{violation}"));
        println!("no violation");
    }
}

/// Returns the line in the text of a violation.
fn printed(violation: &str) -> &str {
    let (_, rest) = violation.split_once(&format!("{VARIABLE}=\"")).expect("a command");
    rest.split_once('"').expect("a closing quote").0
}

#[test]
fn planted_failure_is_replayed_exactly() {
    for skip in ["sync MANIFEST.tmp", "sync_dir", "sync 0"] {
        let mut workload = Workload::new(BUFFERED, "inbrfx", 3);
        workload.skip = Some(skip.to_owned());
        let violation = explore(&workload, 2000).unwrap_err();
        let line = printed(&violation);
        assert_eq!(replay(line).unwrap_err(), violation);
    }
}

#[test]
fn planted_failure_after_a_second_crash_is_replayed_exactly() {
    for setup in [USER, NAMES] {
        let mut workload = Workload::new(setup, "inbrfx", 3);
        workload.skip_later = Some("sync MANIFEST.tmp".to_owned());
        let violation = explore(&workload, 2000).unwrap_err();
        let line = printed(&violation);
        assert!(line.contains("second="), "{line}");
        assert_eq!(replay(line).unwrap_err(), violation);
    }
}

fn expect_described<F: Fingerprint>(mut workload: Workload<F>) {
    let limits = CrashLimits { exhaustive: 64, samples: 8, seed: 9, ..CrashLimits::default() };
    let place = Place { at: 12, state: 3, limits, second: Some((4, 0)) };
    let case = Case { call: 7, fault: Fault::Quota, persistent: true };
    workload.skip = Some("sync_dir".to_owned());
    workload.skip_later = Some("sync 00000001.log".to_owned());
    for what in [What::Crash(place), What::Fault(case)] {
        let line = line(&workload, what);
        let words = Words::new(&line);
        assert_eq!(words.get::<u32>("bits").unwrap(), F::BITS);
        assert_eq!((words.workload().unwrap(), words.what(9).unwrap()), (workload.clone(), what));
    }
}

#[test]
fn line_describes_a_workload_completely() {
    expect_described(Workload::new(WIDE.block_size(1024).memtable(9), "", 9));
    expect_described(Workload::new(SKETCHES.segment(7), "inQ", 9));
}
