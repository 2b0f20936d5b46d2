use fpdb::{Db, Fingerprint, Ids, Key};
use serde_json::{Value, json};

use crate::common::{Folder, Run, random};
use crate::corpus;

fn wide(n: usize) -> Vec<u128> {
    let mut state = 1;
    let mut half = || u128::from(random(&mut state));
    (0..n).map(|_| half() << 64 | half()).collect()
}

/// Returns random values, each changed by `change`.
fn planted<F: Fingerprint>(change: impl Fn(usize, F) -> F) -> Vec<F> {
    let values = wide(5000).into_iter().enumerate();
    values.map(|(i, value)| change(i, F::from_u128(value))).collect()
}

fn health<F: Fingerprint>(values: &[F], code: i32) -> Value {
    let folder = Folder::new();
    folder.write("fps", values.iter().map(|value| value.to_hex() + "\n").collect::<String>());
    folder.exits(code, &format!("health --from fp fps --bits {} --json", F::BITS)).json()
}

/// Returns the verdicts as levels and checks.
fn verdicts(report: &Value) -> Vec<(&str, &str)> {
    let verdicts = report["verdicts"].as_array().unwrap().iter();
    verdicts.map(|v| (v["level"].as_str().unwrap(), v["check"].as_str().unwrap())).collect()
}

fn random_fingerprints_are_healthy<F: Fingerprint>() {
    let report = health(&planted(|_, value: F| value), 0);
    assert_eq!(verdicts(&report), [("ok", "all")]);
    assert_eq!((&report["bits"], &report["fingerprints"]), (&json!(F::BITS), &json!(5000)));
    assert_eq!((&report["dead_bits"], &report["unlikely_bits"]), (&json!([]), &json!([])));
    for measure in ["entropy_at_most", "effective_bits"] {
        let bits = report[measure].as_f64().unwrap();
        assert!((bits - f64::from(F::BITS)).abs() < 3.0, "{measure}: {bits}");
    }
}

#[test]
fn random_fingerprints_are_healthy_at_both_widths() {
    random_fingerprints_are_healthy::<u64>();
    random_fingerprints_are_healthy::<u128>();
}

fn lost_halves_are_faults<F: Fingerprint>() {
    let half = F::BITS / 2;
    let upper = F::prefix_mask(half);
    for (check, values) in [
        ("dead_half", planted(|_, value: F| value & upper)),
        ("dead_half", planted(|_, value: F| value | upper)),
        ("copied_half", planted(|_, value: F| (value & !upper) | value << half)),
        ("copied_half", planted(|_, value: F| (value & !upper) | !value << half)),
    ] {
        let report = health(&values, 1);
        assert_eq!(verdicts(&report), [("fault", check)], "{report}");
        let entropy = report["entropy_at_most"].as_f64().unwrap();
        assert!((entropy - f64::from(half)).abs() < 2.0, "{entropy}");
    }
}

#[test]
fn lost_halves_are_faults_at_both_widths() {
    lost_halves_are_faults::<u64>();
    lost_halves_are_faults::<u128>();
}

#[test]
fn dead_bits_are_listed_and_many_are_a_fault() {
    let report = health(&planted(|_, value: u64| value & !(1 << 40 | 1 << 3) | 1 << 7), 0);
    assert_eq!(report["dead_bits"], json!([3, 7, 40]));
    assert_eq!(verdicts(&report), [("warning", "dead_bits")]);
    assert_eq!((&report["ones"][3], &report["ones"][7]), (&json!(0.0), &json!(1.0)));
    let report = health(&planted(|_, value: u64| value & !0xff00), 1);
    assert_eq!(verdicts(&report), [("fault", "dead_bits")]);
}

#[test]
fn correlated_bits_are_found() {
    // Bit 100 is a copy of bit 7; bit 9 is a copy of bit 60 in nine of ten fingerprints.
    let copy = |value: u128, from: u32, to: u32| value & !(1 << to) | ((value >> from) & 1) << to;
    let report = health(
        &planted(|i, value: u128| {
            let value = copy(value, 7, 100);
            if i % 10 == 0 { value } else { copy(value, 60, 9) }
        }),
        0,
    );
    assert_eq!(verdicts(&report), [("warning", "copied_bits"), ("warning", "correlated_bits")]);
    let pairs = report["correlations"].as_array().unwrap();
    assert_eq!((&pairs[0]["a"], &pairs[0]["b"]), (&json!(7), &json!(100)));
    assert_eq!((&pairs[1]["a"], &pairs[1]["b"]), (&json!(9), &json!(60)));
    let correlation = pairs[1]["correlation"].as_f64().unwrap();
    assert!((0.87..0.93).contains(&correlation), "{correlation}");

    let report =
        health(&planted(|i, value: u64| if i % 10 < 7 { value | 1 << 5 } else { value }), 0);
    assert_eq!(verdicts(&report), [("warning", "biased_bits")]);
    assert_eq!(report["unlikely_bits"], json!([5]));
}

fn hot_groups_are_named<F: Fingerprint>() {
    let hot = F::from_u128(0x1234_5678);
    let report = health(&planted(|i, value: F| if i % 10 == 3 { hot } else { value }), 0);
    assert_eq!(verdicts(&report), [("warning", "hot_fingerprint")]);
    assert_eq!(
        report["hot_fingerprints"][0],
        json!({"fingerprint": hot.to_hex(), "entries": 500, "id": 3, "name": null})
    );
    assert_eq!((&report["entries"], &report["fingerprints"]), (&json!(5000), &json!(4501)));

    let mask = F::prefix_mask(16);
    let prefix = F::from_u128(0xabcd).wrapping_shl(F::BITS - 16);
    let report =
        health(&planted(|i, value: F| if i % 50 == 0 { value & !mask | prefix } else { value }), 0);
    assert_eq!(verdicts(&report), [("warning", "prefix_skew")]);
    let first = &report["hot_prefixes"][0];
    assert_eq!((&first["prefix"], &first["fingerprints"]), (&json!("0xabcd"), &json!(100)));
    let skew = report["prefix_skew"].as_f64().unwrap();
    // 100 * 99 / 2 pairs in addition to those of chance, divided by 5000 * 4999 / 2 / 65536.
    assert!((skew - 1.0 - 25.96).abs() < 1.0, "{skew}");
}

#[test]
fn hot_groups_are_named_at_both_widths() {
    hot_groups_are_named::<u64>();
    hot_groups_are_named::<u128>();
}

#[test]
fn database_gets_the_same_verdict_as_its_list() {
    let folder = Folder::new();
    let values = planted(|i, value: u128| if i % 10 == 3 { 5 } else { value & !(1 << 90) });
    folder.write("fps", values.iter().map(|value| value.to_hex() + "\n").collect::<String>());
    folder.ok("import wide.fpdb fps --bits 128 --quiet");
    let of_file = folder.ok("health --from fp fps --bits 128 --json").json();
    assert_eq!(folder.ok("health wide.fpdb --json").json(), of_file);
    let table = folder.ok("health wide.fpdb").text();
    assert!(table.contains("dead bits        90\n"), "{table}");
    assert!(table.contains("0x00000000000000000000000000000005      500        3\n"), "{table}");
}

#[test]
fn example_of_a_hot_fingerprint_has_its_name() {
    let folder = Folder::new();
    let db = Db::options().ids(Ids::Names).create(folder.file("named.fpdb")).unwrap();
    let names: Vec<_> = (0..300).map(|i| format!("https://example.com/{i}")).collect();
    let documents: Vec<(u64, Key<'_>)> = names.iter().map(|name| (77, Key::Name(name))).collect();
    db.insert_batch(&documents).unwrap();
    db.close().unwrap();
    let report = folder.ok("health named.fpdb --json").json();
    assert_eq!(report["hot_fingerprints"][0]["name"], "https://example.com/0");
    assert_eq!(verdicts(&report), [("ok", "bits"), ("warning", "hot_fingerprint")]);
}

#[test]
fn few_fingerprints_are_not_judged() {
    for n in [0, 1, 2, 255] {
        let report = health(&vec![7u64; n.min(1)], 0);
        assert_eq!(verdicts(&report), [("ok", "bits")]);
        let values: Vec<u64> = (0..n as u64).map(|i| i << 32).collect();
        assert_eq!(verdicts(&health(&values, 0)), [("ok", "bits")]);
    }
}

#[test]
fn sample_is_chosen_from_all_fingerprints() {
    let folder = Folder::new();
    let values = planted(|_, value: u64| value);
    folder.write("fps", values.iter().map(|value| value.to_hex() + "\n").collect::<String>());
    let run: Run = folder.ok("health --from fp fps --sample 1000 --json");
    let report = run.json();
    assert_eq!((&report["read"], &report["entries"]), (&json!(5000), &json!(1000)));
    folder.exits(2, "health --from fp fps --sample 0");
    folder.exits(2, "health a b");
    folder.exits(2, "health nowhere");
    let run = folder.exits(2, "health fps --fp-format hex");
    assert!(run.err.contains("use it with --from fp"), "{}", run.err);
}

/// Real fingerprints have no fault; copies whose upper half repeats the lower half have one.
#[test]
fn broken_fingerprints_are_distinguished_from_real_ones() {
    let bytes = std::fs::read(corpus::sample("fingerprints.u64le")).unwrap();
    let values: Vec<u64> = bytes.chunks_exact(8).filter_map(u64::read_le).collect();
    let report = health(&values, 0);
    assert!(verdicts(&report).iter().all(|(level, _)| *level != "fault"), "{report}");
    let broken: Vec<u64> = values.iter().map(|v| v & 0xffff_ffff | v << 32).collect();
    assert!(verdicts(&health(&broken, 1)).contains(&("fault", "copied_half")));
}
