//! A seeded generator of URLs such as a crawler sees: sites of very different sizes, each with a
//! few kinds of pages, with dates, slugs, numbers, query strings, percent-encoded and Chinese
//! words.

#![allow(unreachable_pub, reason = "a module of benches")]
#![allow(clippy::cast_possible_truncation, reason = "numbers are small")]
#![allow(clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "numbers are small")]

use std::collections::BTreeSet;

use crate::common::Random;

const SECTIONS: &str = "news blog articles products category about help support docs en forum \
    community events press sports world politics business tech science health travel opinion \
    culture video photos archive shop store reviews recipes research library people services \
    projects";
const SUFFIXES: &[&str] = &[
    "com", "com", "com", "com", "com", "org", "org", "net", "de", "co.uk", "cn", "com.cn", "fr",
    "ru", "jp", "it", "nl", "edu", "io", "pl",
];
const PARTS: &[&str] = &[
    "ab", "ac", "al", "an", "ar", "ba", "ber", "ca", "ce", "con", "cor", "da", "de", "di", "dor",
    "e", "el", "en", "er", "es", "fa", "fi", "for", "ga", "gen", "gra", "ha", "in", "ing", "ion",
    "is", "ja", "ka", "ke", "la", "le", "li", "lo", "ma", "men", "mi", "mo", "na", "ne", "ni",
    "no", "o", "on", "or", "pa", "per", "po", "pre", "ra", "re", "ri", "ro", "sa", "se", "si",
    "so", "sta", "ta", "te", "ter", "ti", "to", "tra", "tri", "un", "ut", "va", "ver", "vi", "wa",
    "we", "y", "za",
];

/// What a site's pages are called.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Article,
    Blog,
    Shop,
    Thread,
    Script,
    Wiki,
    Search,
    Chinese,
    Deep,
    Token,
}

const KINDS: &[Kind] = {
    use Kind::*;
    &[
        Article, Article, Article, Blog, Blog, Shop, Shop, Thread, Script, Wiki, Search, Chinese,
        Deep, Deep, Token,
    ]
};

struct Site {
    start: String,
    kinds: [Kind; 2],
    sections: Vec<String>,
    /// Numbers are below this.
    numbers: u64,
    year: u64,
    is_chinese: bool,
    ending: &'static str,
}

/// Makes URLs.
pub struct Urls {
    random: Random,
    words: Vec<String>,
    sites: Vec<Site>,
}

impl Urls {
    /// Returns `count` different URLs in ascending order.
    pub fn sorted(count: usize, seed: u64) -> Vec<String> {
        let mut urls = Self::new(count, seed);
        let mut all = BTreeSet::new();
        while all.len() < count {
            all.insert(urls.next());
        }
        all.into_iter().collect()
    }

    fn new(count: usize, seed: u64) -> Self {
        let mut urls = Self { random: Random(seed), words: Vec::new(), sites: Vec::new() };
        urls.words = (0..20_000).map(|_| urls.new_word()).collect();
        urls.sites = (0..count / 40 + 2).map(|_| urls.new_site()).collect();
        urls
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    /// Returns a number below `n`, of which small ones are much more frequent: about the law of
    /// Zipf.
    fn skewed(&mut self, n: usize) -> usize {
        let unit = (self.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((n as f64 + 1.0).powf(unit) - 1.0) as usize
    }

    fn new_word(&mut self) -> String {
        (0..2 + self.random.below(3)).map(|_| self.pick(PARTS)).collect()
    }

    fn word(&mut self) -> String {
        let place = self.skewed(self.words.len());
        self.words[place].clone()
    }

    fn words(&mut self, count: u64, between: &str) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(between)
    }

    /// Returns some Chinese characters, most of them percent-encoded.
    fn chinese(&mut self) -> String {
        let count = 2 + self.random.below(5);
        let characters = (0..count).map(|_| {
            char::from_u32(0x4e00 + (self.skewed(6000) * 37 % 20_000) as u32).unwrap_or('网')
        });
        let text: String = characters.collect();
        if self.random.below(4) == 0 {
            return text;
        }
        text.bytes().map(|byte| format!("%{byte:02X}")).collect()
    }

    fn new_site(&mut self) -> Site {
        let scheme = if self.random.below(5) == 0 { "http" } else { "https" };
        let prefix = self.pick(&["www.", "www.", "www.", "", "", "m.", "blog.", "shop.", "en."]);
        let parts = 1 + self.random.below(2);
        let (name, suffix) = (self.words(parts, ""), self.pick(SUFFIXES));
        let (sections, known) = (2 + self.skewed(30), SECTIONS.split(' ').collect::<Vec<_>>());
        let sections = (0..sections).map(|_| match self.random.below(3) {
            0 => self.word(),
            _ => self.pick(&known).to_owned(),
        });
        Site {
            start: format!("{scheme}://{prefix}{name}.{suffix}/"),
            sections: sections.collect(),
            kinds: [self.pick(KINDS), self.pick(KINDS)],
            numbers: 10_000 << self.random.below(14),
            year: 2008 + self.random.below(14),
            is_chinese: suffix.ends_with("cn"),
            ending: self.pick(&["", "", "/", "/", ".html", ".html", ".htm", ".php", ".aspx"]),
        }
    }

    /// Returns the next URL.
    fn next(&mut self) -> String {
        let place = self.skewed(self.sites.len());
        let mut sites = std::mem::take(&mut self.sites);
        let url = self.page_of(&sites[place]);
        std::mem::swap(&mut self.sites, &mut sites);
        url
    }

    fn page_of(&mut self, site: &Site) -> String {
        let section = &site.sections[self.skewed(site.sections.len())];
        let slug_words = 3 + self.random.below(7);
        let is_chinese = site.is_chinese && self.random.below(3) == 0;
        let slug = if is_chinese { self.chinese() } else { self.words(slug_words, "-") };
        let number = self.random.below(site.numbers);
        let year = site.year + self.random.below(4);
        let (month, day) = (1 + self.random.below(12), 1 + self.random.below(28));
        let (start, end) = (&site.start, site.ending);
        match site.kinds[usize::from(self.random.below(5) == 0)] {
            Kind::Article => format!("{start}{section}/{year}/{month:02}/{day:02}/{slug}{end}"),
            Kind::Blog => format!("{start}{year}/{month:02}/{slug}{end}"),
            Kind::Shop => {
                let second = self.word();
                format!("{start}{section}/{second}/{slug}-{number}{end}")
            }
            Kind::Thread => match self.random.below(3) {
                0 => format!("{start}threads/{slug}.{number}/page-{}", 2 + self.skewed(40)),
                _ => format!("{start}threads/{slug}.{number}/"),
            },
            Kind::Script => format!(
                "{start}index.php?option=com_content&view=article&id={number}&catid={}&Itemid={}",
                self.random.below(90),
                self.random.below(400)
            ),
            Kind::Wiki if site.is_chinese => format!("{start}wiki/{}", self.chinese()),
            Kind::Wiki => format!("{start}wiki/{}", self.words(1 + slug_words / 3, "_")),
            Kind::Search => {
                let query = self.words(1 + slug_words % 3, "+");
                format!("{start}search?q={query}&sort=date&page={}", 1 + self.skewed(60))
            }
            Kind::Chinese => {
                format!("{start}{section}/{year}-{month:02}/{day:02}/content_{number}.htm")
            }
            Kind::Deep => {
                let (second, third) = (self.word(), self.words(1 + slug_words % 3, "-"));
                format!("{start}{section}/{second}/{third}{end}")
            }
            Kind::Token => format!("{start}{section}/{:016x}", self.random.next()),
        }
    }
}
