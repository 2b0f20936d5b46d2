//! The example in `docs/serve.md` is true.

use std::fmt::Write;

use fpdb::{Db, Ids};
use fpdb_server::Options;

use crate::client::Reply;
use crate::common::{Served, folder, names};

const DOCUMENT: &str = include_str!("../../../../docs/serve.md");

/// Formats a reply as redis-cli does.
fn format(reply: &Reply, indent: usize, out: &mut String) {
    match reply {
        Reply::Simple(text) => writeln!(out, "{text}"),
        Reply::Error(text) => writeln!(out, "(error) {text}"),
        Reply::Integer(number) => writeln!(out, "(integer) {number}"),
        Reply::Bulk(text) => writeln!(out, "\"{text}\""),
        Reply::Null => writeln!(out, "(nil)"),
        Reply::Array(items) if items.is_empty() => writeln!(out, "(empty array)"),
        Reply::Array(items) => {
            let width = items.len().to_string().len();
            for (at, item) in items.iter().enumerate() {
                let space = if at == 0 { 0 } else { indent };
                write!(out, "{:space$}{:>width$}) ", "", at + 1).unwrap();
                format(item, indent + width + 2, out);
            }
            Ok(())
        }
        other => panic!("not a reply of RESP2: {other:?}"),
    }
    .unwrap();
}

#[test]
fn the_documented_session_replies_as_documented() {
    let (_, session) = DOCUMENT.split_once("```redis\n").unwrap();
    let (session, _) = session.split_once("```").unwrap();
    let folder = folder();
    let db = Db::options().ids(Ids::Names).recipe("default").create(folder.path().join("db"));
    let server = Served::start(db.unwrap(), &Options::default());
    let mut client = server.connect();
    let mut replayed = String::new();
    for command in session.lines().filter_map(|line| line.strip_prefix("> ")) {
        client.send(format!("{command}\r\n").as_bytes());
        writeln!(replayed, "> {command}").unwrap();
        format(&client.read(), 0, &mut replayed);
    }
    assert_eq!(replayed, session);
    assert!(session.lines().count() > 20);
}

#[test]
fn every_command_is_documented() {
    let folder = folder();
    let server = Served::start(names(&folder), &Options::default());
    let commands = server.connect().call(&["COMMAND", "LIST"]);
    for command in commands.items() {
        let name = command.text().to_uppercase();
        assert!(DOCUMENT.contains(&format!("| `{name}")), "{name}");
    }
}
