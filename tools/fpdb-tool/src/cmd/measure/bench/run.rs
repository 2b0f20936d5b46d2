//! Runs operations in several threads and times each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use fpdb::Fingerprint;

use super::latency::Latencies;
use super::mix::{Kind, Mix};
use super::target::Target;
use crate::cmd::measure::generate::Random;

/// What all threads do, together.
pub(super) struct Work<'a, F: Fingerprint> {
    pub(super) target: &'a Target<F>,
    pub(super) mix: Mix,
    /// The fingerprints that hits are made from; not empty if the mix has hits.
    pub(super) sample: &'a [F],
    /// The distance of the queries.
    pub(super) distance: u32,
    pub(super) threads: u64,
    pub(super) seed: u64,
    /// The number of operations in all threads.
    pub(super) operations: u64,
    /// The time after which threads stop, even if operations are left.
    pub(super) limit: Option<Duration>,
}

/// The outcome of the work.
pub(super) struct Done {
    /// The latencies of each kind, in the order of [`Kind::ALL`].
    pub(super) kinds: Vec<Latencies>,
    pub(super) elapsed: Duration,
    /// The time for which threads were ready to run without a core, added up over the threads;
    /// `None` where the system does not report it.
    pub(super) waited: Option<Duration>,
}

impl<F: Fingerprint> Work<'_, F> {
    pub(super) fn run(&self) -> Result<Done> {
        let stop = AtomicBool::new(false);
        let mut kinds = no_latencies()?;
        let mut waits = Some(Duration::ZERO);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let stop = &stop;
                    scope.spawn(move || {
                        let before = waited();
                        let done = self.thread(thread, start, stop);
                        if done.is_err() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        done.map(|kinds| (kinds, waited().zip(before).map(|(a, b)| a - b)))
                    })
                })
                .collect();
            for thread in threads {
                let done = thread.join().map_err(|_| anyhow!("a thread of the bench panicked"));
                let (own_kinds, own_wait) = done??;
                kinds.iter_mut().zip(&own_kinds).for_each(|(all, own)| all.add(own));
                waits = waits.zip(own_wait).map(|(all, own)| all + own);
            }
            anyhow::Ok(())
        })?;
        Ok(Done { kinds, elapsed: start.elapsed(), waited: waits })
    }

    /// Runs the operations of one thread. Each is chosen before its clock starts.
    fn thread(&self, thread: u64, start: Instant, stop: &AtomicBool) -> Result<Vec<Latencies>> {
        let mut kinds = no_latencies()?;
        let mut random = Random::new(Random::new(self.seed ^ thread << 32).next());
        let share = self.operations / self.threads;
        let operations = share + u64::from(thread < self.operations % self.threads);
        for operation in 0..operations {
            let kind = self.mix.draw(&mut random);
            let fingerprint = self.fingerprint(kind, &mut random);
            let before = Instant::now();
            let matches = match kind {
                Kind::Hit | Kind::Miss => self.target.query(fingerprint, self.distance)?,
                Kind::Insert => {
                    self.target.insert(fingerprint, self.seed, thread << 40 | operation)?;
                    0
                }
            };
            let after = Instant::now();
            kinds[kind as usize].record(after - before, matches);
            let over = self.limit.is_some_and(|limit| after - start >= limit);
            if over || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(kinds)
    }

    fn fingerprint(&self, kind: Kind, random: &mut Random) -> F {
        match kind {
            Kind::Miss | Kind::Insert => random.fingerprint(),
            Kind::Hit => {
                let drawn = random.below(self.sample.len() as u64);
                let entry = self.sample[usize::try_from(drawn).unwrap_or(0)];
                let flips = random.below(u64::from(self.distance) + 1);
                random.flip(entry, u32::try_from(flips).unwrap_or(0))
            }
        }
    }
}

fn no_latencies() -> Result<Vec<Latencies>> {
    Kind::ALL.iter().map(|_| Ok(Latencies::new()?)).collect()
}

/// Returns the time for which this thread has been ready to run without a core, if the system
/// reports it, as Linux does.
fn waited() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Returns the nanoseconds that reading the clock twice takes: the median of many trials.
pub(super) fn clock() -> u64 {
    let mut trials: Vec<Duration> = (0..1001).map(|_| Instant::now().elapsed()).collect();
    trials.sort_unstable();
    u64::try_from(trials[trials.len() / 2].as_nanos()).unwrap_or(u64::MAX)
}
