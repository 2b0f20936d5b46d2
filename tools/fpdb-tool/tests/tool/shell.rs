//! `completions` and `man`: what the tool writes about itself for the system around it.

use crate::common::Folder;

#[test]
fn completions_know_every_shell_and_name_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = folder.ok(&format!("completions {shell}"));
        for word in ["fpdb-tool", "dedup", "remove", "--max-distance"] {
            assert!(run.text().contains(word.trim_start_matches('-')), "{shell}: no {word}");
        }
        assert!(run.err.is_empty(), "{}", run.err);
    }
    folder.exits(2, "completions cmd");
}

#[test]
fn man_prints_one_page_or_writes_all() {
    let folder = Folder::new();
    let page = folder.ok("man").text();
    assert!(page.contains(".TH fpdb-tool 1"), "{page}");
    let run = folder.ok("man --out share/man1");
    assert!(run.out.is_empty() && run.err.contains("share/man1"), "{run:?}");
    for (page, word) in [
        ("fpdb-tool.1", "Exit codes"),
        ("fpdb-tool-dedup.1", "\\-\\-keep\\-skipped"),
        ("fpdb-tool-remove.1", "\\-\\-fingerprint"),
    ] {
        let text = folder.read(&format!("share/man1/{page}"));
        assert!(text.contains(word), "{page}: {text}");
    }
    folder.write("file", "");
    let run = folder.exits(2, "man --out file/man1");
    assert!(run.err.contains("cannot write manual pages to file/man1"), "{}", run.err);
}
