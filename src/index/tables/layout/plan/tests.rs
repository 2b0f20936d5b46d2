use std::collections::HashSet;

use super::*;
use crate::index::tables::layout::Costs;
use crate::index::tables::layout::tests::Rng;

const SIZES: [u64; 3] = [1 << 14, 1 << 23, 1 << 30];

/// Returns a pattern of `weight` errors: anywhere, in a run, or within a window of some bits.
fn pattern<F: Word>(rng: &mut Rng, weight: u32) -> F {
    let window = match rng.below(4) {
        0 => weight,
        1 => (weight * 2).min(F::BITS),
        2 => (weight + 16).min(F::BITS),
        _ => F::BITS,
    };
    let mut error = F::ZERO;
    while error.count_ones() < weight {
        error = error | (F::ONE << rng.below(window.max(1)));
    }
    error.rotate_left(rng.below(F::BITS))
}

/// Plants patterns of every weight up to the distance. Exactly one table, and exactly one of its
/// probes, must report each.
fn finds_all<F: Word>(layout: &Layout, plan: &Plan, distance: u32, rng: &mut Rng) {
    if plan.is_scan() {
        assert!(plan.reports(0, F::ONE));
        return;
    }
    let in_table = |table: &TablePlan| {
        let number = table.number();
        table.probes().iter().map(move |&probe| (number, probe)).collect::<Vec<_>>()
    };
    let probes: HashSet<(usize, Probe)> = plan.tables().iter().flat_map(in_table).collect();
    assert_eq!(probes.len(), plan.probe_count());
    assert!(plan.tables().is_sorted_by_key(TablePlan::number));
    for round in 0..40 {
        let weight = if round % 2 == 0 { distance } else { rng.below(distance + 1) };
        let error: F = pattern(rng, weight);
        let by: Vec<usize> = (0..layout.tables()).filter(|&t| plan.reports(t, error)).collect();
        assert_eq!(by.len(), 1, "{layout} distance {distance}: {} by {by:?}", error.to_hex());
        let permuted = layout.bit_order(by[0]).apply(error);
        assert!(plan.accepts(by[0], permuted));
        let above = (0..=u8::try_from(F::BITS).unwrap()).filter(|&depth| {
            let flips = permuted & F::prefix_mask(depth.into());
            let probe = Probe::of(depth, flips);
            probe.flips::<F>() == flips && probes.contains(&(by[0], probe))
        });
        assert_eq!(above.count(), 1, "{layout} distance {distance}: {}", error.to_hex());
    }
}

fn every_preset_finds_all<F: Word>() {
    let mut rng = Rng::new(11);
    for name in Layout::preset_names() {
        let layout = Layout::preset(name, F::BITS).unwrap();
        for distance in 0..=10 {
            for entries in SIZES {
                let plan = layout.plan_for(entries, distance, &Terms::default());
                finds_all::<F>(&layout, &plan, distance, &mut rng);
            }
        }
    }
}

#[test]
fn every_preset_finds_every_planted_pattern_once_at_64_bits() {
    every_preset_finds_all::<u64>();
}

#[test]
fn every_preset_finds_every_planted_pattern_once_at_128_bits() {
    every_preset_finds_all::<u128>();
}

/// Calls `check` with each way to share `errors` errors out among cells of these widths.
fn for_each_load(widths: &[u8], errors: u8, loads: &mut Vec<u8>, check: &mut impl FnMut(&[u8])) {
    let Some(&width) = widths.get(loads.len()) else {
        if errors == 0 {
            check(loads);
        }
        return;
    };
    for load in 0..=errors.min(width) {
        loads.push(load);
        for_each_load(widths, errors - load, loads, check);
        loads.pop();
    }
}

/// Returns whether the table is searched for errors in these numbers in the cells.
fn accepts_loads(layout: &Layout, table: &TablePlan, loads: &[u8]) -> bool {
    table.stairs().steps().iter().all(|step| {
        let mut leading = (0, 0);
        for &cell in layout.order(table.number()) {
            if leading.0 < step.depth {
                leading = (leading.0 + layout.cells()[cell], leading.1 + loads[cell]);
            }
        }
        assert_eq!(leading.0, step.depth, "a step within a cell");
        leading.1 <= step.most
    })
}

#[test]
fn plans_for_the_papers_designs_accept_every_distribution_of_errors() {
    // Without scans, also where they are cheaper.
    let costs = Costs { scan_entry_ns: 1e6, ..Costs::default() };
    let terms = Terms { costs, ..Terms::default() };
    for (bits, most) in [(64, 12), (128, 10)] {
        for (name, most) in
            [("paper-4", most), ("paper-10", most), ("paper-16", 6), ("paper-20", most)]
        {
            let layout = Layout::preset(name, bits).unwrap();
            for distance in 0..=most {
                let plan = layout.plan_for(1 << 34, distance.into(), &terms);
                if plan.is_scan() {
                    assert!(distance > 8, "{name} {distance}");
                    continue;
                }
                for_each_load(layout.cells(), distance, &mut Vec::new(), &mut |loads| {
                    let found = plan.tables().iter().any(|t| accepts_loads(&layout, t, loads));
                    assert!(found, "{name}, {bits} bits, distance {distance}: {loads:?}");
                });
            }
        }
    }
}

/// At the size of the paper. Four tables have so many candidates there that flips are cheaper.
#[test]
fn designs_look_up_one_exact_prefix_per_table_at_distance_three() {
    for (name, tables) in [("paper-10", 10), ("paper-16", 16), ("paper-20", 20)] {
        let layout = Layout::preset(name, 64).unwrap();
        let plan = layout.plan_for(1 << 34, 3, &Terms::default());
        assert_eq!(plan.tables().len(), tables);
        for table in plan.tables() {
            let depth = u8::try_from(layout.leading_bits(table.number())).unwrap();
            assert_eq!(table.probes(), [Probe { depth, ..Probe::ALL }], "{name}");
        }
    }
}

/// Makes a ring of cells of any widths.
fn random_layout(rng: &mut Rng) -> Layout {
    let mut cells = Vec::new();
    let mut left = 64;
    while left > 0 {
        let width = (1 + rng.below(20)).min(left);
        cells.push(u8::try_from(width).unwrap());
        left -= width;
    }
    Layout::new("random", 64, &cells).unwrap()
}

#[test]
fn random_layouts_find_every_planted_pattern_once() {
    let mut rng = Rng::new(12);
    for _ in 0..60 {
        let layout = random_layout(&mut rng);
        let distance = rng.below(6);
        let plan = layout.plan_for(1 << 26, distance, &Terms::default());
        assert!(!plan.is_scan() || plan.work().ns > 1e8 || distance > 4, "{layout:?}");
        finds_all::<u64>(&layout, &plan, distance, &mut rng);
    }
}

#[test]
fn rings_of_the_narrowest_cells_are_planned_within_bounds() {
    let mut rng = Rng::new(13);
    for (width, cells) in [(1, 64), (4, 16)] {
        let layout = Layout::new("fine", 64, &vec![width; cells]).unwrap();
        for distance in [3, 10] {
            let plan = layout.plan_for(1 << 26, distance, &Terms::default());
            finds_all::<u64>(&layout, &plan, distance, &mut rng);
        }
    }
}

#[test]
fn half_2_takes_about_46_probes_for_three_errors() {
    let layout = Layout::preset("half-2", 64).unwrap();
    let plan = layout.plan_for(1 << 26, 3, &Terms::default());
    assert!((40..=56).contains(&plan.probe_count()), "{}", plan.probe_count());
}

/// Predictions in microseconds, computed once by another program from these costs and 11.5 entries
/// per lookup that are decoded without need.
#[test]
fn predictions_agree_with_an_independent_calculation() {
    let costs = Costs {
        query_ns: 500.0,
        lookup_ns: 10.0,
        lookup_far_ns: 0.0,
        lookup_mapped_ns: 0.0,
        entry_ns: 5.8,
        ..Costs::default()
    };
    let terms = Terms { costs, ..Terms::default() };
    let expected = [
        ("single", 3, 105.0, 159.0, 351.0),
        ("half-2", 3, 3.8, 4.2, 6.0),
        ("ring-3", 3, 2.4, 3.5, 19.0),
        ("ring-4", 3, 2.1, 3.0, 5.8),
        ("half-2", 6, 121.0, 180.0, 415.0),
        ("ring-4", 6, 35.0, 94.0, 377.0),
    ];
    for (name, distance, at_23, at_26, at_33) in expected {
        let layout = Layout::preset(name, 64).unwrap();
        for (log, us) in [(23, at_23), (26, at_26), (33, at_33)] {
            let ns = layout.plan_for(1u64 << log, distance, &terms).work().ns;
            let ratio = ns / (us * 1000.0);
            assert!((0.75..1.4).contains(&ratio), "{name} k={distance} 2^{log}: {ns} ns");
        }
    }
}

#[test]
fn few_entries_or_many_errors_are_scanned() {
    let layout = Layout::preset("half-2", 64).unwrap();
    for entries in [0, 1, 10, 50] {
        assert!(layout.plan_for(entries, 3, &Terms::default()).is_scan(), "{entries}");
    }
    for distance in [25, 63, 64, 1000] {
        assert!(layout.plan_for(1 << 26, distance, &Terms::default()).is_scan(), "{distance}");
    }
    assert!(!layout.plan_for(1 << 26, 8, &Terms::default()).is_scan());
    let many = Layout::preset("single", 64).unwrap().plan_for(u64::MAX, 10, &Terms::default());
    assert!(many.is_scan() || many.probe_count() <= 1 << 20);
    assert!(
        Layout::preset("single", 128)
            .unwrap()
            .plan_for(u64::MAX, 0, &Terms::default())
            .probe_count()
            == 1
    );
}

#[test]
fn more_errors_never_take_less_time() {
    for name in ["half-2", "ring-3", "ring-4"] {
        let layout = Layout::preset(name, 64).unwrap();
        let ns = |distance| layout.plan_for(1 << 26, distance, &Terms::default()).work().ns;
        let times: Vec<f64> = (0..=24).map(ns).collect();
        assert!(times.is_sorted(), "{name}: {times:?}");
    }
}

#[test]
fn plans_are_deterministic() {
    for name in Layout::preset_names() {
        let layout = Layout::preset(name, 64).unwrap();
        let plan = || layout.plan_for(1 << 26, 4, &Terms::default());
        assert_eq!(plan().tables(), plan().tables());
    }
}

#[test]
fn no_ring_becomes_a_scan_because_its_proof_takes_too_long() {
    let mut rng = Rng::new(14);
    let costs = Costs { scan_entry_ns: 1e6, ..Costs::default() };
    let terms = Terms { costs, ..Terms::default() };
    for (tables, distance) in [(5, 24), (6, 24), (7, 20), (8, 16), (10, 12), (4, 24), (8, 24)] {
        let cells = crate::index::tables::layout::design::split_evenly(128, tables);
        let layout = crate::index::tables::layout::presets::ring_of(128, cells);
        let plan = layout.plan_for(1 << 26, distance, &terms);
        assert!(!plan.is_scan(), "{tables} {distance}");
        finds_all::<u128>(&layout, &plan, distance, &mut rng);
    }
}
