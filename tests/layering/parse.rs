//! Finds the modules, imports and paths of a source file.
//!
//! This is not a compiler: it reads trees of tokens. It knows enough to tell which file each path
//! leads to. Code that is compiled for unit tests only is left out.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What one module says, in the order of the source.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// `mod name;`: modules in files of their own, with the path of the file if it is given.
    pub(crate) files: Vec<(String, Option<String>)>,
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
    let tokens: TokenStream = source.parse().expect("a Rust file");
    let mut parsed = Source::default();
    parsed.read(tokens);
    parsed
}

impl Source {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        let (mut is_public, mut file) = (false, None);
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            match text(token).as_str() {
                "#" => match attribute(&mut rest).as_str() {
                    "cfg(test)" => skip_item(&mut rest),
                    other => {
                        let path = other.strip_prefix("path=\"").and_then(|o| o.strip_suffix('"'));
                        file = path.map(str::to_owned).or(file);
                    }
                },
                "pub" => {
                    is_public = true;
                    rest = without_group(rest);
                    continue;
                }
                "mod" => {
                    if let Some(name) = name(rest.first()) {
                        self.submodule(name, &rest[1..], file.take());
                        rest = &rest[2..];
                    }
                }
                "use" => {
                    let end = rest.iter().position(|t| text(t) == ";").unwrap_or(rest.len());
                    // `use<'a>` in a type is not an import.
                    if rest.first().is_some_and(|t| text(t) != "<") {
                        self.import(&rest[..end], &[], is_public);
                        rest = &rest[end..];
                    }
                }
                // A field or method: its name is not a path.
                "." => {
                    if let Some(name) = name(rest.first()) {
                        self.words.insert(name);
                        rest = &rest[1..];
                    }
                }
                _ => match token {
                    TokenTree::Group(group) => self.read(group.stream()),
                    TokenTree::Ident(word) => self.word(word.to_string(), &mut rest),
                    _ => {}
                },
            }
            is_public = false;
        }
    }

    fn submodule(&mut self, name: String, rest: &[TokenTree], file: Option<String>) {
        match rest.first() {
            Some(TokenTree::Group(group)) => {
                let mut module = Self::default();
                module.read(group.stream());
                self.inline.push((name, module));
            }
            _ => self.files.push((name, file)),
        }
    }

    /// Reads the trees of a `use`, such as `a::{b, c as d, e::*}`.
    fn import(&mut self, trees: &[TokenTree], base: &[String], is_reexport: bool) {
        for tree in trees.split(|t| text(t) == ",").filter(|tree| !tree.is_empty()) {
            let (mut path, mut renamed) = (base.to_vec(), None);
            let mut tokens = tree.iter();
            while let Some(token) = tokens.next() {
                match (text(token).as_str(), token) {
                    ("as", _) => renamed = name(tokens.next()),
                    ("*", _) => renamed = Some("*".to_owned()),
                    ("self", _) if !path.is_empty() => {}
                    (_, TokenTree::Ident(segment)) => path.push(segment.to_string()),
                    (_, TokenTree::Group(group)) => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.import(&inner, &path, is_reexport);
                        path.clear();
                    }
                    _ => {}
                }
            }
            if let Some(name) = renamed.or_else(|| path.last().cloned()) {
                self.imports.push(Import { path, name, is_reexport });
            }
        }
    }

    /// Reads the path that a word begins.
    fn word(&mut self, word: String, rest: &mut &[TokenTree]) {
        let defines = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
        if defines.contains(&word.as_str()) {
            self.items.extend(name(rest.first()));
        }
        if word == "macro_rules" {
            self.items.extend(name(rest.get(1)));
        }
        let mut path = vec![word];
        while let [a, b, segment, ..] = rest
            && text(a) == ":"
            && text(b) == ":"
            && let Some(segment) = name(Some(segment))
        {
            path.push(segment);
            *rest = &rest[3..];
        }
        self.words.extend(path.iter().cloned());
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

/// The text of a token other than a group.
fn text(token: &TokenTree) -> String {
    match token {
        TokenTree::Group(_) => String::new(),
        token => token.to_string(),
    }
}

fn name(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(name)) => Some(name.to_string()),
        _ => None,
    }
}

/// Reads an attribute after its `#`. Returns what it says, without spaces; nothing if it belongs to
/// the module itself.
fn attribute(rest: &mut &[TokenTree]) -> String {
    let is_inner = rest.first().is_some_and(|t| text(t) == "!");
    let Some(TokenTree::Group(group)) = rest.get(usize::from(is_inner)) else {
        return String::new();
    };
    *rest = &rest[1 + usize::from(is_inner)..];
    if is_inner { String::new() } else { group.stream().to_string().replace(' ', "") }
}

/// Skips an item: up to its semicolon, or to the end of its braces.
fn skip_item(rest: &mut &[TokenTree]) {
    let words = ["use", "const", "static", "let", "type"];
    let before_body = rest.split(|t| is_braces(t) || text(t) == ";").next().unwrap_or_default();
    let is_function = before_body.iter().any(|t| text(t) == "fn");
    let ends_with_braces =
        is_function || !before_body.iter().any(|t| words.contains(&text(t).as_str()));
    let is_end = |t: &TokenTree| text(t) == ";" || ends_with_braces && is_braces(t);
    let end = rest.iter().position(is_end).map_or(rest.len(), |end| end + 1);
    *rest = &rest[end..];
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// The tokens after `pub`, without `(crate)` and the like.
fn without_group(rest: &[TokenTree]) -> &[TokenTree] {
    match rest {
        [TokenTree::Group(group), after @ ..] if group.delimiter() == Delimiter::Parenthesis => {
            after
        }
        _ => rest,
    }
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
    assert_eq!(source.files, [("a".to_owned(), None)]);
    assert!(source.imports.is_empty() && source.paths.is_empty());
    let [(name, inline)] = &source.inline[..] else { panic!("{source:?}") };
    assert_eq!(
        (&**name, &*inline.paths),
        ("l", &[["super", "n", "O"].map(str::to_owned).to_vec()][..])
    );
    assert!(inline.items.contains("m"));
}
