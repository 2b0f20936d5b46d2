//! `completions`

use std::io::Write;
use std::process::Command;

use crate::common::Folder;

/// Lines that are typed, and a word that the shell must offer for the last one.
const COMPLETED: [(&str, &str); 7] = [
    ("fpdb-tool ba", "backup"),
    ("fpdb-tool dedup --pri", "--print"),
    ("fpdb-tool dedup db pages.ndjson --recr", "--recrawl"),
    ("fpdb-tool create db --recipe pairs-s", "pairs-short/1"),
    ("fpdb-tool create db --layout half", "half-2"),
    ("fpdb-tool fingerprint --recipe pairs-s", "pairs-short/1"),
    ("fpdb-tool fingerprint --sk", "--sketch"),
];

/// Runs a script in the folder, after the completions for this shell are in the file `script`.
/// Returns its output, or `None` if there is no such shell.
fn in_shell(folder: &Folder, shell: &str, args: &[&str]) -> Option<String> {
    folder.write("script", folder.ok(&format!("completions {shell}")).out);
    let run = Command::new(shell).current_dir(folder.path()).args(args).output();
    let Ok(run) = run else {
        // Not with a macro, whose output the test harness captures.
        let skipped = format!("skipped: {shell} is not installed\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    };
    Some(String::from_utf8_lossy(&run.stdout).into_owned())
}

#[test]
fn bash_completes_commands_options_and_values() {
    let folder = Folder::new();
    for (line, word) in COMPLETED {
        let script = format!(
            "source ./script; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             last=${{COMP_WORDS[COMP_CWORD]}}; _fpdb_tool fpdb-tool \"$last\" \
             \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\"; complete -p fpdb-tool"
        );
        let Some(out) = in_shell(&folder, "bash", &["--norc", "-c", &script]) else { return };
        assert!(out.split_whitespace().any(|offered| offered == word), "{line}: {out}");
        assert!(out.contains("-F _fpdb_tool fpdb-tool"), "{out}");
    }
}

#[test]
fn fish_completes_commands_options_and_values() {
    let folder = Folder::new();
    for (line, word) in COMPLETED {
        let script = format!("source ./script; complete -C '{line}'");
        let Some(out) = in_shell(&folder, "fish", &["-c", &script]) else { return };
        assert!(out.split_whitespace().any(|offered| offered == word), "{line}: {out}");
    }
}

/// In a terminal of its own, because only an interactive zsh completes.
#[test]
fn zsh_completes_commands_options_and_values() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("functions")).unwrap();
    folder.write("functions/_fpdb-tool", folder.ok("completions zsh").out);
    for (line, word) in COMPLETED {
        let script = format!(
            "zmodload zsh/zpty; zpty shell zsh -f -i; \
             zpty -w shell 'fpath=(./functions $fpath); autoload -U compinit; compinit -u -D; \
             bindkey \"^I\" list-choices; print BEGIN'; \
             zpty -r shell all '*BEGIN*BEGIN*'; zpty -n -w shell $'{line}\\t'; \
             for i in {{1..100}}; do sleep 0.1; while zpty -r -t shell part; do all+=$part; done; \
             [[ $all == *'{word}'* ]] && break; done; print -r -- $all"
        );
        let Some(out) = in_shell(&folder, "zsh", &["-f", "-c", &script]) else { return };
        assert!(out.contains(word), "{line}: {out}");
    }
}

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
