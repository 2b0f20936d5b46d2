//! Passwords and public addresses.

use super::server::Server;
use crate::common::Folder;

#[test]
fn a_public_address_needs_a_password_file_with_a_password() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    let run = folder.exits(2, "serve db --listen 0.0.0.0:0");
    assert!(run.err.contains("other machines can reach"), "{}", run.err);
    assert!(run.err.contains("--password-file"), "{}", run.err);
    for (content, error) in [("", "has no password"), (&"x".repeat(1025), "1 to 1024 bytes")] {
        folder.write("password", content);
        let run = folder.exits(2, "serve db --password-file password");
        assert!(run.err.contains(error), "{}", run.err);
    }
    folder.write("password", "secret\n");
    let mut server = Server::start_at(&folder, "0.0.0.0:0", &["--password-file", "password"]);
    let mut client = server.connect();
    assert!(client.call(&["PING"]).text().starts_with("NOAUTH "));
    assert_eq!(client.call(&["AUTH", "secret"]).text(), "OK");
    let ping = format!("ping 127.0.0.1:{}", server.address.port());
    folder.ok(&format!("{ping} --password-file password"));
    let run = folder.exits(1, &ping);
    assert!(run.err.contains("does not answer: -NOAUTH "), "{}", run.err);
    assert_eq!(server.stop().code, 0);
    folder.exits(1, &ping);
    folder.exits(2, "ping --password-file missing");
}

#[test]
fn the_password_file_names_users_and_the_log_names_who_was_refused() {
    let folder = Folder::new();
    folder.write("passwords", "secret\nsearch read of the search\n");
    let mut server = Server::start(&folder, &["--password-file", "passwords"]);
    let mut client = server.connect();
    assert!(client.call(&["AUTH", "search", "guess-1234"]).text().starts_with("WRONGPASS "));
    assert_eq!(client.call(&["AUTH", "search", "of the search"]).text(), "OK");
    assert!(client.call(&["FP.ADDNX", "a", "0xff"]).text().starts_with("NOPERM "));
    assert_eq!(client.call(&["AUTH", "secret"]).text(), "OK");
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    let peer = client.stream.local_addr().unwrap();
    let run = server.stop();
    for expected in [
        format!(" WARN fpdb_server: wrong user or password peer={peer}"),
        " WARN fpdb_server: command without the right to it".to_owned(),
        "user=\"search\" command=\"fp.addnx\"".to_owned(),
        " INFO fpdb: opened".to_owned(),
        format!(
            " INFO fpdb_server: serving version=\"{}\" address={} max_connections=",
            env!("CARGO_PKG_VERSION"),
            server.address
        ),
        " INFO fpdb_server: stopped connections=1".to_owned(),
    ] {
        assert!(run.err.contains(&expected), "{expected}: {}", run.err);
    }
    assert!(!run.err.contains("guess-1234"), "{}", run.err);
    let mut server = Server::start(&folder, &["--password-file", "passwords", "--log", "error"]);
    assert!(server.connect().call(&["AUTH", "x"]).text().starts_with("WRONGPASS "));
    assert_eq!(server.stop().err, "");
}

#[test]
fn a_quiet_server_logs_warnings_and_errors_only_unless_the_log_is_chosen() {
    let folder = Folder::new();
    folder.write("passwords", "secret\n");
    for (options, has_information) in
        [(&["-q"][..], false), (&["-q", "--log", "info"], true), (&[], true)]
    {
        let options = [&["--password-file", "passwords"], options].concat();
        let mut server = Server::start(&folder, &options);
        assert!(server.connect().call(&["AUTH", "x"]).text().starts_with("WRONGPASS "));
        let run = server.stop();
        assert!(run.err.contains(" WARN fpdb_server: wrong user"), "{options:?}: {}", run.err);
        assert_eq!(run.err.contains(" INFO "), has_information, "{options:?}: {}", run.err);
    }
}

#[test]
fn wrong_passwords_are_limited_as_requested() {
    let folder = Folder::new();
    folder.write("passwords", "secret\n");
    let options = ["--password-file", "passwords", "--max-wrong-passwords", "1"];
    let mut server = Server::start(&folder, &options);
    assert!(server.connect().call(&["AUTH", "x"]).text().starts_with("WRONGPASS invalid"));
    for _ in 0..3 {
        let reply = server.connect().call(&["AUTH", "secret"]);
        assert!(reply.text().starts_with("WRONGPASS too many"), "{reply:?}");
    }
    // Once, so that nobody fills the log.
    let run = server.stop();
    let event = " WARN fpdb_server: too many wrong passwords: refusing all of them peer=127.0.0.1:";
    assert_eq!(run.err.matches(event).count(), 1, "{}", run.err);
}

#[test]
fn the_password_file_is_read_again_on_sighup_and_a_wrong_one_changes_nothing() {
    let folder = Folder::new();
    folder.write("passwords", "secret\nsearch read of the search\n");
    let mut server = Server::start(&folder, &["--password-file", "passwords"]);
    let (mut operator, mut search) = (server.connect(), server.connect());
    assert_eq!(operator.call(&["AUTH", "secret"]).text(), "OK");
    assert_eq!(search.call(&["AUTH", "search", "of the search"]).text(), "OK");
    folder.write("passwords", "new-1234\nsearch read\n");
    let line = server.hang_up("cannot replace the users");
    assert!(line.contains(" ERROR fpdb_tool: "), "{line}");
    assert!(line.contains("passwords: line 2 is not a user"), "{line}");
    assert!(!line.contains("new-1234"), "{line}");
    assert_eq!(operator.call(&["PING"]).text(), "PONG");
    assert_eq!(server.connect().call(&["AUTH", "secret"]).text(), "OK");
    folder.write("passwords", "new-1234\nsearch read of the search\nweb write of the web\n");
    let line = server.hang_up("users replaced");
    assert!(line.contains("users=3 disconnected="), "{line}");
    operator.expect_end();
    assert_eq!(search.call(&["PING"]).text(), "PONG");
    let mut client = server.connect();
    assert!(client.call(&["AUTH", "secret"]).text().starts_with("WRONGPASS "));
    assert_eq!(client.call(&["AUTH", "web", "of the web"]).text(), "OK");
    assert_eq!(client.call(&["FP.ADDNX", "a", "0xff"]).word(), "inserted");
    assert_eq!(server.stop().code, 0);
}
