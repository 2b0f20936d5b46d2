use std::ffi::OsString;

use crate::common::Folder;

const COMMANDS: [&str; 30] = [
    "create",
    "import",
    "dedup",
    "query",
    "pairs",
    "join",
    "clusters",
    "passages",
    "lines",
    "contained",
    "get",
    "extract",
    "export",
    "remove",
    "expire",
    "serve",
    "ping",
    "fingerprint",
    "stats",
    "inspect",
    "ratio",
    "verify",
    "compact",
    "backup",
    "merge",
    "rebuild",
    "repair",
    "recipes",
    "recommend",
    "completions",
];

#[test]
fn every_command_is_listed_and_has_help_with_an_example() {
    let folder = Folder::new();
    let help = folder.ok("--help").text();
    let listed: Vec<_> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != "help")
        .collect();
    assert_eq!(listed, COMMANDS);
    assert!(help.contains("Exit codes:"), "{help}");
    for command in COMMANDS {
        let run = folder.ok(&format!("{command} --help"));
        assert!(run.text().contains(&format!("Usage: fpdb-tool {command}")), "{}", run.text());
        assert!(run.text().contains("--json"), "{command}");
        assert!(run.text().contains("Example"), "{command}");
        assert!(run.err.is_empty(), "{}", run.err);
    }
}

#[test]
fn a_usage_error_goes_to_standard_error() {
    let folder = Folder::new();
    for line in
        ["", "frobnicate", "create", "query db", "create db --bits 32", "import db f --memory x"]
    {
        let run = folder.exits(2, line);
        assert!(run.out.is_empty() && !run.err.is_empty(), "{line}: {run:?}");
    }
    assert!(folder.ok("--version").text().starts_with("fpdb-tool "));
}

#[test]
fn the_tool_also_runs_in_process() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["fpdb-tool", "stats", "no/such/database"].map(OsString::from);
    assert_eq!(fpdb_tool::run(args, &mut out, &mut err), 2);
    assert!(out.is_empty());
    assert!(String::from_utf8(err).unwrap().starts_with("fpdb-tool: "));
}
