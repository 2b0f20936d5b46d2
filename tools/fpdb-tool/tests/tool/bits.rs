//! `stats --bits`

use fpdb::{Db, Fingerprint, Ids, Key, Word};
use serde_json::{Value, json};

use crate::common::{Folder, random};
use crate::corpus;

fn wide(n: usize) -> Vec<u128> {
    let mut state = 1;
    let mut half = || u128::from(random(&mut state));
    (0..n).map(|_| half() << 64 | half()).collect()
}

/// Returns random values, each changed by `change`.
fn planted<F: Word>(change: impl Fn(usize, F) -> F) -> Vec<F> {
    let values = wide(5000).into_iter().enumerate();
    values.map(|(i, value)| change(i, F::from_u128(value))).collect()
}

fn quality<F: Word>(values: &[F], code: i32) -> Value {
    let folder = Folder::new();
    folder.write("fps", values.iter().map(|value| value.to_hex() + "\n").collect::<String>());
    folder.ok(&format!("import db fps --bits {} --quiet", F::BITS));
    folder.exits(code, "stats db --bits --json").json()["bit_quality"].clone()
}

fn random_fingerprints_have_no_fault<F: Word>() {
    let found = quality(&planted(|_, value: F| value), 0);
    assert_eq!((&found["verdict"], &found["sample"]), (&json!("good"), &json!(5000)));
    for list in ["constant", "copied", "biased"] {
        assert_eq!(found[list], json!([]), "{list}");
    }
    assert_eq!(found["ones"].as_array().unwrap().len(), F::BITS as usize);
}

#[test]
fn random_fingerprints_have_no_fault_at_both_widths() {
    random_fingerprints_have_no_fault::<u64>();
    random_fingerprints_have_no_fault::<u128>();
}

fn lost_halves_are_faults<F: Word>() {
    let half = F::BITS / 2;
    let upper = F::prefix_mask(half);
    for (list, values) in [
        ("constant", planted(|_, value: F| value & upper)),
        ("constant", planted(|_, value: F| value | upper)),
        ("copied", planted(|_, value: F| (value & !upper) | value << half)),
        ("copied", planted(|_, value: F| (value & !upper) | !value << half)),
    ] {
        let found = quality(&values, 1);
        assert_eq!(found["verdict"], "fault", "{found}");
        assert_eq!(found[list].as_array().unwrap().len(), half as usize);
    }
}

#[test]
fn lost_halves_are_faults_at_both_widths() {
    lost_halves_are_faults::<u64>();
    lost_halves_are_faults::<u128>();
}

#[test]
fn few_bits_without_content_are_listed_and_many_are_a_fault() {
    // Bit 60 is a copy of bit 9 in nine of ten fingerprints only.
    let copy = |value: u64, from: u32, to: u32| value & !(1 << to) | ((value >> from) & 1) << to;
    let found = quality(
        &planted(|i, value: u64| {
            let value = copy(value, 9, 50) & !(1 << 40) | 1 << 7;
            let value = if i % 10 == 0 { value } else { copy(value, 10, 60) };
            if i % 10 < 7 { value | 1 << 5 } else { value }
        }),
        0,
    );
    let lists = ["constant", "copied", "biased"].map(|list| found[list].clone());
    assert_eq!(lists, [json!([7, 40]), json!([50]), json!([5])]);
    assert_eq!((&found["ones"][40], &found["ones"][7]), (&json!(0.0), &json!(1.0)));
    assert_eq!(quality(&planted(|_, value: u64| value & !0xff00), 1)["verdict"], "fault");
}

#[test]
fn the_most_frequent_fingerprint_is_named() {
    let folder = Folder::new();
    let db = Db::options().ids(Ids::Names).create(folder.file("db")).unwrap();
    let names: Vec<_> = (0..300).map(|i| format!("https://example.com/{i}")).collect();
    let documents: Vec<(u64, Key<'_>)> = names.iter().map(|name| (77, Key::Name(name))).collect();
    db.write(&documents).run().unwrap();
    db.close().unwrap();
    let name = "https://example.com/0";
    let hottest = folder.ok("stats db --bits --json").json()["hottest"].clone();
    assert_eq!((&hottest["entries"], &hottest["name"]), (&json!(300), &json!(name)));
    let table = folder.ok("stats db --bits").text();
    assert!(table.contains(&format!("0x000000000000004d, in 300 entries, such as {name}\n")));
    assert!(folder.ok("stats db --json").json()["bit_quality"].is_null());
}

#[test]
fn sketches_have_no_bits_to_judge() {
    let folder = Folder::new();
    folder.ok("create db --jaccard 0.8");
    let run = folder.exits(2, "stats db --bits");
    assert!(run.err.contains("this database has sketches: leave it out"), "{}", run.err);
}

#[test]
fn few_fingerprints_are_not_judged() {
    for n in [0, 1, 2, 255] {
        let values: Vec<u64> = (0..n).map(|i| i << 32).collect();
        assert_eq!(quality(&values, 0)["verdict"], "too-few", "{n}");
    }
    assert_eq!(quality(&(0..256).map(|i| i << 32).collect::<Vec<u64>>(), 1)["verdict"], "fault");
}

/// Real fingerprints have no fault; copies whose upper half repeats the lower half have one.
#[test]
fn broken_fingerprints_are_distinguished_from_real_ones() {
    let bytes = std::fs::read(corpus::sample("fingerprints.u64le")).unwrap();
    let values: Vec<u64> = bytes.chunks_exact(8).filter_map(u64::read_le).collect();
    assert_eq!(quality(&values, 0)["verdict"], "good");
    let broken: Vec<u64> = values.iter().map(|v| v & 0xffff_ffff | v << 32).collect();
    assert_eq!(quality(&broken, 1)["verdict"], "fault");
}
