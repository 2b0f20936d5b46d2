//! Finds the modules, imports and paths of a source file.
//!
//! This is not a compiler: it reads tokens. It knows enough to tell which file each path leads to.
//! Code that is compiled for unit tests only is left out.

use std::collections::BTreeSet;

use crate::tokens::tokens;

/// What one module says, in the order of the source.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// `mod name;`: modules in files of their own.
    pub(crate) files: Vec<String>,
    /// `mod name { ... }`.
    pub(crate) inline: Vec<(String, Source)>,
    pub(crate) imports: Vec<Import>,
    /// Paths of at least two segments, outside imports.
    pub(crate) paths: Vec<Vec<String>>,
    /// All words outside imports.
    pub(crate) words: BTreeSet<String>,
    /// Names of the items that the module defines.
    pub(crate) items: BTreeSet<String>,
}

/// One name that a `use` brings in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    /// The name in this module; `*` for all names of the path's module.
    pub(crate) name: String,
    /// Whether it is `pub` in some way, and so may serve other modules only.
    pub(crate) is_reexport: bool,
}

pub(crate) fn parse(source: &str) -> Source {
    let tokens = tokens(source);
    Parser { tokens: &tokens, at: 0 }.module()
}

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn advance(&mut self) -> String {
        self.at += 1;
        self.tokens[self.at - 1].clone()
    }

    /// Reads up to the brace that ends the module, or to the end of the file.
    fn module(&mut self) -> Source {
        let mut source = Source::default();
        let mut depth = 0;
        let mut is_public = false;
        while self.at < self.tokens.len() {
            let was_public = std::mem::take(&mut is_public);
            match self.peek(0) {
                "#" => self.attribute(),
                "mod" if is_name(self.peek(1)) => self.submodule(&mut source),
                "use" => self.import(&mut source, was_public),
                "pub" => {
                    self.visibility();
                    is_public = true;
                }
                "{" => {
                    depth += 1;
                    self.at += 1;
                }
                "}" => {
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                    depth -= 1;
                }
                "." => {
                    // A field or method: its name is not a path.
                    self.at += 1;
                    if is_name(self.peek(0)) {
                        source.words.insert(self.advance());
                    }
                }
                word if is_name(word) => self.word(&mut source),
                _ => self.at += 1,
            }
        }
        source
    }

    /// Skips an attribute; if it is `#[cfg(test)]`, the item after it too.
    fn attribute(&mut self) {
        let start = self.at;
        self.at += 1;
        let is_inner = self.peek(0) == "!";
        self.at += usize::from(is_inner);
        self.group();
        let is_test = self.tokens[start..self.at].join("") == "#[cfg(test)]";
        if is_test && !is_inner {
            while self.peek(0) == "#" {
                self.attribute();
            }
            self.item();
        }
    }

    /// Skips an item: up to its semicolon, or to the end of its braces.
    fn item(&mut self) {
        let keywords = ["use", "const", "static", "let", "type"];
        let mut ends_with_braces = true;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                ";" => {
                    self.at += 1;
                    return;
                }
                "{" => {
                    self.group();
                    if ends_with_braces {
                        return;
                    }
                }
                "(" | "[" => self.group(),
                "}" => return,
                word => {
                    let is_function = word == "const" && self.peek(1) == "fn";
                    ends_with_braces &= is_function || !keywords.contains(&word);
                    self.at += 1;
                }
            }
        }
    }

    /// Skips a group in brackets of any kind.
    fn group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips `pub`, `pub(crate)` and the like.
    fn visibility(&mut self) {
        self.at += 1;
        if self.peek(0) == "(" && ["crate", "super", "self", "in"].contains(&self.peek(1)) {
            self.group();
        }
    }

    fn submodule(&mut self, source: &mut Source) {
        self.at += 1;
        let name = self.advance();
        match self.advance().as_str() {
            ";" => source.files.push(name),
            _ => {
                let module = self.module();
                source.inline.push((name, module));
            }
        }
    }

    fn import(&mut self, source: &mut Source, is_reexport: bool) {
        self.at += 1;
        // `use<'a>` in a type is not an import.
        if self.peek(0) != "<" {
            self.tree(Vec::new(), is_reexport, &mut source.imports);
        }
    }

    /// Reads one tree of a `use`, such as `a::{b, c as d, e::*}`.
    fn tree(&mut self, mut path: Vec<String>, is_reexport: bool, found: &mut Vec<Import>) {
        loop {
            match self.peek(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while self.at < self.tokens.len() && self.peek(0) != "}" {
                        self.tree(path.clone(), is_reexport, found);
                        self.at += usize::from(self.peek(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.at += 1;
                    found.push(Import { path, name: "*".to_owned(), is_reexport });
                    return;
                }
                "self" if !path.is_empty() => self.at += 1,
                word if is_name(word) && word != "as" => path.push(self.advance()),
                _ => break,
            }
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if self.peek(0) == "as" {
            self.at += 1;
            name = self.advance();
        }
        found.push(Import { path, name, is_reexport });
    }

    /// Reads a word and the path that it begins.
    fn word(&mut self, source: &mut Source) {
        let defines = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
        if defines.contains(&self.peek(0)) && is_name(self.peek(1)) {
            source.items.insert(self.peek(1).to_owned());
        }
        if self.peek(0) == "macro_rules" {
            source.items.insert(self.peek(2).to_owned());
        }
        let mut path = vec![self.advance()];
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            self.at += 1;
            path.push(self.advance());
        }
        source.words.extend(path.iter().cloned());
        if path.len() > 1 {
            source.paths.push(path);
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[test]
fn imports_are_found_with_their_names() {
    let source = parse("pub(crate) use super::a::{self, b as c, d::*}; use crate::{E, f};");
    let found: Vec<_> =
        source.imports.iter().map(|i| (i.path.join("::"), &*i.name, i.is_reexport)).collect();
    let expected = [
        ("super::a", "a", true),
        ("super::a::b", "c", true),
        ("super::a::d", "*", true),
        ("crate::E", "E", false),
        ("crate::f", "f", false),
    ];
    assert_eq!(found, expected.map(|(path, name, public)| (path.to_owned(), name, public)));
}

#[test]
fn code_for_tests_is_left_out() {
    let source = parse(
        "mod a; #[cfg(test)] mod b; #[cfg(test)] #[expect(c)] fn d() { super::e() }
         #[cfg(test)] const F: [u8; 2] = { super::g() }; #[cfg(test)] use super::{h, i};
         #[cfg(test)] mod j { use super::k; } mod l { fn m() -> super::n::O { p.q() } }",
    );
    assert_eq!(source.files, ["a"]);
    assert!(source.imports.is_empty() && source.paths.is_empty());
    let [(name, inline)] = &source.inline[..] else { panic!("{source:?}") };
    assert_eq!(
        (&**name, &*inline.paths),
        ("l", &[["super", "n", "O"].map(str::to_owned).to_vec()][..])
    );
    assert!(inline.items.contains("m"));
}
