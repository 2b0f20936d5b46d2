//! Words in classes, identifiers and texts by which pages tell what surrounds their content.

/// Words for surroundings, whatever the element holds, unless that is most of the prose.
pub(super) const VERY: &str = "\
    addthis addtoany alsolike banquan breadcrumb breadcrumbs byline cart colophon \
    commentform consent cookie cookiebot cookies copyright crumb crumbs daohang dialog dibu \
    disclaimer dropdown feedback fenxiang flyout followus foot footer footnav fusszeile gdpr \
    latest legal lightbox login mailchimp mainnav masthead megamenu menu menus minicart \
    modal morelikethis nav navbar navi navigation navmenu newsletter offcanvas onetrust \
    optin outbrain pagenav pager pagination paginator pingback pingbacks popup readnext \
    recent recentposts recirc recommend recommendation recommendations recommended \
    recommends register related relatedposts replyform respond seitenleiste share sharebar \
    sharedaddy shares sharing signin signup skip skiplink social socials submenu subnav \
    subscribe subscription taboola teilen topbar topnav trackback trackbacks tuijian upnext \
    verwandte widgets xiangguan youmaylike";
/// Words for surroundings even of most of the prose.
pub(super) const SURE: &str = "\
    breadcrumb breadcrumbs consent cookie cookiebot cookies copyright footer gdpr modal \
    newsletter onetrust optin popup signup";
/// Words for surroundings of a small part of the prose.
pub(super) const STRONG: &str = "\
    aboutauthor addthis addtoany ads adsbygoogle adsense advert advertisement adverts \
    alsolike anzeige aside authorbio authorbox backtotop banquan bio breadcrumb breadcrumbs \
    byline cart colophon commentform complementary consent cookie cookiebot cookies \
    copyright credits crumb crumbs daohang dialog dibu disclaimer drawer dropdown feedback \
    fenxiang flyout followus foot footer footnav fusszeile gdpr guanggao hot hotnews \
    kommentar latest legal lightbox login mailchimp mainnav masthead megamenu menu menus \
    minicart modal morelikethis mostpopular mostread nav navbar navi navigation navmenu \
    newsletter noprint offcanvas onetrust optin outbrain overlay pagenav pager pagination \
    paginator paging paihang pinglun popover popular popup postnav postnavigation prevnext \
    printonly promo promos promotion rail rank ranking rating ratings readmore readnext \
    recent recently recentposts recirc recommend recommendation recommendations recommended \
    recommends register related relatedposts replyform respond seitenleiste share sharebar \
    sharedaddy shares sharing sidebar sidebars sidenav signin signup skip skiplink social \
    socials sponsor sponsored sponsors sronly submenu subnav subscribe subscription survey \
    taboola tagcloud taglist tags teilen toolbar topbar topnav trending tuijian upnext \
    verwandte werbung widget widgetarea widgets xiangguan youmaylike";
/// Words that are often for surroundings.
pub(super) const LIGHT: &str = "\
    account actions alert also announcement articles author authors avatar banner bar button \
    buttons categories count cta date email excerpt head icons info links logo masthead meta \
    metadata more notice posts prev previous print privacy promotion secondary settings shop \
    side similar sponsor stats tags teaser teasers time toolbar utility";
/// Words that are sometimes for surroundings.
pub(super) const WEAK: &str = "\
    alert also announcement author avatar banner bar bottom btn button buttons caption card \
    cards carousel cat categories category close col collapse count cross cta date details \
    email event events extra facet figcaption filter filters gallery head header hidden icon \
    icons info items language left link links list locale logo message meta metadata mobile \
    more next notice other others partner partners prev previous price print product profile \
    review reviews right search secondary select shop side similar slick slider social sort \
    stats swiper tab tabs tag teaser teasers testimonial testimonials tile tiles toc tool \
    tools top upsell user utility";
/// Words for captions.
pub(super) const CAPTION: &str = "\
    bildunterschrift caption captions credit credits figcaption imgcaption legende";
/// Words for comments on the content.
pub(super) const COMMENT: &str = "\
    comentarios comment commentaires commentlist comments disqus kommentare livefyre pinglun \
    respond";
/// Words for pages of forums.
pub(super) const FORUM: &str = "\
    bbcode bbpress discourse discussion discussions flarum forum forums lia messages phpbb \
    qapage question questions showthread thread threads topic topics vbulletin viewtopic \
    xenforo";
/// Words for the content.
pub(super) const POSITIVE: &str = "\
    article articlebody articlecontent bbwrapper body bodytext content description detail \
    entry entrycontent main maincontent markdown neirong page post postcontent prose \
    richtext rte single story storybody text wenzhang wysiwyg zhengwen";
/// Words for items of a list.
pub(super) const LISTING: &str = "\
    archive card cards catalog collection feed gallery grid item items list listing listings \
    loop masonry posts product products result results tile tiles";
/// Beginnings of headings of sections that are not content.
pub(super) const HEADINGS: &[&str] = &[
    "about author",
    "about the author",
    "add a comment",
    "add your comment",
    "advertisement",
    "also like",
    "antworten abbrechen",
    "anzeige",
    "archiv",
    "archives",
    "articles similaires",
    "articoli correlati",
    "auch interessant",
    "beliebt",
    "blogroll",
    "categories",
    "comentarios",
    "commentaires",
    "commenti",
    "comments",
    "compart",
    "contact us",
    "contents",
    "cookie",
    "copyright",
    "customers also",
    "czytaj także",
    "czytaj też",
    "das könnte",
    "filed under",
    "folgen",
    "follow",
    "follow us",
    "gerelateerd",
    "get the latest",
    "hinterlasse",
    "join our",
    "kategorien",
    "keep reading",
    "komentarze",
    "kommentar",
    "kommentare",
    "latest articles",
    "latest news",
    "latest posts",
    "leave a comment",
    "leave a reply",
    "lees ook",
    "leggi anche",
    "leia também",
    "lesen sie auch",
    "letzte beiträge",
    "lire aussi",
    "log in",
    "login",
    "mehr aus",
    "mehr zum",
    "meistgelesen",
    "menu",
    "more from",
    "more in",
    "more news",
    "more on",
    "more stories",
    "most read",
    "navigation",
    "neueste",
    "newsletter",
    "next post",
    "polecane",
    "popular",
    "post a comment",
    "post navigation",
    "previous post",
    "privacy",
    "quick links",
    "read more",
    "read next",
    "recent articles",
    "recent comments",
    "recent posts",
    "recently viewed",
    "recommended",
    "relacionad",
    "related",
    "responses",
    "schlagw",
    "schreibe einen",
    "search",
    "see also",
    "share",
    "share this",
    "sign up",
    "similar",
    "site map",
    "sponsored",
    "stay connected",
    "stay up to date",
    "subscribe",
    "suche",
    "sur le même",
    "table of contents",
    "tags",
    "te puede",
    "teilen",
    "top stories",
    "trackbacks",
    "trending",
    "up next",
    "veja também",
    "ver también",
    "verwandte",
    "weitere",
    "written by",
    "you may also",
    "you might also",
    "zobacz także",
    "zobacz też",
    "à lire",
    "ähnliche",
    "über den autor",
    "おすすめ",
    "コメント",
    "シェア",
    "ランキング",
    "上一篇",
    "下一篇",
    "为你推荐",
    "举报",
    "人気",
    "免责",
    "关注",
    "关键词",
    "分享",
    "发表评论",
    "声明",
    "広告",
    "延伸阅读",
    "扫一扫",
    "扫码",
    "排行",
    "推荐",
    "推荐阅读",
    "更多",
    "最新",
    "最新评论",
    "标签",
    "注册",
    "点击",
    "热点",
    "热门",
    "版权",
    "猜你喜欢",
    "登录",
    "相关",
    "相关推荐",
    "相关文章",
    "相关新闻",
    "相关阅读",
    "精彩",
    "编辑：",
    "网友评论",
    "订阅",
    "评论",
    "责任编辑",
    "跟贴",
    "返回",
    "関連",
];
/// Beginnings of short blocks that refer to other pages or name sources.
pub(super) const OPENINGS: &[&str] = &[
    "(foto",
    "also read",
    "auch interessant",
    "bewerten",
    "bild:",
    "czytaj także",
    "czytaj też",
    "das könnte",
    "don't miss",
    "dowiedz się więcej",
    "filed under",
    "foto:",
    "gefällt mir",
    "image:",
    "kategorie",
    "le puede interesar",
    "lea más",
    "lea tambien",
    "lea también",
    "lea:",
    "lee también",
    "lees ook",
    "leggi anche",
    "leia mais",
    "leia também",
    "lesen sie auch",
    "lesen sie dazu",
    "lies auch",
    "like this:",
    "lire aussi",
    "läs också",
    "mehr zum thema",
    "photo by",
    "photo:",
    "pingback",
    "posted in",
    "quelle:",
    "read also",
    "read more",
    "recommended:",
    "related:",
    "schlagwörter",
    "see also",
    "source:",
    "tags:",
    "te puede interesar",
    "trackback",
    "vea tambien",
    "vea también",
    "veja também",
    "ver también",
    "via ",
    "weitere artikel",
    "weitere beiträge",
    "weitere informationen zu",
    "you may also",
    "you might also",
    "zobacz także",
    "zobacz też",
    "à lire",
    "关注",
    "关键词",
    "原标题",
    "声明",
    "延伸阅读",
    "扫",
    "推荐阅读",
    "更多",
    "本文",
    "来源：",
    "点击",
    "版权",
    "相关新闻",
    "相关阅读",
    "编辑：",
    "责任编辑",
];
/// Phrases in short blocks that are not content.
pub(super) const PHRASES: &[&str] = &[
    "abonn",
    "add to cart",
    "advertisement",
    "all rights reserved",
    "alle rechte",
    "anmeld",
    "click here",
    "compart",
    "cookie",
    "copyright",
    "datenschutz",
    "download the app",
    "einloggen",
    "email address",
    "facebook",
    "filed under",
    "follow us",
    "gefällt mir",
    "icp备",
    "icp证",
    "impressum",
    "instagram",
    "javascript",
    "kommentar",
    "learn more",
    "leave a",
    "log in",
    "min read",
    "newsletter",
    "opublikowano",
    "pingback",
    "posted by",
    "posted in",
    "posted on",
    "powered by",
    "privacy policy",
    "publicado",
    "published",
    "publié",
    "read more",
    "responsible editor",
    "share this",
    "sign up",
    "skip to",
    "subscribe",
    "tags:",
    "teilen",
    "telegram",
    "terms of",
    "tous droits",
    "unsubscribe",
    "updated",
    "veröffentlicht",
    "view all",
    "whatsapp",
    "your email",
    "youtube",
    "©",
    "举报",
    "京icp",
    "广告",
    "版权",
    "编辑:",
    "编辑：",
    "责任编辑",
];
