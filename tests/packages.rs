//! Every package that is built has a licence and a source that deny.toml allows. `cargo deny`
//! checks more, but is not installed everywhere.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the licences that deny.toml allows.
fn allowed() -> Vec<String> {
    let deny = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let (_, list) = deny.split_once("\nallow = [").unwrap();
    let (list, _) = list.split_once(']').unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns whether a licence expression, perhaps of the older form with `/`, can be satisfied by
/// these licences.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let parsed = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX);
    let is_listed = |required: &spdx::LicenseReq| {
        allowed.iter().any(|name| *name == required.license.to_string())
    };
    parsed.is_ok_and(|parsed| parsed.evaluate(is_listed))
}

#[test]
fn a_licence_is_allowed_if_the_allowed_ones_satisfy_it() {
    let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned()];
    for expression in ["GPL-3.0 OR MIT", "Unlicense/MIT", "Apache-2.0 WITH LLVM-exception"] {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in ["", "MIT AND GPL-3.0", "MIT GPL-3.0"] {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}

#[test]
fn all_packages_have_allowed_licences_and_sources() {
    let mut cargo = Command::new(env!("CARGO"));
    // This downloads the packages of the Python extension, which `cargo test` does not build, but
    // not those for other systems.
    cargo.args(["metadata", "--format-version=1", "--all-features", "--locked"]);
    let host = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let host = String::from_utf8(host).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = cargo.args(["--filter-platform", host]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (packages, allowed) = (metadata["packages"].as_array().unwrap(), allowed());
    assert!(packages.len() > 50 && allowed.len() > 3, "{} {allowed:?}", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence, &allowed) {
            wrong.push(format!("{name}: licence {licence:?}"));
        }
        // A package of this repository has no source.
        let source = package["source"].as_str().unwrap_or(CRATES_IO);
        if source != CRATES_IO {
            wrong.push(format!("{name}: source {source}"));
        }
    }
    assert!(wrong.is_empty(), "not in deny.toml:\n{}", wrong.join("\n"));
}
