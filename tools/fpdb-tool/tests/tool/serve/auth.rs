//! Passwords and public addresses.

use super::client::Reply;
use super::server::Server;
use crate::common::Folder;

#[test]
fn a_public_address_needs_a_password() {
    let folder = Folder::new();
    folder.ok("create db --ids names");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let run = folder.exits(2, &format!("serve db --listen {address}"));
        assert!(run.err.contains("other machines can reach"), "{}", run.err);
        assert!(run.err.contains("--password-file"), "{}", run.err);
    }
    folder.write("password", "secret\n");
    let mut server = Server::start_at(&folder, "0.0.0.0:0", &["--password-file", "password"]);
    assert_eq!(server.connect().call(&["AUTH", "secret"]), Reply::Simple("OK".into()));
    assert_eq!(server.stop().code, 0);
    for (content, error) in [("", "has no password"), (&"x".repeat(1025), "1 to 1024 bytes")] {
        folder.write("password", content);
        let run = folder.exits(2, "serve db --password-file password");
        assert!(run.err.contains(error), "{}", run.err);
    }
    // Without the password, nothing is served.
    folder.write("password", "secret");
    let server = Server::start(&folder, &["--password-file", "password"]);
    assert!(server.connect().call(&["PING"]).text().starts_with("NOAUTH "));
}
