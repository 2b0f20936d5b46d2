//! Verdicts on fingerprints: what is wrong, and what to do about it.

use serde::Serialize;

use super::bits::{self, PairStatistics};
use super::survey::Surveyed;

/// The least number of distinct fingerprints for a verdict on bits. With fewer, chance would look
/// like a fault.
const FEW: u64 = 256;
/// The least number of distinct fingerprints for a verdict on prefixes.
const FEW_FOR_PREFIXES: u64 = 4096;
/// The share of fingerprints with equal halves from which one half counts as a copy.
const COPIED_HALF: f64 = 0.99;
/// The correlation from which a bit counts as a copy of another.
const COPY: f64 = 0.99;
/// It is a fault if one bit in this many is dead or a copy.
const LOST_PART: usize = 8;
/// The shares of ones below and above which a bit is biased.
pub(super) const BIASED: (f64, f64) = (0.25, 0.75);
/// The correlation from which two bits count as correlated.
const CORRELATED: f64 = 0.5;
/// The share and the number of entries from which a fingerprint is hot.
const HOT_SHARE: f64 = 0.01;
const HOT_ENTRIES: u64 = 100;
/// The skew of prefixes from which queries are slower.
const SKEWED: f64 = 4.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// Answers or speed suffer.
    Warning,
    /// The fingerprints are worth much less than their width.
    Fault,
}

#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) level: Level,
    /// The name of the check, for programs.
    pub(super) check: &'static str,
    pub(super) finding: String,
    /// What to do, if anything.
    pub(super) advice: &'static str,
}

const REBUILD: &str =
    "make the fingerprints again with a hash of full width, or with a recipe of fpdb";
const REMOVE_COMMON: &str = "remove what the documents have in common, such as a template";

/// Returns all verdicts, or one that says that nothing is wrong.
pub(super) fn judge<F>(found: &Surveyed<F>, statistics: Option<&PairStatistics>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    if found.distinct < FEW {
        let finding = format!("{} distinct fingerprints are too few to judge bits", found.distinct);
        verdicts.push(Verdict { level: Level::Ok, check: "bits", finding, advice: "" });
    } else {
        let half_lost = dead_half(found).or_else(|| copied_half(found));
        let bits = match half_lost {
            // It follows that bits are dead or copies.
            Some(verdict) => vec![Some(verdict)],
            None => {
                vec![dead_bits(found), statistics.and_then(|s| copied_bits(s, found.ones.len()))]
            }
        };
        verdicts.extend(bits.into_iter().flatten());
        verdicts.extend(biased_bits(found));
        verdicts.extend(statistics.and_then(correlated_bits));
    }
    verdicts.extend(hot_fingerprint(found));
    // Dead and copied bits make prefixes frequent, so a fault explains that.
    if verdicts.iter().all(|verdict| verdict.level != Level::Fault) {
        verdicts.extend(hot_prefixes(found));
    }
    if verdicts.is_empty() {
        let finding = "nothing wrong found".to_owned();
        verdicts.push(Verdict { level: Level::Ok, check: "all", finding, advice: "" });
    }
    verdicts
}

/// Returns the bits that are the same in all fingerprints.
pub(super) fn dead<F>(found: &Surveyed<F>) -> Vec<usize> {
    let is_dead = |&bit: &usize| found.ones[bit] == 0 || found.ones[bit] == found.distinct;
    (0..found.ones.len()).filter(is_dead).collect()
}

fn dead_half<F>(found: &Surveyed<F>) -> Option<Verdict> {
    let half = found.ones.len() / 2;
    let dead = dead(found);
    let lower = dead.iter().filter(|&&bit| bit < half).count() == half;
    let upper = dead.iter().filter(|&&bit| bit >= half).count() == half;
    let which = match (lower, upper) {
        (false, false) => return None,
        (true, false) => "lower",
        _ => "upper",
    };
    let finding = format!("the {which} {half} bits are the same in all fingerprints");
    Some(Verdict { level: Level::Fault, check: "dead_half", finding, advice: REBUILD })
}

fn copied_half<F>(found: &Surveyed<F>) -> Option<Verdict> {
    let most = found.distinct as f64 * COPIED_HALF;
    let what = if found.equal_halves as f64 >= most {
        "a copy"
    } else if found.opposite_halves as f64 >= most {
        "the opposite"
    } else {
        return None;
    };
    let half = found.ones.len() / 2;
    let finding = format!(
        "the lower {half} bits are {what} of the upper {half}, so every differing bit counts twice"
    );
    Some(Verdict { level: Level::Fault, check: "copied_half", finding, advice: REBUILD })
}

fn lost(bits: usize, of: usize) -> Level {
    if bits * LOST_PART >= of { Level::Fault } else { Level::Warning }
}

fn dead_bits<F>(found: &Surveyed<F>) -> Option<Verdict> {
    let dead = dead(found);
    let (count, width) = (dead.len(), found.ones.len());
    let finding = format!("{count} of {width} bits are the same in all fingerprints");
    (count > 0).then_some(Verdict {
        level: lost(count, width),
        check: "dead_bits",
        finding,
        advice: REBUILD,
    })
}

fn copied_bits(statistics: &PairStatistics, width: usize) -> Option<Verdict> {
    let copies = bits::copies(&statistics.pairs, COPY);
    let finding = format!("{copies} of {width} bits are copies or opposites of others");
    (copies > 0).then_some(Verdict {
        level: lost(copies, width),
        check: "copied_bits",
        finding,
        advice: REBUILD,
    })
}

fn biased_bits<F>(found: &Surveyed<F>) -> Option<Verdict> {
    let dead = dead(found);
    let n = found.distinct as f64;
    let biased = (0..found.ones.len()).filter(|bit| !dead.contains(bit)).filter(|&bit| {
        let share = found.ones[bit] as f64 / n;
        !(BIASED.0..=BIASED.1).contains(&share)
    });
    let count = biased.count();
    let finding = format!(
        "{count} of {} bits are set in less than a quarter or more than three quarters of the \
         fingerprints",
        found.ones.len()
    );
    (count > 0).then_some(Verdict {
        level: Level::Warning,
        check: "biased_bits",
        finding,
        advice: REMOVE_COMMON,
    })
}

fn correlated_bits(statistics: &PairStatistics) -> Option<Verdict> {
    let correlated = statistics.pairs.iter().filter(|p| (CORRELATED..COPY).contains(&p.phi.abs()));
    let count = correlated.count();
    let finding = format!("{count} pairs of bits have a correlation of {CORRELATED} or more");
    (count > 0).then_some(Verdict {
        level: Level::Warning,
        check: "correlated_bits",
        finding,
        advice: REMOVE_COMMON,
    })
}

fn hot_fingerprint<F>(found: &Surveyed<F>) -> Option<Verdict> {
    let count = found.hot_fingerprints.first()?.count;
    let share = count as f64 / found.entries as f64;
    let finding = format!("{:.1} % of the entries have the same fingerprint", share * 100.0);
    let advice = "look at an example: leave out empty, error and login pages";
    (count >= HOT_ENTRIES && share >= HOT_SHARE).then_some(Verdict {
        level: Level::Warning,
        check: "hot_fingerprint",
        finding,
        advice,
    })
}

fn hot_prefixes<F>(found: &Surveyed<F>) -> Option<Verdict> {
    let skew =
        found.prefix_skew.filter(|&skew| skew >= SKEWED && found.distinct >= FEW_FOR_PREFIXES)?;
    let finding = format!(
        "two fingerprints share their 16 leading bits {skew:.1} times as often as random ones do, so queries check more candidates"
    );
    Some(Verdict { level: Level::Warning, check: "prefix_skew", finding, advice: REMOVE_COMMON })
}
