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
    assert_eq!((&report["constant_bits"], &report["copied_bits"]), (&json!([]), &json!([])));
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
        ("constant_bits", planted(|_, value: F| value & upper)),
        ("constant_bits", planted(|_, value: F| value | upper)),
        ("copied_bits", planted(|_, value: F| (value & !upper) | value << half)),
        ("copied_bits", planted(|_, value: F| (value & !upper) | !value << half)),
    ] {
        let report = health(&values, 1);
        assert_eq!(verdicts(&report), [("fault", check)], "{report}");
        assert_eq!(report[check].as_array().unwrap().len(), half as usize);
    }
}

#[test]
fn lost_halves_are_faults_at_both_widths() {
    lost_halves_are_faults::<u64>();
    lost_halves_are_faults::<u128>();
}

#[test]
fn constant_bits_are_listed_and_many_are_a_fault() {
    let report = health(&planted(|_, value: u64| value & !(1 << 40 | 1 << 3) | 1 << 7), 0);
    assert_eq!(report["constant_bits"], json!([3, 7, 40]));
    assert_eq!(verdicts(&report), [("warning", "constant_bits")]);
    assert_eq!((&report["ones"][3], &report["ones"][7]), (&json!(0.0), &json!(1.0)));
    let report = health(&planted(|_, value: u64| value & !0xff00), 1);
    assert_eq!(verdicts(&report), [("fault", "constant_bits")]);
}

#[test]
fn copied_and_biased_bits_are_listed() {
    // Bit 100 is a copy of bit 7; bit 60 is a copy of bit 9 in nine of ten fingerprints.
    let copy = |value: u128, from: u32, to: u32| value & !(1 << to) | ((value >> from) & 1) << to;
    let report = health(
        &planted(|i, value: u128| {
            let value = copy(value, 7, 100);
            if i % 10 == 0 { value } else { copy(value, 9, 60) }
        }),
        0,
    );
    assert_eq!(verdicts(&report), [("warning", "copied_bits")]);
    assert_eq!(report["copied_bits"], json!([100]));

    let report =
        health(&planted(|i, value: u64| if i % 10 < 7 { value | 1 << 5 } else { value }), 0);
    assert_eq!(verdicts(&report), [("warning", "biased_bits")]);
    assert_eq!(report["biased_bits"], json!([5]));
}

fn hot_fingerprints_are_named<F: Fingerprint>() {
    let hot = F::from_u128(0x1234_5678);
    let report = health(&planted(|i, value: F| if i % 10 == 3 { hot } else { value }), 0);
    assert_eq!(verdicts(&report), [("warning", "hot_fingerprint")]);
    assert_eq!(
        report["hottest"],
        json!({"fingerprint": hot.to_hex(), "entries": 500, "id": 3, "name": null})
    );
    assert_eq!((&report["entries"], &report["fingerprints"]), (&json!(5000), &json!(4501)));
}

#[test]
fn hot_fingerprints_are_named_at_both_widths() {
    hot_fingerprints_are_named::<u64>();
    hot_fingerprints_are_named::<u128>();
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
    assert!(table.contains("constant bits  90\n"), "{table}");
    assert!(
        table.contains("0x00000000000000000000000000000005, in 500 entries, such as 3\n"),
        "{table}"
    );
}

#[test]
fn example_of_a_hot_fingerprint_has_its_name() {
    let folder = Folder::new();
    let db = Db::options().ids(Ids::Names).create(folder.file("named.fpdb")).unwrap();
    let names: Vec<_> = (0..300).map(|i| format!("https://example.com/{i}")).collect();
    let documents: Vec<(u64, Key<'_>)> = names.iter().map(|name| (77, Key::Name(name))).collect();
    db.write(&documents).run().unwrap();
    db.close().unwrap();
    let report = folder.ok("health named.fpdb --json").json();
    assert_eq!(report["hottest"]["name"], "https://example.com/0");
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
    let run = folder.exits(2, "health nowhere --fp-format hex");
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
    assert!(verdicts(&health(&broken, 1)).contains(&("fault", "copied_bits")));
}
