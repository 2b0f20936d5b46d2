//! Several blocks at a time.
//!
//! Where a codeword begins is known only when the one before is decoded, so within a block the
//! processor mostly waits. Between blocks it need not: each is a lane of its own, and all lanes
//! take a step before any takes the next.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::huffman::{COUNT_LEN, decode};
use super::packed::{Coding, Job, Packed, other_code};
use crate::codec::huffman::Decoder;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Lanes that run at a time: enough to keep the processor busy, few enough for its registers.
const LANES: usize = 4;

/// Steps that lanes take before it is seen which of them are done. The shorter, the less is decoded
/// in vain; the longer, the less is decided.
const STRIDE: u32 = 6;

/// A block being decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane<'a, F> {
    /// The file that the block is in.
    bytes: &'a [u8],
    code: &'a Decoder,
    /// In bits from the file's beginning.
    position: usize,
    current: F,
    /// Fingerprints from `current` on.
    left: u32,
}

impl<'a, F: Fingerprint> Lane<'a, F> {
    /// Stands at the block's first fingerprint.
    #[inline(always)]
    pub(super) fn open(block: &Packed<'a>) -> Result<Self> {
        let Packed { bytes, start, coding, .. } = *block;
        let Coding::Huffman(code) = coding else { return Err(other_code()) };
        let head = bytes.get(start..).unwrap_or_default();
        let count = head.first_chunk().map_or(0, |count| u16::from_le_bytes(*count));
        let first = head.get(COUNT_LEN..).and_then(F::read_le);
        let (1.., Some(current)) = (count, first) else {
            return Err(Error::corruption("empty block").at_offset(start as u64));
        };
        let position = (start + COUNT_LEN + F::BYTES) * 8;
        Ok(Self { bytes, code: code.decoder(), position, current, left: count.into() })
    }

    /// Number of fingerprints.
    pub(super) fn len(&self) -> usize {
        self.left as usize
    }

    /// How many fingerprints a search decodes that looks for those up to `high`.
    pub(super) fn count_candidates(mut self, high: F) -> usize {
        let mut steps = 1;
        while steps < self.len() && self.current <= high {
            steps += 1;
            self.step();
        }
        steps.next_multiple_of(STRIDE as usize).min(self.len())
    }

    fn step(&mut self) {
        (self.position, self.current) = decode(self.bytes, self.code, self.position, self.current);
    }

    /// The place of a fingerprint, if the block has it.
    pub(super) fn place(mut self, fingerprint: F) -> Option<usize> {
        let mut place = 0;
        while self.current < fingerprint {
            place += 1;
            if place == self.len() {
                return None;
            }
            self.step();
        }
        (self.current == fingerprint).then_some(place)
    }
}

/// A lane of a search.
#[derive(Debug, Clone, Copy)]
struct Running<'a, F, T> {
    lane: Lane<'a, F>,
    query: F,
    low: F,
    high: F,
    tag: T,
}

impl<'a, F: Fingerprint, T> Running<'a, F, T> {
    #[inline(always)]
    fn open(job: Job<'a, F, T>) -> Result<Self> {
        let Job { block, query, low, high, tag } = job;
        Ok(Self { lane: Lane::open(&block)?, query, low, high, tag })
    }
}

/// As [`search`](super::search).
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "lanes are numbered below LANES")]
pub(super) fn search<'a, F: Fingerprint, T: Copy>(
    mut next: impl FnMut() -> Result<Option<Job<'a, F, T>>>,
    distance: u32,
    mut found: impl FnMut(T, F),
) -> Result<()> {
    let Some(first) = next()? else { return Ok(()) };
    let first = Running::open(first)?;
    // What is done runs on for nothing until there is another, or all are.
    let done = Running { lane: Lane { left: 0, ..first.lane }, ..first };
    let mut running = [first, done, done, done];
    let mut near = Vec::new();
    loop {
        let mut busy = 0;
        for job in &mut running {
            if job.lane.left == 0 {
                *job = next()?.map(Running::open).transpose()?.unwrap_or(done);
            }
            busy |= job.lane.left;
        }
        if busy == 0 {
            return Ok(());
        }
        let queries = running.map(|job| job.query);
        run(running.each_mut().map(|job| &mut job.lane), STRIDE, |lane, step, f| {
            if f.distance(queries[lane]) <= distance {
                push(&mut near, (lane, step, f));
            }
        });
        for (lane, step, fingerprint) in near.drain(..) {
            // Behind a block's end a lane reads what counts for nothing.
            let Running { lane, low, high, tag, .. } = running[lane];
            if step < lane.left && (low..=high).contains(&fingerprint) {
                found(tag, fingerprint);
            }
        }
        for Running { lane, high, .. } in &mut running {
            lane.left = if lane.current > *high { 0 } else { lane.left.saturating_sub(STRIDE) };
        }
    }
}

/// Rarely called: out of the way of the loop.
#[cold]
#[inline(never)]
fn push<T>(all: &mut Vec<T>, one: T) {
    all.push(one);
}

/// Visits every fingerprint of these blocks, in no order.
#[inline(always)]
pub(super) fn visit_all<'a, F: Fingerprint>(
    mut lanes: impl Iterator<Item = Result<Lane<'a, F>>>,
    mut visit: impl FnMut(F),
) -> Result<()> {
    let mut running: Vec<Lane<'a, F>> = Vec::with_capacity(LANES);
    loop {
        while running.len() < LANES
            && let Some(lane) = lanes.next()
        {
            running.push(lane?);
        }
        let done = running.len() < LANES;
        if let [a, b, c, d] = running.as_mut_slice() {
            let steps = a.left.min(b.left).min(c.left).min(d.left);
            run([&mut *a, &mut *b, &mut *c, &mut *d], steps, |_, _, f| visit(f));
            for lane in [a, b, c, d] {
                lane.left -= steps;
            }
        }
        for mut lane in running.drain(..) {
            let steps = lane.left;
            run([&mut lane], steps, |_, _, f| visit(f));
        }
        if done {
            return Ok(());
        }
    }
}

/// Fingerprints of each lane that are decoded before they are put in order.
const ROW: usize = 64;

/// Appends all fingerprints of these blocks to `out`, block after block.
///
/// A lane that is done before the others runs on for nothing: that costs less than to go on with
/// fewer lanes, or to see after each step which are done.
#[inline(always)]
pub(super) fn decode_all<'a, F: Fingerprint>(
    mut lanes: impl Iterator<Item = Result<Lane<'a, F>>>,
    out: &mut Vec<F>,
) -> Result<()> {
    let mut rows = [[F::ZERO; ROW]; LANES];
    while let Some(first) = lanes.next().transpose()? {
        let mut running = [
            first,
            Lane { left: 0, ..first },
            Lane { left: 0, ..first },
            Lane { left: 0, ..first },
        ];
        for (lane, next) in running.iter_mut().skip(1).zip(&mut lanes) {
            *lane = next?;
        }
        take_rows(&mut running, &mut rows, out);
    }
    Ok(())
}

/// Decodes these blocks to their ends.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "lanes and steps are numbered below LANES and ROW")]
fn take_rows<F: Fingerprint>(
    running: &mut [Lane<'_, F>; LANES],
    rows: &mut [[F; ROW]; LANES],
    out: &mut Vec<F>,
) {
    let lefts = running.map(|lane| lane.left as usize);
    let starts = lefts.map(|left| {
        let start = out.len();
        out.resize(start + left, F::ZERO);
        start
    });
    let most = lefts.into_iter().max().unwrap_or(0);
    for done in (0..most).step_by(ROW) {
        let steps = (most - done).min(ROW);
        #[expect(clippy::cast_possible_truncation, reason = "at most ROW")]
        run(running.each_mut(), steps as u32, |lane, step, f| {
            rows[lane][step as usize % ROW] = f;
        });
        for ((row, start), left) in rows.iter().zip(starts).zip(lefts) {
            let to = out.get_mut(start + done.min(left)..start + left).unwrap_or_default();
            to.iter_mut().zip(&row[..steps]).for_each(|(to, &from)| *to = from);
        }
    }
}

/// Each lane in turn visits its current fingerprint and goes to the next, `steps` times.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "all arrays have N places")]
fn run<F: Fingerprint, const N: usize>(
    lanes: [&mut Lane<'_, F>; N],
    steps: u32,
    mut visit: impl FnMut(usize, u32, F),
) {
    // Copies, so that they live in registers.
    let bytes = lanes.each_ref().map(|lane| lane.bytes);
    let codes = lanes.each_ref().map(|lane| lane.code);
    let mut positions = lanes.each_ref().map(|lane| lane.position);
    let mut currents = lanes.each_ref().map(|lane| lane.current);
    for step in 0..steps {
        for i in 0..N {
            visit(i, step, currents[i]);
            (positions[i], currents[i]) = decode(bytes[i], codes[i], positions[i], currents[i]);
        }
    }
    for (i, lane) in lanes.into_iter().enumerate() {
        lane.position = positions[i];
        lane.current = currents[i];
    }
}
