//! Entire files that are longer, older, or of another database.

use std::collections::BTreeMap;

use fpdb::Fingerprint;

use crate::intact::Intact;
use crate::{Allowed, Counts, Damage, check_every_kind};

fn append_to_files<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in intact.files.iter().filter(|(name, _)| *name != "LOCK") {
        for tail in [vec![0], vec![0; 4096], vec![0xff; 300], good.clone()] {
            let what = format!("{} bytes after the end of {name}", tail.len());
            let bytes = [good.clone(), tail].concat();
            let is_log = name.ends_with(".log");
            let allowed = if is_log { Allowed::FoundOrHarmless } else { Allowed::Found };
            let name = name.as_str();
            Damage::new(intact, &name, &bytes, &what).allow(allowed).check(counts);
        }
    }
}

#[test]
fn file_that_has_grown_is_found_and_a_log_that_has_grown_is_read() {
    let counts = check_every_kind!(append_to_files);
    println!("longer files: {counts:?}");
}

fn replace_files<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (name, good) in intact.files.iter().filter(|(name, _)| *name != "LOCK") {
        for (other, bytes) in intact.files.iter().filter(|(_, bytes)| *bytes != good) {
            let what = format!("{other} in place of {name}");
            // An empty log is the result of a crash.
            let is_log = name.ends_with(".log") && bytes.is_empty();
            let allowed = if is_log { Allowed::Prefix } else { Allowed::Found };
            let name = name.as_str();
            Damage::new(intact, &name, bytes, &what).allow(allowed).check(counts);
        }
    }
}

#[test]
fn file_in_place_of_another_is_found() {
    let counts = check_every_kind!(replace_files);
    println!("files in place of others: {counts:?}");
}

/// Files with the same names are put into the database, one at a time.
fn check_files_of<F: Fingerprint>(
    intact: &Intact<F>,
    other: &BTreeMap<String, Vec<u8>>,
    counts: &Counts,
    whose: &str,
) {
    for (name, good) in intact.files.iter().filter(|(name, _)| *name != "LOCK") {
        let Some(bytes) = other.get(name).filter(|bytes| *bytes != good) else { continue };
        let what = format!("{name} of {whose}");
        // An older log looks like one whose last commits were never written.
        let is_older_log = name.ends_with(".log") && good.starts_with(bytes);
        let allowed = if is_older_log { Allowed::Prefix } else { Allowed::Found };
        let mut names: Vec<&str> = vec![name];
        if name == "MANIFEST" {
            // The other manifest names files that are not there, or have other nonces.
            names.extend(other.keys().map(String::as_str));
            names.extend(intact.files.keys().map(String::as_str));
        }
        let files = BTreeMap::from([(name.as_str(), Some(&bytes[..]))]);
        Damage { intact, names: &names, files, allowed, what: &what }.check(counts);
    }
}

fn put_back_files<F: Fingerprint>(intact: &Intact<F>, counts: &Counts) {
    for (moment, older) in intact.history.iter().enumerate() {
        check_files_of(intact, older, counts, &format!("moment {moment}"));
    }
}

#[test]
fn older_file_put_back_is_found() {
    let counts = check_every_kind!(put_back_files);
    println!("older files: {counts:?}");
}

#[test]
fn file_of_another_database_or_of_a_diverged_copy_is_found() {
    let counts = Counts::default();
    let intact = Intact::<u64>::make(30, 0);
    check_files_of(&intact, &Intact::<u64>::make(30, 1).files, &counts, "another database");
    let [first, second] = [1, 2].map(|seed| intact.continued(30, seed, 9..14));
    check_files_of(&first, &second.files, &counts, "a diverged copy");
    check_files_of(&second, &first.files, &counts, "a diverged copy");
    check_files_of(&first, &intact.files, &counts, "the original");
    println!("files of others: {counts:?}");
}
