//! The tree of the elements that lay out a page, and the blocks of text in them.
//!
//! The tree is the one that a browser builds, as far as it matters which element a block is in: end
//! tags that pages leave out are added, and an end tag ends everything that is open within its
//! element. Elements within a line are not in the tree. Time and memory are linear in the size of
//! the page: an element is opened and closed once, and the innermost open element of each name is
//! known without a search.

use memchr::memmem;

use super::about;
use super::marks::Marks;
use crate::html::attributes::{self, Attributes};
use crate::html::tokens::{self, Element as Role, Token, Tokens};
use crate::html::writer::{Block, Writer};

/// A page: its text in blocks, and the elements that these are in.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
    /// The first element is the page itself. An element comes after its parent.
    pub(super) elements: Vec<Element>,
    pub(super) title: &'a str,
    /// Scripts that hold linked data (JSON-LD).
    pub(super) data: Vec<&'a str>,
    /// Scripts that hold what the page is to show, for other scripts.
    pub(super) states: Vec<&'a str>,
    /// Scripts of other JSON, which can be anything.
    pub(super) json: Vec<&'a str>,
    /// What the page says of itself, for search engines and previews.
    pub(super) description: &'a str,
    /// Whether the page says that it is an article.
    pub(super) is_article: bool,
    /// For each picture, video and sound that is not a link: how many blocks are before it.
    pub(super) media: Vec<u32>,
}

/// An element that lays out the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub(super) parent: u32,
    /// The blocks in it: from the first up to, but not including, the end.
    pub(super) first: u32,
    pub(super) end: u32,
    /// The number of the run of like siblings that it belongs to.
    pub(super) run: u32,
    pub(super) tag: Tag,
    /// The level of a heading, else 0.
    pub(super) level: u8,
    /// What its attributes say.
    pub(super) marks: Marks,
    /// A hash of the names and first classes of this element and of the two that enclose it.
    /// Elements with the same hash repeat a structure.
    pub(super) like: u64,
}

macro_rules! tags {
    ($($tag:ident $names:pat,)*) => {
        /// The name of an element, where it matters.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Tag { $($tag,)* Custom, Other }

        impl Tag {
            fn of(name: &[u8]) -> Self {
                match name {
                    $($names => Self::$tag,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

tags! {
    Body b"body",
    Div b"div",
    P b"p",
    Li b"li",
    Dt b"dt",
    Dd b"dd",
    Ul b"ul",
    Ol b"ol",
    Dl b"dl",
    Table b"table",
    Row b"tr",
    Cell b"td" | b"th",
    Rows b"tbody" | b"thead" | b"tfoot",
    Caption b"caption",
    Heading b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6",
    Pre b"pre" | b"listing" | b"xmp" | b"plaintext",
    Quote b"blockquote",
    Figure b"figure",
    Figcaption b"figcaption",
    Section b"section",
    Article b"article",
    Main b"main",
    Nav b"nav",
    Aside b"aside",
    Footer b"footer",
    Header b"header",
    Form b"form",
    Address b"address",
    Dialog b"dialog",
    Menu b"menu",
    Noscript b"noscript",
}

/// The number of tags.
const TAGS: usize = Tag::Other as usize + 1;

impl Tag {
    /// Whether `<li>` closes an open `<li>` through this element.
    fn is_transparent(self) -> bool {
        matches!(
            self,
            Self::Div | Self::P | Self::Address | Self::Li | Self::Dt | Self::Dd | Self::Custom
        )
    }
}

/// An element that is open.
struct Open {
    element: u32,
    tag: Tag,
    /// A hash of its name and first class.
    key: u64,
    /// The latest children: their keys and their runs.
    children: [(u64, u32); 2],
}

struct Builder {
    writer: Writer,
    elements: Vec<Element>,
    stack: Vec<Open>,
    /// The places in the stack of the open elements of each tag.
    open: [Vec<u32>; TAGS],
    /// The places in the stack of the elements that `<li>` does not look through.
    barriers: Vec<u32>,
    /// The height of the stack where the open link began.
    link: usize,
    runs: u32,
    media: Vec<u32>,
    /// The open elements that are not in the tree.
    excess: usize,
}

/// The deepest element, as in browsers, and the largest number of elements. What is in further ones
/// counts as text of the elements around them.
const MAX_DEPTH: usize = 512;
const MAX_ELEMENTS: usize = 1 << 18;

/// Bytes that the text of a button may have. A longer one lacks its end tag.
const BUTTON: usize = 4096;

/// Builds the tree of a page, with all that is in it.
pub(super) fn build(html: &str) -> Page<'_> {
    let mut builder = Builder::new(html.len());
    let (mut title, mut data, mut states, mut json) = ("", Vec::new(), Vec::new(), Vec::new());
    let (mut description, mut is_article) = ("", false);
    let mut tokens = Tokens::with_noscript(html);
    let mut button_end = 0;
    while let Some(token) = tokens.next() {
        let tag = match token {
            Token::Text(text) => {
                builder.writer.write(text);
                continue;
            }
            Token::Tag(tag) => tag,
        };
        match tag.name.as_bytes() {
            b"title" if title.is_empty() => title = tag.raw,
            b"meta" => {
                let (name, content) = about::meta(tag.attributes);
                is_article |= name.eq_ignore_ascii_case("og:type")
                    && content.trim().eq_ignore_ascii_case("article");
                if description.is_empty() && about::is_description(name) {
                    description = content;
                }
            }
            b"script" if attributes::mention(tag.attributes, b"ld+json") => data.push(tag.raw),
            b"script" if is_state(&tag) => states.push(tag.raw),
            b"script" if attributes::mention(tag.attributes, b"application/json") => {
                json.push(tag.raw)
            }
            b"span" if !tag.close && builder.writer.is_pre && is_line_number(tag.attributes) => {
                let rest = html.as_bytes().get(tokens.offset()..).unwrap_or_default();
                let is_number = |b: &u8| b.is_ascii_digit() || b.is_ascii_whitespace();
                let length = rest.iter().take_while(|b| is_number(b)).count();
                tokens.skip_to(tokens.offset() + length);
            }
            b"button" if !tag.close && builder.innermost(Tag::Heading).is_none() => {
                // What a button says is not text, if the button has an end.
                let at = tokens.offset();
                if button_end < at {
                    let rest = html.as_bytes().get(at..).unwrap_or_default();
                    button_end = memmem::find(rest, b"</button").map_or(usize::MAX, |end| at + end);
                }
                if button_end.saturating_sub(at) <= BUTTON {
                    tokens.skip_to(button_end);
                }
            }
            _ => builder.tag(&tag),
        }
    }
    is_article |= data.iter().any(|script| about::says_article(script));
    builder.pop_to(0);
    let text = builder.writer.finish();
    let elements = builder.elements;
    Page {
        text: text.text,
        blocks: text.blocks,
        elements,
        title,
        data,
        states,
        json,
        description,
        is_article,
        media: builder.media,
    }
}

/// Returns whether a script holds what the page is to show, as frameworks that build pages in the
/// browser write it.
fn is_state(tag: &tokens::Tag) -> bool {
    const NAMES: [&[u8]; 5] = [
        b"__NUXT__",
        b"__INITIAL_STATE__",
        b"__PRELOADED_STATE__",
        b"__APOLLO_STATE__",
        b"__DATA__",
    ];
    let start = tag.raw.as_bytes().get(..200).unwrap_or(tag.raw.as_bytes());
    attributes::mention(tag.attributes, b"_DATA__")
        || NAMES.iter().any(|name| memmem::find(start, name).is_some())
}

/// Returns whether attributes say that an element within a line numbers it.
fn is_line_number(attributes: &[u8]) -> bool {
    Marks::of(&attributes::parse(attributes)).has(Marks::GUTTER)
}

impl Builder {
    fn new(size: usize) -> Self {
        let mut builder = Self {
            writer: Writer::new(size),
            elements: Vec::new(),
            stack: Vec::new(),
            open: std::array::from_fn(|_| Vec::new()),
            barriers: Vec::new(),
            link: 0,
            runs: 0,
            media: Vec::new(),
            excess: 0,
        };
        builder.push(Tag::Body, 0, &Attributes::default());
        builder
    }

    fn tag(&mut self, tag: &tokens::Tag) {
        let separator = match tag.element {
            Role::Inline if tag.custom => '\n',
            Role::Inline | Role::Raw | Role::Hidden => {
                if !tag.close && !self.writer.is_link && is_media(tag.name.as_bytes()) {
                    self.media.push(number(self.writer.blocks()));
                }
                return;
            }
            Role::Break => return self.writer.break_line(),
            Role::Link => {
                // Links do not nest: one without an end ends where the next begins.
                self.writer.is_link = !tag.close;
                self.link = self.stack.len();
                return;
            }
            Role::Cell => ' ',
            _ => '\n',
        };
        self.writer.end_block(separator);
        let name = match tag.custom {
            true => Tag::Custom,
            false => Tag::of(tag.name.as_bytes()),
        };
        match name {
            _ if tag.close && self.excess > 0 => self.excess -= 1,
            _ if tag.close => self.close(name),
            Tag::Body => self.describe_body(tag),
            _ if matches!(tag.name.as_bytes(), b"hr" | b"html" | b"head" | b"template") => {}
            // A form that begins between the rows of a table is empty.
            Tag::Form if self.top().is_some_and(is_table) => {}
            _ => {
                self.close_implied(name);
                if self.stack.len() >= MAX_DEPTH || self.elements.len() >= MAX_ELEMENTS {
                    self.excess += 1;
                    return;
                }
                let level = match (name, tag.name.as_bytes()) {
                    (Tag::Heading, [_, digit]) => digit.saturating_sub(b'0'),
                    _ => 0,
                };
                self.push(name, level, &attributes::parse(tag.attributes));
            }
        }
        self.writer.is_pre = self.innermost(Tag::Pre).is_some();
    }

    /// The page itself is the element of `<body>`.
    fn describe_body(&mut self, tag: &tokens::Tag) {
        if let Some(body) = self.elements.first_mut() {
            body.marks = body.marks.of_page(&attributes::parse(tag.attributes));
        }
    }

    fn top(&self) -> Option<Tag> {
        self.stack.last().map(|open| open.tag)
    }

    /// Returns the place in the stack of the innermost open element of this tag.
    fn innermost(&self, tag: Tag) -> Option<usize> {
        self.open.get(tag as usize)?.last().map(|&place| place as usize)
    }

    /// Returns the place in the stack of the innermost table, cell or caption.
    fn scope(&self) -> usize {
        let places = [Tag::Table, Tag::Cell, Tag::Caption].map(|tag| self.innermost(tag));
        places.into_iter().flatten().max().unwrap_or_default()
    }

    /// Closes the elements that this start tag ends.
    fn close_implied(&mut self, tag: Tag) {
        if self.top() == Some(Tag::P) {
            self.pop_to(self.stack.len() - 1);
        }
        let table = self.innermost(Tag::Table).unwrap_or_default();
        let last = |tags: &[Tag]| tags.iter().filter_map(|&tag| self.innermost(tag)).max();
        let (place, least) = match tag {
            Tag::Li => (last(&[Tag::Li]), self.barrier()),
            Tag::Dt | Tag::Dd => (last(&[Tag::Dt, Tag::Dd]), self.barrier()),
            // What a cell, row or group of rows closes, it closes with the elements in it.
            Tag::Cell => (self.innermost_after(&[Tag::Cell, Tag::Caption], table), table),
            Tag::Row => (self.innermost_after(&[Tag::Row, Tag::Cell, Tag::Caption], table), table),
            Tag::Rows => (
                self.innermost_after(&[Tag::Rows, Tag::Row, Tag::Cell, Tag::Caption], table),
                table,
            ),
            Tag::Heading if self.top() == Some(Tag::Heading) => (last(&[Tag::Heading]), 0),
            _ => (None, 0),
        };
        if let Some(place) = place.filter(|&place| place > least) {
            self.pop_to(place);
        }
    }

    fn barrier(&self) -> usize {
        self.barriers.last().map_or(0, |&place| place as usize)
    }

    /// Returns the outermost place after `table` of the innermost open elements of these tags.
    fn innermost_after(&self, tags: &[Tag], table: usize) -> Option<usize> {
        let places = tags.iter().filter_map(|&tag| self.innermost(tag));
        places.filter(|&place| place > table).min()
    }

    fn close(&mut self, tag: Tag) {
        if tag == Tag::Body {
            return;
        }
        let place = self.innermost(tag);
        let is_part = matches!(tag, Tag::Table | Tag::Cell | Tag::Caption | Tag::Row | Tag::Rows);
        let least =
            if is_part { self.innermost(Tag::Table).unwrap_or_default() } else { self.scope() + 1 };
        if let Some(place) = place.filter(|&place| place >= least.max(1)) {
            self.pop_to(place);
        }
    }

    fn push(&mut self, tag: Tag, level: u8, attributes: &Attributes) {
        let marks = Marks::of(attributes);
        let key = (attributes.key << 8) ^ tag as u64;
        let run = self.run(key);
        let parent = self.stack.last().map_or(0, |open| open.element);
        let around = self.stack.iter().rev().zip([21, 42]);
        let like = around.fold(key, |like, (open, bits)| like ^ open.key.rotate_left(bits));
        let (element, place) = (number(self.elements.len()), number(self.stack.len()));
        let first = number(self.writer.blocks());
        self.elements.push(Element { parent, first, end: first, run, tag, level, marks, like });
        self.stack.push(Open { element, tag, key, children: [(0, 0); 2] });
        if let Some(open) = self.open.get_mut(tag as usize) {
            open.push(place);
        }
        if !tag.is_transparent() {
            self.barriers.push(place);
        }
        self.writer.element = element;
    }

    /// Returns the run of a new child: that of one of its two siblings before it, if it is like it.
    fn run(&mut self, key: u64) -> u32 {
        let Some(open) = self.stack.last_mut() else { return 0 };
        let found = open.children.iter().find(|(child, run)| *run > 0 && *child == key);
        let run = match found {
            Some((_, run)) => *run,
            None => {
                self.runs += 1;
                self.runs
            }
        };
        if let [last, before] = &mut open.children
            && last.0 != key
        {
            *before = *last;
            *last = (key, run);
        }
        run
    }

    /// Closes the open elements from this place on.
    fn pop_to(&mut self, place: usize) {
        if self.stack.len() > place {
            self.writer.end_block('\n');
        }
        let end = number(self.writer.blocks());
        while self.stack.len() > place {
            let Some(open) = self.stack.pop() else { return };
            if let Some(places) = self.open.get_mut(open.tag as usize) {
                places.pop();
            }
            if !open.tag.is_transparent() {
                self.barriers.pop();
            }
            if let Some(element) = self.elements.get_mut(open.element as usize) {
                element.end = end;
            }
        }
        // A link without an end ends with the element that it is in.
        if self.stack.len() < self.link {
            self.writer.is_link = false;
        }
        self.writer.element = self.stack.last().map_or(0, |open| open.element);
    }
}

/// Returns a count of elements or blocks, of which a page has fewer than 2³².
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn is_media(name: &[u8]) -> bool {
    matches!(name, b"img" | b"video" | b"audio" | b"iframe" | b"object" | b"embed")
}

fn is_table(tag: Tag) -> bool {
    matches!(tag, Tag::Table | Tag::Row | Tag::Rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks, each with the tags of the elements around it.
    fn blocks(html: &str) -> Vec<String> {
        let page = build(html);
        let describe = |block: &Block| {
            let mut text = page.text[block.start..block.end].to_owned();
            let mut element = block.element as usize;
            while element > 0 {
                text += &format!(" {:?}", page.elements[element].tag);
                element = page.elements[element].parent as usize;
            }
            text
        };
        page.blocks.iter().map(describe).collect()
    }

    #[test]
    fn what_a_page_says_of_itself_and_its_media_are_found() {
        let page = build(
            "<meta property=og:type content=article><meta content='A flood' name=description>\
             <p>one<img src=1>two<p>three<a href=x><img src=2></a></p><video src=v></video>",
        );
        assert_eq!((page.description, page.is_article), ("A flood", true));
        assert_eq!(page.media, [0, 2]);
        let data = "<script type=application/ld+json>{\"@type\": \"NewsArticle\"}</script>";
        assert!(build(data).is_article && !build("<p>Article").is_article);
    }

    #[test]
    fn end_tags_that_pages_leave_out_are_added() {
        for (html, expected) in [
            ("<p>a<p>b<div>c</div>d", &["a P", "b P", "c Div", "d"][..]),
            (
                "<ul><li>a<li>b<ul><li>c</ul>d</ul>e",
                &["a Li Ul", "b Li Ul", "c Li Ul Li Ul", "d Li Ul", "e"],
            ),
            ("<ul><li><div>a<li>b</ul>", &["a Div Li Ul", "b Li Ul"]),
            ("<dl><dt>a<dd>b<dt>c</dl>", &["a Dt Dl", "b Dd Dl", "c Dt Dl"]),
            (
                "<table><tr><td>a<td>b<tr><td>c</table>d",
                &["a Cell Row Table", "b Cell Row Table", "c Cell Row Table", "d"],
            ),
            (
                "<table><tr><td><table><tr><td>a</table>b</table>c",
                &["a Cell Row Table Cell Row Table", "b Cell Row Table", "c"],
            ),
            ("<h2>a<h3>b</h3>c", &["a Heading", "b Heading", "c"]),
        ] {
            assert_eq!(blocks(html), expected, "{html}");
        }
    }

    #[test]
    fn end_tags_end_what_is_open_within_their_element_and_nothing_else() {
        for (html, expected) in [
            ("<nav><ul><li>a</nav>b", &["a Li Ul Nav", "b"][..]),
            ("<div>a</section>b</p>c</div>d", &["a Div", "b Div", "c Div", "d"]),
            (
                "<div><table><tr><td>a</div>b</table>c</div>d",
                &["a Cell Row Table Div", "b Cell Row Table Div", "c Div", "d"],
            ),
            ("a</body></html>b", &["a", "b"]),
            ("<x-card>a</x-card>b", &["a Custom", "b"]),
            ("<table><form><tr><td>a</form></table>b", &["a Cell Row Table", "b"]),
        ] {
            assert_eq!(blocks(html), expected, "{html}");
        }
    }

    #[test]
    fn elements_are_alike_if_they_and_the_two_around_them_have_like_names_and_first_classes() {
        let page = build(
            "<ul class=x><li class='a b'><p>1</p><li class='a c'><p>2</p><li class=d><p>3</p></ul>\
             <ol class=x><li class=a><p>4</p></ol>",
        );
        let like = |block: usize| page.elements[page.blocks[block].element as usize].like;
        assert_eq!(like(0), like(1));
        assert_ne!(like(0), like(2));
        assert_ne!(like(0), like(3));
    }

    #[test]
    fn a_link_without_an_end_ends_with_its_element() {
        let page = build("<ul><li><a href=x>a</ul><p>b");
        assert_eq!(page.blocks.iter().map(|block| block.linked).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn what_buttons_say_is_dropped_unless_it_is_a_heading_or_has_no_end() {
        let html = "a <button>b</button>c<h2><button>d</button></h2><button>e";
        assert_eq!(blocks(html), ["a c", "d Heading", "e"]);
    }

    #[test]
    fn what_is_not_closed_in_noscript_ends_with_it() {
        for open in ["<iframe src=x />", "<style>", "<textarea>", "<!-- x"] {
            assert_eq!(blocks(&format!("<noscript>{open}</noscript><p>a")), ["a P"], "{open}");
        }
    }

    #[test]
    fn elements_beyond_the_limits_are_not_in_the_tree() {
        let deep = format!("{}a{}b", "<div>".repeat(1000), "</div>".repeat(1000));
        let page = build(&deep);
        assert_eq!((page.elements.len(), page.blocks.len()), (MAX_DEPTH, 2));
        assert_eq!(page.blocks[1].element, 0);
        assert_eq!(build(&"<div></div>".repeat(2 * MAX_ELEMENTS)).elements.len(), MAX_ELEMENTS);
    }
}
