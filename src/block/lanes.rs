//! Decoding several Huffman blocks side by side.
//!
//! The start of a codeword is known only when the one before is decoded, so within a block the
//! processor mostly waits. Blocks do not depend on each other: each is a lane of its own, and all
//! lanes take a step before any of them takes the next.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::huffman::{COUNT_LEN, decode};
use super::packed::{Coding, Job, Packed, other_code};
use crate::codec::huffman::Decoder;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Number of lanes: enough to keep the processor busy, few enough for its registers.
const LANES: usize = 4;

/// Steps that the lanes take between checks of which lanes are done. A shorter stride wastes fewer
/// steps; a longer one branches less.
const STRIDE: u32 = 6;

/// A block being decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane<'a, F> {
    /// The file that the block is in.
    bytes: &'a [u8],
    code: &'a Decoder,
    /// In bits from the start of the file.
    position: usize,
    current: F,
    /// Fingerprints that are left, including `current`.
    left: u32,
}

impl<'a, F: Fingerprint> Lane<'a, F> {
    /// Creates a lane at the block's first fingerprint.
    #[inline(always)]
    pub(super) fn open(block: &Packed<'a>) -> Result<Self> {
        let Packed { bytes, start, coding, .. } = *block;
        let Coding::Huffman(code) = coding else { return Err(other_code()) };
        let head = bytes.get(start..).unwrap_or_default();
        let count = head.first_chunk().map_or(0, |count| u16::from_le_bytes(*count));
        let first = head.get(COUNT_LEN..).and_then(F::read_le);
        let (1.., Some(current)) = (count, first) else {
            return Err(Error::corruption("the block has no fingerprints").at_offset(start as u64));
        };
        let position = (start + COUNT_LEN + F::BYTES) * 8;
        Ok(Self { bytes, code: code.decoder(), position, current, left: count.into() })
    }

    /// Returns the number of fingerprints that are left.
    pub(super) fn len(&self) -> usize {
        self.left as usize
    }

    /// Returns how many fingerprints a search up to `high` decodes.
    pub(super) fn count_candidates(mut self, high: F) -> usize {
        let mut steps = 1;
        while steps < self.len() && self.current <= high {
            steps += 1;
            self.step();
        }
        steps.next_multiple_of(STRIDE as usize).min(self.len())
    }

    /// Advances to the next fingerprint.
    fn step(&mut self) {
        (self.position, self.current) = decode(self.bytes, self.code, self.position, self.current);
    }

    /// Returns the place of a fingerprint, if the block holds it.
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

/// A lane of a search and what it searches for.
#[derive(Debug, Clone, Copy)]
struct SearchLane<'a, F, T> {
    lane: Lane<'a, F>,
    query: F,
    low: F,
    high: F,
    tag: T,
}

impl<'a, F: Fingerprint, T> SearchLane<'a, F, T> {
    #[inline(always)]
    fn open(job: Job<'a, F, T>) -> Result<Self> {
        let Job { block, query, low, high, tag } = job;
        Ok(Self { lane: Lane::open(&block)?, query, low, high, tag })
    }
}

/// Does what [`search`](super::search) does.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "lanes are numbered below LANES")]
pub(super) fn search<'a, F: Fingerprint, T: Copy>(
    mut next: impl FnMut() -> Result<Option<Job<'a, F, T>>>,
    distance: u32,
    mut found: impl FnMut(T, F),
) -> Result<()> {
    let Some(first) = next()? else { return Ok(()) };
    let first = SearchLane::open(first)?;
    // A lane that is done keeps decoding useless bytes until it gets another block or all lanes are
    // done.
    let done = SearchLane { lane: Lane { left: 0, ..first.lane }, ..first };
    let mut running = [first, done, done, done];
    let mut near = Vec::new();
    loop {
        let mut busy = 0;
        for job in &mut running {
            if job.lane.left == 0 {
                *job = next()?.map(SearchLane::open).transpose()?.unwrap_or(done);
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
            // What a lane decodes after the end of its block is meaningless.
            let SearchLane { lane, low, high, tag, .. } = running[lane];
            if step < lane.left && (low..=high).contains(&fingerprint) {
                found(tag, fingerprint);
            }
        }
        for SearchLane { lane, high, .. } in &mut running {
            lane.left = if lane.current > *high { 0 } else { lane.left.saturating_sub(STRIDE) };
        }
    }
}

/// Pushes to a vector, outside of the hot loop because matches are rare.
#[cold]
#[inline(never)]
fn push<T>(all: &mut Vec<T>, one: T) {
    all.push(one);
}

/// Visits every fingerprint of these blocks, in no particular order.
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

/// Fingerprints that each lane decodes before they are copied to the output.
const ROW: usize = 64;

/// Appends all fingerprints of these blocks to `out`, block after block.
///
/// A lane that is done before the others keeps decoding useless bytes. That costs less than
/// continuing with fewer lanes or checking after each step which lanes are done.
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

/// Decodes all lanes to the ends of their blocks.
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

/// Takes `steps` steps: in each, every lane in turn passes its current fingerprint to `visit` and
/// advances.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "all arrays have N items")]
fn run<F: Fingerprint, const N: usize>(
    lanes: [&mut Lane<'_, F>; N],
    steps: u32,
    mut visit: impl FnMut(usize, u32, F),
) {
    // Copied so that they stay in registers.
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
