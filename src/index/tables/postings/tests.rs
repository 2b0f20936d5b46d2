use super::*;
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::paged::OpenPaged;
use crate::file::storage::{Sim, Storage};
use crate::fingerprint::DocId;

const HEADER: FileHeader = FileHeader {
    kind: FileKind::Postings,
    bits: 64,
    part: 0,
    file_id: 1,
    nonce: 8,
    database_id: 2,
};

/// The ids of each fingerprint of each block.
type Blocks = Vec<Vec<Vec<u64>>>;

fn written(sim: &Sim, blocks: &Blocks) -> FileSummary {
    sim.create_root().unwrap();
    let mut builder = PostingsBuilder::create(sim, "p", &HEADER, None).unwrap();
    for (b, block) in blocks.iter().enumerate() {
        if b > 0 {
            builder.end_group().unwrap();
        }
        for ids in block {
            ids.iter().enumerate().for_each(|(i, &id)| builder.push(DocId(id), i == 0));
        }
    }
    assert_eq!(builder.entries(), blocks.iter().flatten().flatten().count() as u64);
    builder.finish().unwrap()
}

/// Returns the length of the file.
#[track_caller]
fn round_trip(blocks: &Blocks) -> u64 {
    let sim = Sim::new();
    let summary = written(&sim, blocks);
    let postings = Postings::open(&*sim, "p", &HEADER, summary.len).unwrap();
    let mut inspection = Inspection::new(None);
    assert!(postings.verify_file(summary, &mut inspection).unwrap());
    postings.verify_groups(|b| Ok(blocks[b].len()), &mut inspection);
    assert_eq!(inspection.found(), 0);
    assert_eq!(postings.entries(), blocks.iter().flatten().flatten().count() as u64);
    assert_eq!(postings.groups(), blocks.len());
    for (b, block) in blocks.iter().enumerate() {
        postings.prefetch(b..blocks.len()).unwrap();
        let group = postings.id_group(b, block.len()).unwrap();
        for (i, ids) in block.iter().enumerate() {
            assert!(group.ids(i).unwrap().map(|id| id.0).eq(ids.iter().copied()), "{b} {i}");
            for &id in ids.iter().take(20).chain(ids.last()) {
                assert!(group.contains(i, DocId(id)).unwrap());
                let next = id.wrapping_add(1);
                assert_eq!(group.contains(i, DocId(next)).unwrap(), ids.contains(&next));
            }
        }
        let (mut all, mut starts) = (Vec::new(), Vec::new());
        group.find_all(&mut starts).unwrap();
        let places = group.places_from(&starts, 0);
        let middle = places.start + (places.end - places.start) / 3;
        for places in [places.start..middle, middle..places.end] {
            group.for_each(&starts, places, |index, id| all.push((index, id.0))).unwrap();
        }
        let expected =
            block.iter().enumerate().flat_map(|(i, ids)| ids.iter().map(move |&id| (i, id)));
        assert!(all.into_iter().eq(expected), "{b}");
        for other in [block.len() - 1, block.len() + 1] {
            assert!(postings.id_group(b, other).is_err(), "another table's block");
        }
    }
    summary.len
}

/// Returns the numbers below `n` in an order that looks random.
fn permutation(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(move |i| i * 0x9e37_79b1 % n)
}

fn one_each(n: usize, in_block: usize) -> Blocks {
    let ids: Vec<Vec<u64>> = permutation(n as u64).map(|id| vec![id]).collect();
    ids.chunks(in_block).map(<[_]>::to_vec).collect()
}

#[test]
fn ids_round_trip_in_sections_of_every_number_of_groups() {
    round_trip(&vec![]);
    for groups in (1..=49).chain([95, 96, 97, 145]) {
        for in_block in [1, 2, 21] {
            round_trip(&one_each(groups * in_block, in_block));
        }
    }
}

#[test]
fn ids_of_every_width_round_trip() {
    for width in 0..=64 {
        let greatest = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        for base in [0, 1, u64::MAX - greatest] {
            let ids = permutation(101).map(|i| vec![base.saturating_add(greatest / 100 * i)]);
            let mut ids: Vec<_> = ids.collect();
            ids.push(vec![base.saturating_add(greatest)]);
            ids.push(vec![base]);
            round_trip(&ids.chunks(20).map(<[_]>::to_vec).collect());
            if greatest > 0 {
                ids.push(vec![base, base + 1, base.saturating_add(greatest)]);
                ids[50] = ids.last().unwrap().clone();
                ids.iter_mut().for_each(|list| list.dedup());
                round_trip(&ids.chunks(20).map(<[_]>::to_vec).collect());
            }
        }
    }
}

#[test]
fn posting_lists_of_every_length_round_trip() {
    round_trip(&vec![vec![vec![u64::MAX]], vec![vec![0, u64::MAX], vec![5]]]);
    round_trip(&vec![vec![vec![7], vec![3], vec![9]], vec![vec![1_000_000_007]; 3]]);
    let lists = |lengths: &[u64]| -> Blocks {
        let lists: Vec<Vec<u64>> =
            lengths.iter().map(|&n| (0..n).map(|i| i * 3 + n % 7).collect()).collect();
        lists.chunks(3).map(<[_]>::to_vec).collect()
    };
    for long in [2, 63, 64, 65, 511, 512, 513, 1024, 1025, 70_000] {
        for place in 0..5 {
            let mut lengths = [1; 5];
            lengths[place] = long;
            round_trip(&lists(&lengths));
        }
        round_trip(&lists(&[long; 4]));
    }
    let lengths: Vec<u64> =
        (0..5000).map(|i| if i % 97 == 0 { 1 + i } else { 1 + i % 3 }).collect();
    round_trip(&lists(&lengths));
}

#[test]
fn groups_of_very_different_sizes_round_trip() {
    let sizes = [1, 5000, 2, 65_535, 1, 1, 40_000];
    let mut ids = permutation(sizes.iter().sum());
    let mut blocks: Blocks = Vec::new();
    for size in sizes {
        let block = ids.by_ref().take(usize::try_from(size).unwrap());
        blocks.push(block.map(|id| vec![id]).collect());
    }
    round_trip(&blocks);
    blocks[1][4000].push(1 << 40);
    round_trip(&blocks);
    let mut many = Blocks::new();
    (0..9).for_each(|_| many.extend_from_slice(&blocks));
    round_trip(&many);
}

/// The bound is log2(n!) / n, about log2(n / e).
#[test]
fn permutation_takes_at_most_three_bits_per_id_over_its_bound() {
    // Just above a power of two, most of the width's last bit is wasted.
    for n in [1 << 16, (1 << 16) + 500, 100_000] {
        let bits = round_trip(&one_each(n, 21)) as f64 * 8.0 / n as f64;
        let bound = (n as f64 / std::f64::consts::E).log2();
        assert!(bits < bound + 3.0, "{n}: {bits} bits, {bound} needed");
    }
}

#[test]
fn ids_that_are_near_each_other_take_fewer_bits() {
    let near: Blocks =
        (0..960).map(|b| vec![vec![(1 << 40) + b], vec![(1 << 40) + b + 1]]).collect();
    assert!(round_trip(&near) < 4096 + 960 * 2);
}
