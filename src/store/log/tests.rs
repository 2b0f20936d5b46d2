use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::frame::{COMMIT, FIRST_FRAME, Head, Seal, WATERMARK};
use super::reader::LogContents;
use super::*;
use crate::base::error::{Error, ErrorKind, Result};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::storage::WriteFile;
use crate::fingerprint::{DocId, Document, Word};

/// A file in memory whose appends can fail.
#[derive(Debug, Default)]
struct MemFile {
    bytes: Mutex<Vec<u8>>,
    fails: Mutex<bool>,
}

impl MemFile {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// Makes appends write only a part from now on, as on a full disk.
    fn fail(&self) {
        *self.fails.lock().unwrap() = true;
    }
}

impl WriteFile for MemFile {
    fn check_name(&self) -> Result<()> {
        Ok(())
    }

    fn append(&self, bytes: &[u8]) -> Result<()> {
        if *self.fails.lock().unwrap() {
            self.bytes.lock().unwrap().extend_from_slice(&bytes[..bytes.len() / 2]);
            return Err(Error::new(ErrorKind::Io, "disk full"));
        }
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

const START: Start = Start { previous_log: 6, previous_end: 12_345, last_seq: 40 };

fn header<F: Word>() -> FileHeader {
    let database_id = 0xfeed_0000_0000_0000_0000_0000_0000_beef;
    FileHeader { kind: FileKind::Log, bits: F::BITS, part: 0, file_id: 7, nonce: 8, database_id }
}

fn writer<F: Word>() -> (Arc<MemFile>, LogWriter) {
    let file = MemFile::new();
    let writer = LogWriter::begin(Arc::clone(&file) as _, header::<F>(), START).unwrap();
    (file, writer)
}

/// Appends a commit and writes it.
fn commit<F: Word>(writer: &mut LogWriter, seq: u64, ops: &[Op<F>]) -> u64 {
    let end = writer.append(seq, ops).unwrap();
    writer.write().unwrap();
    end
}

fn read<F: Word>(bytes: &[u8]) -> Result<LogContents<F>> {
    read_log(bytes, Path::new("log"), &header::<F>(), None, ReadMode::Recover)
}

fn read_to<F: Word>(bytes: &[u8], end: u64) -> Result<LogContents<F>> {
    read_log(bytes, Path::new("log"), &header::<F>(), Some(end), ReadMode::Recover)
}

fn follow(bytes: &[u8]) -> LogContents<u64> {
    read_log(bytes, Path::new("log"), &header::<u64>(), None, ReadMode::Follow).unwrap()
}

fn assert_corruption<T: std::fmt::Debug>(result: Result<T>, offset: u64) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!((error.offset(), error.path()), (Some(offset), Some(Path::new("log"))), "{error}");
}

/// Returns a change of a document: each combination of what was before and what is after, and of
/// what is optional.
fn change<F: Word>(i: usize, fingerprint: F, id: DocId) -> DocumentChange<F> {
    let before =
        [Before::Original(fingerprint ^ F::ONE), Before::Absent, Before::Duplicate][i / 3 % 3];
    let stamp = [None, Some(0), Some(u64::MAX)][i / 9 % 3];
    let duplicate_of = [None, Some(DocId(7)), Some(DocId(u64::MAX))][i / 27 % 3];
    let is_removed = before != Before::Absent && i % 2 == 1;
    DocumentChange {
        name: (!(i / 3).is_multiple_of(4)).then(|| format!("https://例子.中国/网页/{i}").into()),
        id,
        before,
        after: (!is_removed).then_some(Document { fingerprint, id, stamp, duplicate_of }),
    }
}

/// Returns operations of every kind, on fingerprints that are near each other.
fn ops<F: Word>(count: usize, seed: u64) -> Vec<Op<F>> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let base = F::from_u128(u128::from(rng.u64(..)) << 64 | u128::from(seed));
    (0..count)
        .map(|i| {
            let bit = rng.u32(..F::BITS);
            let (fingerprint, id) = (base ^ (F::ONE << bit), DocId(rng.u64(..) >> 40));
            match i % 3 {
                0 => Op::Change(change(i, fingerprint, id)),
                1 => Op::Insert { fingerprint, id },
                _ => Op::Remove { fingerprint, id },
            }
        })
        .collect()
}

/// A log, what was committed to it, and where each commit begins and ends.
struct Sample<F> {
    bytes: Vec<u8>,
    commits: Vec<(u64, Vec<Op<F>>)>,
    bounds: Vec<(u64, u64)>,
    durable: u64,
}

/// Makes commits of 0 to 4 operations, with a sync after every third and a watermark after every
/// fourth commit.
fn sample<F: Word>(commits: u64, payload_limit: usize) -> Sample<F> {
    let (file, writer) = writer::<F>();
    let mut writer = writer.with_payload_limit(payload_limit);
    let (mut committed, mut bounds) = (Vec::new(), Vec::new());
    let mut vouched = 0;
    for i in 0..commits {
        let batch = ops::<F>(usize::try_from(i % 5).unwrap(), i);
        let begin = writer.len();
        vouched = writer.durable();
        let end = writer.append(41 + i, &batch).unwrap();
        bounds.push((begin, end));
        committed.push((41 + i, batch));
        if i % 3 == 1 {
            let unwritten = writer.take();
            unwritten.write_and_sync().unwrap();
            writer.set_durable(unwritten.end);
        }
        if i % 4 == 2 {
            vouched = writer.durable();
            writer.append_watermark();
        }
    }
    writer.write().unwrap();
    let bytes = file.bytes();
    assert_eq!(writer.len(), bytes.len() as u64);
    Sample { bytes, commits: committed, bounds, durable: vouched }
}

fn frames(bytes: &[u8]) -> Vec<(Head, std::ops::Range<usize>)> {
    let seal = Seal::new(&header::<u64>());
    let (mut at, mut found) = (FIRST_FRAME, Vec::new());
    while let Some(frame) = seal.open(bytes, at) {
        found.push((frame.head, at..at + frame.len()));
        at += frame.len();
    }
    found
}

fn round_trip<F: Word>(payload_limit: usize) {
    let sample = sample::<F>(20, payload_limit);
    let contents = read::<F>(&sample.bytes).unwrap();
    assert_eq!(contents.start, Some(START));
    assert_eq!(contents.commits, sample.commits);
    assert_eq!(contents.valid_end, sample.bytes.len() as u64);
    assert_eq!(contents.durable, sample.durable);
    assert!(!contents.torn);
}

#[test]
fn commits_round_trip_at_both_widths_in_one_frame_or_many() {
    for payload_limit in [1, 60, 1 << 20] {
        round_trip::<u64>(payload_limit);
        round_trip::<u128>(payload_limit);
    }
}

#[test]
fn new_log_contains_only_its_start() {
    let (file, writer) = writer::<u64>();
    let contents = read::<u64>(&file.bytes()).unwrap();
    assert_eq!((contents.start, contents.commits.len()), (Some(START), 0));
    assert_eq!((contents.valid_end, contents.torn), (FIRST_FRAME as u64, false));
    assert_eq!((writer.len(), writer.durable()), (FIRST_FRAME as u64, FIRST_FRAME as u64));
}

#[test]
fn frames_carry_the_durable_offset_and_the_sequence() {
    let (file, mut writer) = writer::<u64>();
    let first = writer.append(41, &ops::<u64>(2, 1)).unwrap();
    writer.set_durable(first);
    writer.set_durable(first - 1);
    writer.append(42, &ops::<u64>(2, 2)).unwrap();
    writer.append_watermark();
    writer.write().unwrap();
    let heads: Vec<_> = frames(&file.bytes())
        .iter()
        .map(|(head, _)| (head.kind, head.seq, head.count, head.durable))
        .collect();
    let begin = FIRST_FRAME as u64;
    assert_eq!(heads, [(COMMIT, 41, 2, begin), (COMMIT, 42, 2, first), (WATERMARK, 42, 0, first)]);
}

#[test]
fn commit_that_does_not_follow_the_last_is_refused() {
    let (file, mut writer) = writer::<u64>();
    let before = file.bytes();
    for seq in [0, 40, 42] {
        let error = writer.append(seq, &ops::<u64>(1, 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    let name = "字".repeat(MAX_NAME_LEN / 3 + 1);
    let named = |name: String| {
        let name = Some(name.into());
        Op::Change(DocumentChange { name, ..change(0, 1u64, DocId(1)) })
    };
    let long = named(name);
    assert_eq!(writer.append(41, &[long]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(file.bytes(), before);
    let name = "字".repeat(MAX_NAME_LEN / 3);
    let longest = vec![named(name)];
    commit(&mut writer, 41, &longest);
    assert_eq!(read::<u64>(&file.bytes()).unwrap().commits, [(41, longest)]);
}

#[test]
fn commit_that_would_make_the_log_too_long_to_be_read_is_refused() {
    let (file, writer) = writer::<u64>();
    let mut writer = writer.with_commit_limit(3 * 17).with_payload_limit(17);
    let before = writer.len();
    let batch: Vec<_> = (0..4).map(|i| Op::Remove { fingerprint: i, id: DocId(i) }).collect();
    let error = writer.append(41, &batch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(writer.len(), before);
    commit(&mut writer, 41, &batch[1..]);
    assert_eq!(read::<u64>(&file.bytes()).unwrap().commits, [(41, batch[1..].to_vec())]);
}

#[test]
fn failed_write_leaves_a_torn_tail_after_earlier_writes() {
    let (file, mut writer) = writer::<u64>();
    commit(&mut writer, 41, &ops::<u64>(1, 1));
    file.fail();
    writer.append(42, &ops::<u64>(5, 2)).unwrap();
    let error = writer.take().write_and_sync().unwrap_err();
    assert!(error.to_string().contains("disk full"), "{error}");
    let contents = read::<u64>(&file.bytes()).unwrap();
    assert_eq!((contents.commits.len(), contents.torn), (1, true));
}

#[test]
fn every_truncation_leaves_complete_commits_and_reports_the_torn_tail() {
    for payload_limit in [1, 1 << 20] {
        let sample = sample::<u64>(12, payload_limit);
        let frame_ends: Vec<_> = frames(&sample.bytes).iter().map(|(_, at)| at.end).collect();
        for len in 0..sample.bytes.len() {
            let contents = read::<u64>(&sample.bytes[..len]).unwrap();
            let whole = sample.bounds.iter().filter(|(_, end)| *end <= len as u64).count();
            assert_eq!(contents.commits, sample.commits[..whole], "{len}");
            assert_eq!(contents.torn, contents.valid_end != len as u64);
            assert!(contents.durable <= contents.valid_end);
            assert_eq!(contents.start.is_some(), len >= FIRST_FRAME);
            if payload_limit > 1 && len > FIRST_FRAME {
                assert_eq!(contents.torn, !frame_ends.contains(&len), "{len}");
            }
        }
    }
}

#[test]
fn truncation_before_the_known_end_is_corruption() {
    let sample = sample::<u64>(12, 1);
    let end = sample.bytes.len() as u64;
    for len in 0..sample.bytes.len() {
        let error = read_to::<u64>(&sample.bytes[..len], end).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{len}");
    }
}

/// Flips each bit; `known_end` as given to the reader.
fn flip_every_bit<F: Word>(sample: &Sample<F>, known_end: Option<u64>) -> (u32, u32) {
    let (mut damaged, mut torn) = (0, 0);
    let mut bytes = sample.bytes.clone();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let path = Path::new("log");
        match read_log::<F>(&bytes, path, &header::<F>(), known_end, ReadMode::Recover) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "bit {bit}");
                assert!(error.offset().unwrap() <= bit as u64 / 8, "bit {bit}: {error}");
                damaged += 1;
            }
            Ok(contents) => {
                assert!(contents.torn, "bit {bit}");
                assert_eq!(contents.commits, sample.commits[..contents.commits.len()]);
                let acknowledged = sample.bounds.iter().filter(|b| b.1 <= sample.durable).count();
                assert!(contents.commits.len() >= acknowledged, "bit {bit}");
                torn += 1;
            }
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    (damaged, torn)
}

#[test]
fn no_flipped_bit_loses_a_durable_commit_or_changes_an_operation() {
    let whole = sample::<u64>(12, 1 << 20);
    let (damaged, torn) = flip_every_bit(&whole, None);
    assert!(damaged > 0 && torn > 0);
    assert_eq!(damaged, u32::try_from(whole.durable).unwrap() * 8, "all that is vouched for");
    flip_every_bit(&sample::<u64>(9, 30), None);
    flip_every_bit(&sample::<u128>(9, 1 << 20), None);
}

#[test]
fn flipped_bit_before_the_known_end_is_corruption() {
    let sample = sample::<u64>(9, 1 << 20);
    assert_eq!(flip_every_bit(&sample, Some(sample.bytes.len() as u64)).1, 0);
}

#[test]
fn damage_before_a_vouching_frame_is_corruption_at_the_damaged_frame() {
    let (file, mut writer) = writer::<u64>();
    let first = commit(&mut writer, 41, &ops::<u64>(3, 1));
    let second = commit(&mut writer, 42, &ops::<u64>(3, 2));
    let damage = |mut bytes: Vec<u8>| {
        bytes[usize::try_from(first).unwrap() + 30] ^= 1;
        read::<u64>(&bytes)
    };
    writer.set_durable(first);
    commit(&mut writer, 43, &ops::<u64>(3, 3));
    let contents = damage(file.bytes()).unwrap();
    assert_eq!((contents.valid_end, contents.torn), (first, true), "43 does not vouch for 42");
    writer.set_durable(second);
    writer.append_watermark();
    writer.write().unwrap();
    assert_corruption(damage(file.bytes()), first);
}

#[test]
fn zeros_and_garbage_after_the_end_are_a_torn_tail() {
    let sample = sample::<u64>(12, 1 << 20);
    let mut garbage: Vec<Vec<u8>> = [1, 3, 4, 27, 28, 29, 512, 65_536].map(|n| vec![0; n]).into();
    garbage.extend([28, 4096].map(|n| vec![0xff; n]));
    let mut rng = fastrand::Rng::with_seed(9);
    garbage.push((0..1 << 16).map(|_| rng.u8(..)).collect());
    for len in [0u32, 1, 27, 28, 29, 16 << 20, (16 << 20) + 1, u32::MAX] {
        garbage.push([&len.to_le_bytes()[..], &[COMMIT, 0, 1, 0], &[0; 40]].concat());
    }
    for tail in garbage {
        let contents = read::<u64>(&[&sample.bytes[..], &tail].concat()).unwrap();
        assert_eq!(contents.commits, sample.commits);
        assert_eq!((contents.valid_end, contents.torn), (sample.bytes.len() as u64, true));
    }
}

#[test]
fn frame_longer_than_the_limit_is_not_accepted() {
    let payload = vec![0; (16 << 20) - 28 + 1];
    let head = Head { len: 0, kind: COMMIT, flags: 0, count: 0, seq: 43, durable: 0 };
    let longest = forged(head, &payload[1..]).0.unwrap_err();
    assert!(longest.to_string().contains("too many"), "within the limit it is looked into");
    let contents = forged(head, &payload).0.unwrap();
    assert_eq!((contents.commits.len(), contents.torn), (2, true));
}

#[test]
fn log_must_begin_with_its_start() {
    let seal = Seal::new(&header::<u64>());
    for (kind, payload_len) in [(1, 16), (COMMIT, 16), (1, 15), (1, 17)] {
        let mut bytes = header::<u64>().encode();
        let head = Head { len: 0, kind, flags: 0, count: 0, seq: 40, durable: 0 };
        seal.write(head, 64, |out| out.resize(out.len() + payload_len, 0), &mut bytes);
        bytes.extend_from_slice(&[0; 40]);
        assert_eq!(read::<u64>(&bytes).is_ok(), (kind, payload_len) == (1, 16), "{kind}");
    }
}

#[test]
fn unfinished_commit_is_dropped_and_not_durable() {
    let (file, writer) = writer::<u64>();
    let begin = writer.len();
    let seal = Seal::new(&header::<u64>());
    let mut bytes = file.bytes();
    let more = Head { len: 0, kind: COMMIT, flags: 1, count: 0, seq: 41, durable: begin };
    seal.write(more, begin, |_| {}, &mut bytes);
    let at = bytes.len() as u64;
    seal.write(Head { durable: at, ..more }, at, |_| {}, &mut bytes);
    let contents = read::<u64>(&bytes).unwrap();
    assert_eq!((contents.commits.len(), contents.torn), (0, true));
    assert_eq!((contents.valid_end, contents.durable), (begin, begin));
    let at = bytes.len() as u64;
    let watermark = Head { kind: WATERMARK, flags: 0, seq: 40, ..more };
    seal.write(watermark, at, |_| {}, &mut bytes);
    assert_corruption(read::<u64>(&bytes), at);
}

#[test]
fn frames_are_filled_up_to_the_limit() {
    let batch: Vec<_> = (0..5).map(|i| Op::Remove { fingerprint: i, id: DocId(i) }).collect();
    for (limit, expected) in [(33, vec![1; 5]), (34, vec![2, 2, 1]), (85, vec![5])] {
        let (file, writer) = writer::<u64>();
        commit(&mut writer.with_payload_limit(limit), 41, &batch);
        let counts: Vec<_> = frames(&file.bytes()).iter().map(|(head, _)| head.count).collect();
        assert_eq!(counts, expected);
    }
}

#[test]
fn frames_of_another_place_or_file_are_not_accepted() {
    let sample = sample::<u64>(12, 1 << 20);
    for (head, range) in frames(&sample.bytes) {
        let tail = [&sample.bytes[..], &sample.bytes[range]].concat();
        let contents = read::<u64>(&tail).unwrap();
        assert_eq!((contents.commits.len(), contents.torn), (12, true), "{head:?}");
    }
    // The same offset of another log and of another database, with the number that would fit.
    let at = sample.bytes.len() as u64;
    let head = Head { len: 0, kind: WATERMARK, flags: 0, count: 0, seq: 52, durable: at };
    let followed_by_frame_of = |header: FileHeader| {
        let mut bytes = sample.bytes.clone();
        Seal::new(&header).write(head, at, |_| {}, &mut bytes);
        read::<u64>(&bytes).unwrap()
    };
    assert!(!followed_by_frame_of(header::<u64>()).torn);
    assert!(followed_by_frame_of(FileHeader { file_id: 8, ..header::<u64>() }).torn);
    assert!(followed_by_frame_of(FileHeader { database_id: 8, ..header::<u64>() }).torn);
}

#[test]
fn commit_split_over_many_frames_is_all_or_nothing() {
    let (file, writer) = writer::<u64>();
    let mut writer = writer.with_payload_limit(200);
    let begin = usize::try_from(writer.len()).unwrap();
    commit(&mut writer, 41, &ops::<u64>(300, 5));
    let bytes = file.bytes();
    assert!(frames(&bytes).len() > 30);
    for len in begin..bytes.len() {
        let contents = read::<u64>(&bytes[..len]).unwrap();
        assert!(contents.commits.is_empty());
        assert_eq!((contents.valid_end, contents.torn), (begin as u64, len > begin));
    }
    assert_eq!(read::<u64>(&bytes).unwrap().commits, [(41, ops::<u64>(300, 5))]);
}

#[test]
fn more_operations_than_a_frame_can_count_are_split() {
    let batch: Vec<_> =
        (0..70_000).map(|i| Op::Insert { fingerprint: i ^ 7, id: DocId(i) }).collect();
    let (file, writer) = writer::<u64>();
    let mut writer = writer.with_payload_limit(usize::MAX);
    commit(&mut writer, 41, &batch);
    let counts: Vec<_> = frames(&file.bytes()).iter().map(|(head, _)| head.count).collect();
    assert_eq!(counts, [65_535, 4_465]);
    assert_eq!(read::<u64>(&file.bytes()).unwrap().commits, [(41, batch)]);
}

#[test]
fn what_follows_the_known_end_is_ignored() {
    let sample = sample::<u64>(12, 1 << 20);
    for (i, &(_, end)) in sample.bounds.iter().enumerate() {
        let contents = read_to::<u64>(&sample.bytes, end).unwrap();
        assert_eq!(contents.commits, sample.commits[..=i]);
        assert_eq!((contents.valid_end, contents.durable, contents.torn), (end, end, false));
        assert_corruption(read_to::<u64>(&sample.bytes, end - 1), sample.bounds[i].0);
    }
}

#[test]
fn log_that_was_never_synced_is_empty_unless_its_end_is_known() {
    let (file, _) = writer::<u64>();
    for len in 0..FIRST_FRAME {
        let bytes = &file.bytes()[..len];
        let contents = read::<u64>(bytes).unwrap();
        assert_eq!((contents.start, contents.valid_end, contents.torn), (None, 0, len > 0));
        assert!(read_to::<u64>(bytes, 0).is_ok());
        assert_corruption(read_to::<u64>(bytes, FIRST_FRAME as u64), 0);
    }
}

#[test]
fn follower_sees_only_durable_commits() {
    let (file, mut writer) = writer::<u64>();
    let first = commit(&mut writer, 41, &ops::<u64>(3, 1));
    assert_eq!(follow(&file.bytes()).commits.len(), 0);
    writer.set_durable(first);
    let second = commit(&mut writer, 42, &ops::<u64>(3, 2));
    assert_eq!(follow(&file.bytes()).commits, [(41, ops::<u64>(3, 1))]);
    writer.set_durable(second);
    writer.append_watermark();
    writer.write().unwrap();
    assert_eq!(follow(&file.bytes()).commits.len(), 2);
    commit(&mut writer, 43, &ops::<u64>(3, 3));
    let bytes = file.bytes();
    for len in usize::try_from(second).unwrap()..=bytes.len() {
        let contents = follow(&bytes[..len]);
        assert!((1..=2).contains(&contents.commits.len()), "{len}");
        assert!(contents.durable <= second);
    }
}

/// Reads two commits followed by a frame with a correct checksum, this head and this payload.
fn forged(head: Head, payload: &[u8]) -> (Result<LogContents<u64>>, u64) {
    let (file, mut writer) = writer::<u64>();
    commit(&mut writer, 41, &ops::<u64>(3, 1));
    let at = commit(&mut writer, 42, &ops::<u64>(3, 1));
    let mut bytes = file.bytes();
    let payload = |out: &mut Vec<u8>| out.extend_from_slice(payload);
    Seal::new(&header::<u64>()).write(head, at, payload, &mut bytes);
    (read::<u64>(&bytes), at)
}

/// Reads a log with a tail of 16 MiB made by `fill`, and returns how long that took.
fn read_long_tail(fill: impl Fn(usize) -> u8) -> Duration {
    let mut bytes = sample::<u64>(12, 1 << 20).bytes;
    let end = bytes.len();
    bytes.extend((0..16 << 20).map(fill));
    let begin = Instant::now();
    let contents = read::<u64>(&bytes).unwrap();
    assert_eq!((contents.valid_end, contents.torn), (end as u64, true));
    begin.elapsed()
}

#[test]
fn long_torn_tail_is_read_in_linear_time() {
    let noise = |i: usize| fastrand::Rng::with_seed(i as u64).u8(..);
    assert!(read_long_tail(|_| 0) < Duration::from_secs(3));
    assert!(read_long_tail(noise) < Duration::from_secs(3));
    // Heads that look valid at every 28th byte, each of a frame of 4 MiB.
    let mut head = Vec::new();
    Head { len: 4 << 20, kind: COMMIT, flags: 0, count: 1, seq: 53, durable: 8192 }
        .encode(&mut head);
    head.resize(28, 0);
    let took = read_long_tail(|i| head[i % 28]);
    assert!(took < Duration::from_secs(9), "{took:?}");
}

#[test]
fn vouching_frame_is_found_at_every_position_of_the_range_checksum() {
    let header = header::<u64>();
    let seal = Seal::new(&header);
    for pad in 1..1200 {
        let mut bytes = vec![0xa5; 100 + pad];
        let at = bytes.len();
        let durable = at as u64;
        let head = Head { len: 0, kind: COMMIT, flags: 1, count: 0, seq: 9, durable };
        seal.write(head, at as u64, |out| out.extend_from_slice(&[7; 700]), &mut bytes);
        bytes.extend_from_slice(&[1; 3]);
        assert_eq!(proof::find_proof(&seal, &bytes, 100, 9), Some(at));
        assert_eq!(proof::find_proof(&seal, &bytes, 100, 10), None);
        let mut beyond = bytes[..at].to_vec();
        seal.write(Head { durable: durable + 1, ..head }, at as u64, |_| {}, &mut beyond);
        assert_eq!(
            proof::find_proof(&seal, &beyond, 100, 9),
            None,
            "a frame cannot vouch for later bytes"
        );
        bytes[at + 400] ^= 4;
        assert_eq!(proof::find_proof(&seal, &bytes, 100, 9), None);
    }
}
