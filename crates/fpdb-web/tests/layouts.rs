//! The text of an article does not depend on the layout that a site puts it in.

use fpdb_web::Extraction;

const ARTICLES: [(&str, [&str; 3]); 3] = [
    (
        "Harbour stays closed",
        [
            "The harbour of the old town has been closed to ships since Monday, because a crane fell \
             into the water during a storm, and nobody can say when it will be lifted out again.",
            "Engineers from two companies examined the place on Tuesday. They found that the crane \
             lies across the only channel that is deep enough, so that even small ferries have to stop.",
            "A decision about the lifting is expected next week, when a larger ship arrives from the \
             north, unless the weather gets worse again.",
        ],
    ),
    (
        "New species of fish found",
        [
            "Researchers found an unknown species of fish near the southern coast of the island last \
             year, as they report now. It lives at a depth of more than two thousand metres.",
            "The animals are about as long as a hand, nearly transparent, and have no eyes. How they \
             find their food in the dark is one of the questions that the next journey should answer.",
            "The species has no name yet. Schools of the island may send proposals until the end of \
             the month, and a jury of children will choose among them.",
        ],
    ),
    (
        "大雨之后河水上涨",
        [
            "连日来的大雨使得河水水位不断上涨，沿岸的几个村庄已经开始转移老人和孩子，学校暂时停课，村里的广播每隔一个小时播报一次最新的水情。",
            "水利部门的工作人员说，上游的水库从星期二开始放水，预计两天之内水位会下降到警戒线以下，但是夜里的巡查一刻也不能放松。",
            "村民们把粮食搬到了二楼，年轻人轮流在堤坝上值班。一位老人告诉记者，上一次这样的大水还是三十年前的事情，那时候堤坝远没有现在这样坚固。",
        ],
    ),
];

/// Layouts, with `TITLE` and with `TEXT` as paragraphs.
const LAYOUTS: [&str; 3] = [
    "<nav><ul><li><a href=/>Home</a><li><a href=/n>News</a><li><a href=/s>Sport</a></ul></nav><main>\
     <article><h1>TITLE</h1>TEXT</article></main><footer><p>© 2024 The Daily Example. All rights \
     reserved.</p></footer>",
    "<div id=header><a href=/>Home</a> <a href=/n>News</a> <a href=/s>Sport</a></div><div \
     class=content><h1>TITLE</h1><div class=entry-content>TEXT</div><div class='related-posts'><h3>\
     Related</h3><ul><li><a href=/1>Storm damages roofs</a><li><a href=/2>What a crane costs</a></ul>\
     </div></div><div class=sidebar><h3>Newsletter</h3><p>Subscribe to our newsletter and never miss \
     what happens in the town.</p></div>",
    "<div class='cookie-banner'><p>This site uses cookies to improve your visit. By going on you \
     agree to our policy, which you can read at any time.</p><button>Accept</button></div><div \
     class=page><h1>TITLE</h1>TEXT</div><div class=comments><h3>Comments</h3><p>Thank you for this, I \
     had no idea that it was so bad.</p></div><div class=footer>Imprint</div>",
];

fn text(layout: &str, (title, paragraphs): (&str, [&str; 3])) -> String {
    let paragraphs = paragraphs.map(|paragraph| format!("<p>{paragraph}</p>")).concat();
    let body = layout.replace("TITLE", title).replace("TEXT", &paragraphs);
    let page = format!("<!doctype html><title>{title} - The Daily Example</title><body>{body}");
    Extraction::default().text(&page)
}

#[test]
fn an_article_has_the_same_text_in_every_layout() {
    for article in ARTICLES {
        let expected = article.1.join("\n");
        for layout in LAYOUTS {
            assert_eq!(text(layout, article), expected, "{layout}");
        }
    }
}

/// Layouts in which an element that holds the menu is never closed, so that it holds the article
/// too.
const UNCLOSED: [&str; 12] = [
    "<nav>MENU<h1>TITLE</h1>TEXT MORE",
    "<nav>LINKS<h1>TITLE</h1>TEXT MORE",
    "<nav>LINKS<br><b>TITLE</b><br>LINES<br>MORE",
    "<div class=nav>MENU<h1>TITLE</h1>TEXT MORE",
    "<div id=menu>LINKS<h1>TITLE</h1>TEXT",
    "<div role=navigation>MENU<div><h1>TITLE</h1>TEXT</div>MORE",
    "<div class=sidebar>MENU<div><h1>TITLE</h1>TEXT</div>",
    "<header>MENU<h1>TITLE</h1>TEXT MORE",
    "<div>LINKS<h1>TITLE</h1>TEXT",
    "<table><tr><td><nav>MENU<td><h1>TITLE</h1>TEXT</table>MORE",
    "<table><tr><td class=menu>LINKS<tr><td><table><tr><td>LINKS<td><h1>TITLE</h1>TEXT</table></table>",
    "<nav><table><tr><td>LINKS<td><b>TITLE</b><br>LINES</table>MORE",
];

#[test]
fn an_article_is_not_lost_in_a_menu_that_is_not_closed() {
    let names = ["Home", "News", "Sport", "Politics", "Weather", "Contact"];
    let links = names.map(|name| format!("<a href=/{name}>{name}</a>"));
    let menu = format!("<ul>{}</ul>", links.clone().map(|link| format!("<li>{link}")).concat());
    let more = |i| format!("<li><a href=/{i}>A longer headline number {i} about the town</a>");
    let more = format!("<h3>More</h3><ul>{}</ul>", (0..12).map(more).collect::<String>());
    for layout in UNCLOSED {
        let layout = layout.replace("MENU", &menu).replace("LINKS", &links.join(" "));
        let layout = layout.replace("MORE", &more);
        for article in ARTICLES {
            let text = text(&layout.replace("LINES", &article.1.join("<br><br>")), article);
            for part in article.1 {
                assert!(text.contains(part), "{layout}: {text}");
            }
        }
    }
}
