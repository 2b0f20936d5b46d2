//! What the attributes of an element say it is for.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::words;
use crate::html::attributes::Attributes;

/// A set of marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks(u32);

macro_rules! marks {
    ($($name:ident $bit:literal,)*) => {
        impl Marks {
            $(pub(super) const $name: Self = Self(1 << $bit);)*
        }
    };
}

marks! {
    VERY 0,
    SURE 1,
    STRONG 2,
    LIGHT 3,
    WEAK 4,
    CAPTION 5,
    COMMENT 6,
    FORUM 7,
    POSITIVE 8,
    LISTING 9,
    HIDDEN 10,
    // Roles of WAI-ARIA.
    SURROUNDING 11,
    BANNER 12,
    MAIN 13,
    ARTICLE 14,
    BODY 15,
    // The numbers of lines of code.
    GUTTER 16,
    // Hidden by the name of a class.
    CONCEALED 17,
}

/// Bytes of a word that can be in the lists.
const MAX_WORD: usize = 24;

impl Marks {
    /// Returns what the attributes of an element say.
    pub(super) fn of(attributes: &Attributes) -> Self {
        let mut marks = Self::default();
        marks.add_words(attributes.class);
        marks.add_words(attributes.id);
        if has_line_number(attributes.class) {
            marks.add(Self::GUTTER);
        }
        if attributes.is_hidden {
            marks.add(Self::HIDDEN);
        }
        if is_concealed(attributes.class) {
            marks.add(Self::CONCEALED);
        }
        if !attributes.role.is_empty() {
            for role in attributes.role.to_ascii_lowercase().split(u8::is_ascii_whitespace) {
                marks.add_role(role);
            }
        }
        if attributes.itemprop.eq_ignore_ascii_case(b"articlebody") {
            marks.add(Self::BODY);
        }
        marks
    }

    /// Adds what the attributes of `<body>` say of the page.
    pub(super) fn of_page(mut self, attributes: &Attributes) -> Self {
        self.add(Self(Self::of(attributes).0 & Self::FORUM.0));
        self
    }

    pub(super) fn has(self, marks: Self) -> bool {
        self.0 & marks.0 != 0
    }

    pub(super) const fn or(self, marks: Self) -> Self {
        Self(self.0 | marks.0)
    }

    pub(super) fn add(&mut self, marks: Self) {
        self.0 |= marks.0;
    }

    fn add_role(&mut self, role: &[u8]) {
        match role {
            b"navigation" | b"contentinfo" | b"complementary" | b"search" | b"dialog"
            | b"alertdialog" | b"menu" | b"menubar" | b"tablist" | b"toolbar" => {
                self.add(Self::SURROUNDING);
            }
            b"banner" => {
                self.add(Self::SURROUNDING);
                self.add(Self::BANNER);
            }
            b"main" => self.add(Self::MAIN),
            b"article" => self.add(Self::ARTICLE),
            _ => {}
        }
    }

    /// Adds the marks of the words of a class or an identifier: runs of letters, which a capital
    /// after a small letter divides.
    fn add_words(&mut self, value: &[u8]) {
        let mut word = [0; MAX_WORD];
        let (mut length, mut capital) = (0, false);
        for &byte in value.iter().chain(b" ") {
            let is_capital = byte.is_ascii_uppercase();
            if !byte.is_ascii_alphabetic() || is_capital && !capital {
                self.add_word(word.get(..length).unwrap_or_default());
                length = 0;
            }
            capital = is_capital;
            if byte.is_ascii_alphabetic() {
                if let Some(place) = word.get_mut(length) {
                    *place = byte.to_ascii_lowercase();
                }
                // A longer word is in no list.
                length = (length + 1).min(MAX_WORD + 1);
            }
        }
    }

    fn add_word(&mut self, word: &[u8]) {
        if word.len() >= 2
            && let Some(&marks) = lists().get(word)
        {
            self.add(marks);
        }
    }
}

/// Returns whether one of the classes hides an element, and none shows it on wide screens.
fn is_concealed(class: &[u8]) -> bool {
    let classes = || class.split(u8::is_ascii_whitespace);
    let hides = |class: &[u8]| {
        let is = |name: &str| class.eq_ignore_ascii_case(name.as_bytes());
        words::CONCEALED.into_iter().any(is)
    };
    classes().any(hides) && !classes().any(is_shown_if_wide)
}

/// Returns whether a class shows an element from some width of the screen on, as `md:block`
/// (Tailwind), `d-lg-flex` (Bootstrap) and `db-l` (Tachyons) do.
fn is_shown_if_wide(class: &[u8]) -> bool {
    let mut parts = class.split(|b| matches!(b, b':' | b'-'));
    let is_width = |part: &[u8]| matches!(part, b"sm" | b"md" | b"lg" | b"xl" | b"xxl" | b"2xl");
    let is_shown = |part: &[u8]| {
        matches!(part, b"block" | b"flex" | b"grid" | b"inline" | b"table" | b"cell" | b"contents")
    };
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_default();
    match first {
        b"db" | b"dib" | b"dt" => matches!(last, b"ns" | b"m" | b"l"),
        b"d" => parts.next().is_some_and(is_width) && is_shown(last),
        _ => is_width(first) && is_shown(last),
    }
}

/// Returns whether a class has the word `line-number`. It is not the end of another word, such as
/// `airline-number`.
fn has_line_number(class: &[u8]) -> bool {
    memchr::memmem::find_iter(class, b"ine-number").any(|at| {
        let before = class.get(..at).unwrap_or_default();
        match before {
            [.., b'L'] | [b'l'] => true,
            [.., byte, b'l'] => !byte.is_ascii_alphabetic(),
            _ => false,
        }
    })
}

/// Returns the words of all lists.
fn lists() -> &'static HashMap<&'static [u8], Marks> {
    static LISTS: OnceLock<HashMap<&[u8], Marks>> = OnceLock::new();
    LISTS.get_or_init(|| {
        let mut all: HashMap<&[u8], Marks> = HashMap::new();
        for (list, marks) in [
            (words::SURE, Marks::SURE.or(Marks::VERY).or(Marks::STRONG)),
            (words::VERY, Marks::VERY.or(Marks::STRONG)),
            (words::STRONG, Marks::STRONG),
            (words::LIGHT, Marks::LIGHT),
            (words::WEAK, Marks::WEAK),
            (words::CAPTION, Marks::CAPTION),
            (words::COMMENT, Marks::COMMENT),
            (words::FORUM, Marks::FORUM),
            (words::POSITIVE, Marks::POSITIVE),
            (words::LISTING, Marks::LISTING),
            (words::GUTTER, Marks::GUTTER),
        ] {
            for word in list.split_ascii_whitespace() {
                all.entry(word.as_bytes()).or_default().add(marks);
            }
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::attributes;

    #[test]
    fn words_are_divided_at_capitals_and_anything_but_letters() {
        for (attributes, mark) in [
            ("class='site-Footer'", Marks::VERY),
            ("class=mainNav", Marks::VERY),
            ("id=COOKIE_2", Marks::SURE),
            ("class='x postBody'", Marks::POSITIVE),
            ("role='Main'", Marks::MAIN),
            ("hidden", Marks::HIDDEN),
            ("class='a d-none'", Marks::CONCEALED),
            ("class='code-line-numbers'", Marks::GUTTER),
            ("class='codeLine-number'", Marks::GUTTER),
            ("class='dn dropdown-block'", Marks::CONCEALED),
            // Shown on paper, or when the pointer is there.
            ("class='d-none d-print-block'", Marks::CONCEALED),
            ("class='hidden group-hover:block'", Marks::CONCEALED),
        ] {
            let marks = Marks::of(&attributes::parse(attributes.as_bytes()));
            assert!(marks.has(mark), "{attributes}");
        }
        for attributes in [
            "class=navigator",
            "class=hide-x",
            "aria-hidden=true",
            "class=unfooterlike",
            "data-class=footer",
            "class=''",
            "class='airline-number hotline-number'",
        ] {
            let marks = Marks::of(&attributes::parse(attributes.as_bytes()));
            assert_eq!(marks, Marks::default(), "{attributes}");
        }
    }

    /// Half of the text of a page was taken for what a script has yet to show.
    #[test]
    fn what_wide_screens_show_is_not_concealed() {
        for attributes in [
            "class='hidden md:block'",
            "class='lg:inline-flex hidden'",
            "class='d-none d-lg-block'",
            "class='d-none d-md-table-cell'",
            "class='dn db-l'",
            "class='dn dib-ns'",
        ] {
            let marks = Marks::of(&attributes::parse(attributes.as_bytes()));
            assert!(!marks.has(Marks::CONCEALED), "{attributes}");
        }
    }
}
