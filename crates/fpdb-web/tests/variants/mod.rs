//! What stands beside or between the paragraphs of an article is not its text, and what belongs to
//! it is: the same article in eight languages, with each of these things in several kinds of
//! markup.

mod languages;

use std::collections::HashSet;
use std::path::Path;

use fpdb_web::{Extracted, Extractor, SkipReason};

use languages::{LANGUAGES, Language};

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let is_letter = c.is_alphanumeric();
        let is_wide = matches!(c, '\u{2e80}'..='\u{9fff}');
        if is_letter && in_word && !is_wide {
            words.last_mut().unwrap().extend(c.to_lowercase());
        } else if is_letter {
            words.push(c.to_lowercase().collect());
        }
        in_word = is_letter && !is_wide;
    }
    words
}

/// The Jaccard similarity of the pairs of words of two texts.
fn similarity(a: &str, b: &str) -> f64 {
    let [a, b] =
        [a, b].map(|text| words(text).windows(2).map(<[String]>::to_vec).collect::<HashSet<_>>());
    a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64
}

const MENU: &str = "<nav><ul><li><a href=/>Home</a><li><a href=/n>News</a><li><a href=/s>Sport</a><li><a href=/c>Contact</a></ul></nav>";
const FOOTER: &str =
    "<footer><a href=/i>Imprint</a> <p>© 2026 The Dyke Herald. All rights reserved.</p></footer>";

fn page(language: &Language, body: &str) -> String {
    let Language { code, title, .. } = language;
    format!(
        "<!doctype html><html lang={code}><meta charset=utf-8><title>{title} - The Dyke Herald</title><body>{MENU}{body}{FOOTER}"
    )
}

fn text(html: &[u8]) -> String {
    Extractor::default()
        .document("http://a.example/", "text/html", html)
        .page()
        .map_or_else(String::new, |page| page.text)
}

fn paragraphs(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("<p>{text}</p>\n")).collect()
}

/// Elements around an article: `TEXT` stands for its paragraphs, and `TITLE` for its title.
const AROUND: [&str; 3] = [
    "<main><article><h1>TITLE</h1>TEXT</article></main>",
    "<div id=x1><div class=x2><h1>TITLE</h1><div class=x3>TEXT</div></div></div>",
    "<div class=page><h2>TITLE</h2><section>TEXT</section></div>",
];

/// Checks that all variants but `missed` give the text of the article, with or without its title.
/// The number is exact, so that it is lowered when a rule gets better.
fn check(name: &str, missed: usize, variants: Vec<(String, String)>) {
    const ALIKE: f64 = 0.97;
    /// The similarity does not show what stands in a text many times.
    const LONGER: f64 = 1.1;
    assert!(variants.len() >= 8, "{name}: {}", variants.len());
    let wrong = variants.iter().filter_map(|(html, expected)| {
        let found = text(html.as_bytes());
        let title = html.split_once("<title>").unwrap().1.split_once(" - ").unwrap().0;
        let body = found.strip_prefix(title).unwrap_or(&found);
        let similarity = similarity(body, expected);
        let is_right = similarity >= ALIKE && body.len() as f64 <= LONGER * expected.len() as f64;
        (!is_right).then(|| format!("{similarity:.2} {html}\n--- {found}\n"))
    });
    let wrong: Vec<String> = wrong.collect();
    eprintln!("{name}: {} of {} wrong", wrong.len(), variants.len());
    assert!(wrong.len() == missed, "{name}: {} wrong\n{}", wrong.len(), wrong.concat());
}

/// Where something stands that is not part of an article.
#[derive(Clone, Copy)]
enum Place {
    /// After each of the first two paragraphs.
    Between,
    /// After the last paragraph, in the same element.
    After,
    /// After the elements around the article.
    Below,
}

/// Pages with something in this place, beside an article of so many paragraphs.
fn with(
    things: impl Fn(&Language) -> Vec<String>,
    place: Place,
    length: usize,
) -> Vec<(String, String)> {
    let mut variants = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        for (kind, thing) in things(language).into_iter().enumerate() {
            let article = &language.article[..length];
            let inner = match place {
                Place::Between => {
                    let [first, second, rest @ ..] = article else { unreachable!() };
                    format!("<p>{first}</p>{thing}<p>{second}</p>{thing}{}", paragraphs(rest))
                }
                Place::After => paragraphs(article) + &thing,
                Place::Below => paragraphs(article),
            };
            let around = AROUND[(number + kind) % AROUND.len()];
            let mut body = around.replace("TITLE", language.title).replace("TEXT", &inner);
            if matches!(place, Place::Below) {
                body += &thing;
            }
            variants.push((page(language, &body), article.join("\n")));
        }
    }
    variants
}

#[test]
fn most_offers_and_notices_between_paragraphs_are_not_part_of_the_text() {
    let boxes = |language: &Language| {
        let [head, price, items, members, login] = language.offers;
        vec![
            format!(
                "<div class=u1><h3>{head}</h3><p>{price}</p><ul><li>{items}<li>{members}</ul><p>{login}</p></div>"
            ),
            format!("<section><p>{members}</p><p>{login} <a href=/in>{head}</a></p></section>"),
            format!(
                "<aside class=paywall><strong>{head}</strong><p>{price}</p><p>{login}</p></aside>"
            ),
        ]
    };
    check("offers", 2, with(boxes, Place::Between, 5));
}

#[test]
fn most_consents_to_other_content_are_not_part_of_the_text() {
    let boxes = |language: &Language| {
        let [head, notice, consent] = language.consent;
        vec![
            format!("<div class=b9><p>{head}</p><p>{notice}</p><p>{consent}</p></div>"),
            format!(
                "<figure><div><h4>{head}</h4><p>{notice}</p><label><input type=checkbox> {consent}</label></div></figure>"
            ),
        ]
    };
    check("consents", 2, with(boxes, Place::Between, 5));
}

#[test]
fn some_lines_below_pictures_and_videos_are_not_part_of_the_text() {
    let boxes = |language: &Language| {
        let [line, audio] = language.media;
        let (caption, title) = (language.coupons[3], language.title);
        vec![
            format!("<div class=m><img src=1.jpg><p>{line}</p></div>"),
            format!(
                "<div class=m><video src=v></video><p>{title}, {caption}</p><p>{line}</p></div>"
            ),
            format!(
                "<figure><img src=1><figcaption>{caption}</figcaption></figure><p class=d>{audio}</p>"
            ),
        ]
    };
    check("media lines", 10, with(boxes, Place::Between, 5));
}

#[test]
fn most_coupons_below_an_article_are_not_part_of_it() {
    let boxes = |language: &Language| {
        let items = |item: &dyn Fn(&str, &str) -> String| -> String {
            let parts = language.coupons.map(|text| text.split_once([':', '：']).unwrap());
            parts.map(|(shop, offer)| item(shop.trim(), offer.trim())).concat().repeat(2)
        };
        let divided = items(&|shop, offer| {
            format!("<div class=z2><a href=/g>{shop}</a><span>{offer}</span></div>")
        });
        let linked = items(&|shop, offer| format!("<li><a href=/g>{shop}: {offer}</a>"));
        vec![format!("<div class=z1>{divided}</div>"), format!("<ul>{linked}</ul>")]
    };
    check("coupons", 0, with(boxes, Place::After, 5));
}

#[test]
fn most_comments_that_outweigh_an_article_are_not_part_of_it() {
    let boxes = |language: &Language| {
        let items = |count: usize, item: &dyn Fn(usize, &str) -> String| -> String {
            (0..count).map(|i| item(i, language.comments[i % 4])).collect()
        };
        vec![
            format!(
                "<section class=comments><h2>40</h2>{}</section>",
                items(40, &|i, text| {
                    format!(
                        "<div class=comment id=c{i}><span class=author>Ina{i}</span> <time>2026-05-{:02}</time><p>{i} {text}</p></div>",
                        i % 28 + 1
                    )
                })
            ),
            format!(
                "<div class=talk><h3>12</h3><ul>{}</ul></div>",
                items(12, &|i, text| {
                    format!(
                        "<li class=m><div><a href=/u/{i}>Kai{i}</a> <span>{}.05.2026, 8:1{}</span></div><div class=t><p>{text} {i}</p></div>",
                        i + 1,
                        i % 10
                    )
                })
            ),
        ]
    };
    check("comments", 1, with(boxes, Place::Below, 5));
}

#[test]
fn panels_that_are_not_shown_are_not_part_of_the_text() {
    let boxes = |language: &Language| {
        let [head, notice, ..] = language.consent;
        let help = paragraphs(&language.comments);
        vec![
            format!("<div class='tools hide'><h3>{head}</h3>{help}<p>{notice}</p></div>"),
            format!("<div style='display: none'><p>{notice}</p>{help}</div>"),
        ]
    };
    check("hidden panels", 0, with(boxes, Place::After, 2));
}

/// Programs in the manners of several languages.
fn programs() -> [String; 4] {
    let lines = |count: usize, line: &dyn Fn(usize) -> String| -> String {
        (1..=count).map(line).collect()
    };
    [
        lines(60, &|i| {
            format!(
                "    let wheel_{i} = Wheel::new({i}, {{ teeth: {}, ratio: {i}.0 / 7.5 }});\n",
                i * 3
            )
        }),
        lines(40, &|i| {
            format!(
                "$ mill grind --sacks {i} --out flour{i}.bin\nread {i} sacks, {} teeth: ok; wrote flour{i}.bin (took {i}.{i} ms)\n",
                i * 7
            )
        }),
        lines(80, &|i| {
            format!(
                "  {{\"tooth\": {i}, \"length\": {}.5, \"wood\": [\"oak\", \"ash\"], \"cut\": \"2019-11-{:02}\"}},\n",
                i % 9,
                i % 28 + 1
            )
        }),
        lines(50, &|i| {
            format!("if (wind[{i}] > {i}) {{ brake({i}, wind[{i}] - {i}); }} // gust {i}\n")
        }),
    ]
}

#[test]
fn program_code_in_an_article_is_part_of_it() {
    let mut variants = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        for (place, code) in programs().into_iter().enumerate() {
            let escaped = code.replace('&', "&amp;").replace('<', "&lt;");
            let pre = [
                "<pre>CODE</pre>",
                "<pre><code>CODE</code></pre>",
                "<div class=highlight><pre>CODE</pre></div>",
            ][place % 3];
            let inner = paragraphs(&language.article) + &pre.replace("CODE", &escaped);
            let body = AROUND[number % 3].replace("TITLE", language.title).replace("TEXT", &inner);
            variants.push((page(language, &body), language.article.join("\n") + "\n" + &code));
        }
    }
    check("code", 0, variants);
}

#[test]
fn numbers_of_lines_of_code_are_not_part_of_it() {
    let mut variants = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        let code = &programs()[number % 4];
        let lines: Vec<String> =
            code.lines().map(|line| line.replace('&', "&amp;").replace('<', "&lt;")).collect();
        let numbers: Vec<String> = (1..=lines.len()).map(|number| number.to_string()).collect();
        for block in [
            format!(
                "<table><tr><td class=gutter><pre>{}</pre><td class=code><pre>{}</pre></table>",
                numbers.join("\n"),
                lines.join("\n")
            ),
            format!(
                "<figure><table><tr><td><pre>{}</pre><td><pre>{}</pre></table></figure>",
                numbers.iter().map(|n| format!("<span>{n}</span><br>")).collect::<String>(),
                lines.iter().map(|line| format!("<span>{line}</span><br>")).collect::<String>(),
            ),
            format!(
                "<pre><code>{}</code></pre>",
                numbers
                    .iter()
                    .zip(&lines)
                    .map(|(n, line)| format!("<span class=lineno>{n}</span>{line}\n"))
                    .collect::<String>(),
            ),
        ] {
            let inner = paragraphs(&language.article[..1 + number % 3]) + &block;
            let body = AROUND[number % 3].replace("TITLE", language.title).replace("TEXT", &inner);
            variants.push((
                page(language, &body),
                language.article[..1 + number % 3].join("\n") + "\n" + code,
            ));
        }
    }
    check("line numbers", 0, variants);
}

#[test]
fn the_text_is_found_where_the_page_holds_it() {
    let mut variants = Vec::new();
    for language in &LANGUAGES {
        let article = paragraphs(&language.article);
        let joined = language.article.join("\\n\\n").replace('"', "\\\"");
        let title = language.title;
        let json = |body: &str| {
            format!(
                "{{\"@type\":\"NewsArticle\",\"headline\":\"{title}\",\"articleBody\":\"{body}\"}}"
            )
        };
        let script = |json: &str| format!("<script type='application/ld+json'>{json}</script>");
        let other = format!(
            "{{\"@type\":\"Comment\",\"text\":\"{}\"}}",
            language.comments.join(" ").repeat(4)
        );
        let teaser = format!("<main><h1>{title}</h1><p>{}</p></main>", language.article[0]);
        let marked = language.article.map(|text| format!("<p>{text}<\\/p>")).concat();
        let comments: String = language
            .comments
            .iter()
            .cycle()
            .take(12)
            .map(|text| format!("<div class=c><b>Ina</b><p>{text}</p></div>"))
            .collect();
        for body in [
            format!(
                "<a-story><template shadowrootmode=open><style>p{{}}</style><h1>{title}</h1>{article}</template></a-story>"
            ),
            language
                .article
                .map(|text| {
                    format!("<x-p><template shadowrootmode='open'><p>{text}</p></template></x-p>")
                })
                .concat(),
            format!("{}{teaser}", script(&json(&joined))),
            format!(
                "{}<main><p>Loading</p></main>",
                script(&format!("[{other},{}]", json(&marked)))
            ),
            format!(
                "<div id=app></div><script id=__NEXT_DATA__ type='application/json'>{{\"props\":{{\"title\":\"{title}\",\"body\":\"{joined}\"}}}}</script>"
            ),
            format!(
                "<div id=app></div><script>window.__NUXT__={{data:[{{post:{{content:\"{marked}\"}}}}]}}</script>"
            ),
            format!(
                "<div id=s><h1>{title}</h1><noscript>{article}</noscript></div><div id=t>{comments}</div>"
            ),
        ] {
            variants.push((page(language, &body), language.article.join("\n")));
        }
    }
    check("text elsewhere", 0, variants);
}

#[test]
fn an_article_beside_many_links_is_the_text() {
    let mut variants = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        let links = |count: usize, item: &str| {
            item.replace("WORDS", &language.coupons[0].chars().take(20).collect::<String>())
                .repeat(count)
        };
        for list in [
            format!("<ul>{}</ul>", links(150, "<li><a href=x>WORDS</a>")),
            format!("<div>{}</div>", links(400, "<a href=x>WORDS</a> ")),
            format!("<table><tr>{}</table>", links(300, "<td><a href=x>WORDS</a><tr>")),
        ] {
            let body = AROUND[number % 3]
                .replace("TITLE", language.title)
                .replace("TEXT", &paragraphs(&language.article));
            variants.push((page(language, &format!("{body}{list}")), language.article.join("\n")));
            variants.push((page(language, &format!("{list}{body}")), language.article.join("\n")));
        }
    }
    check("links", 0, variants);
}

/// What scripts have yet to fill is no text, and is the same on all pages of a site.
#[test]
fn a_page_of_menus_and_footers_only_has_no_text() {
    let mut wrong = Vec::new();
    for language in &LANGUAGES {
        let [first, second, third, last] = language.coupons;
        let menu = |text: &str| {
            format!("<li><a href=/m>{}</a>", text.chars().take(12).collect::<String>())
        };
        let menus = format!("<ul id=menu>{}</ul>", [first, second, third, last].map(menu).concat());
        for body in [
            "<main></main>".to_owned(),
            format!("{menus}<div id=app></div>"),
            format!(
                "<div class=sidebar>{menus}</div><div id=root></div><div class=footer>{menus}</div>"
            ),
        ] {
            let html = page(language, &body);
            let outcome = Extractor::default().document("u", "text/html", html.as_bytes());
            if outcome != Extracted::Skipped(SkipReason::NoText) {
                wrong.push(format!("{html}\n--- {outcome:?}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.concat());
}

/// Pages of articles without the article: teasers of other articles, and notices, which no name or
/// role marks as surroundings. They are the same on many pages.
#[test]
fn most_pages_without_the_article_that_they_promise_have_no_text() {
    let mut wrong = Vec::new();
    for language in &LANGUAGES {
        let teaser = |text: &&str| format!("<div class=x7><h4><a href=/t>{text}</a></h4></div>");
        let teasers: String = language.coupons.iter().map(teaser).collect();
        let links = language.coupons.map(|text| format!("<li><a href=/m>{text}</a>")).concat();
        let [notice, price, ..] = language.offers;
        let [first, second, ..] = language.article;
        for left in [
            format!("<ul>{links}</ul><div id=a></div><div class=x6>{teasers}</div>"),
            format!("<div class=x1></div><div class=x6>{teasers}{teasers}</div><p>{notice}</p>"),
            format!("<div class=x1></div><p>{price}</p><ul>{links}{links}</ul><p>{notice}</p>"),
        ] {
            let head = format!(
                "<meta property=og:type content=article><meta name=description content=\"{first} {second}\">"
            );
            let html = page(language, &left).replace("<body>", &format!("{head}<body>"));
            let found = text(html.as_bytes());
            if !found.is_empty() {
                wrong.push(format!("{html}\n--- {found}\n"));
            }
        }
    }
    eprintln!("without article: {} of {} wrong", wrong.len(), 3 * LANGUAGES.len());
    assert_eq!(wrong.len(), 6, "{}", wrong.concat());
}

#[test]
fn short_articles_among_teasers_are_the_text() {
    for language in &LANGUAGES {
        let teaser = |text: &&str| format!("<div class=x7><h4><a href=/t>{text}</a></h4></div>");
        let teasers: String = language.coupons.iter().map(teaser).collect();
        let [first, second, ..] = language.article;
        for article in [format!("<p>{first}</p>"), format!("<p>{first}</p><p>{second}</p>")] {
            for head in [
                format!(
                    "<meta property=og:type content=article><meta name=description content=\"{first}\">"
                ),
                String::new(),
            ] {
                let left = format!("<div class=x1>{article}</div><div class=x6>{teasers}</div>");
                let html = page(language, &left).replace("<body>", &format!("{head}<body>"));
                let found = text(html.as_bytes());
                assert!(found.contains(first), "{html}\n--- {found}");
            }
        }
    }
}

#[test]
fn the_text_of_pages_that_mislead_is_nearly_that_of_the_article() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edge/misleading");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "html") {
            let found = text(&std::fs::read(&path).unwrap());
            let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap();
            let similarity = similarity(&found, &expected);
            assert!(similarity >= 0.8, "{}: {similarity:.2}\n{found}", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 13);
}
