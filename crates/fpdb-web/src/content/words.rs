//! Words in classes, identifiers and texts by which pages tell what surrounds their content.

/// Words for surroundings, whatever the element holds, unless that is most of the prose, besides
/// those of [`SURE`].
pub(super) const VERY: &str = "\
    addthis addtoany alsolike banquan byline cart colophon commentform compartilhar compartir \
    condividi correlati crumb crumbs daohang dialog dibu disclaimer dropdown feedback fenxiang \
    flyout followus foot footnav fussbereich fusszeile gerelateerd kanren kopfzeile latest legal \
    leiatambem lightbox lireaussi liuyan login mailchimp mainnav masthead megamenu menu menus \
    minicart morelikethis nav navbar navi navigation navmenu offcanvas outbrain pagenav pager \
    pagination paginator partager paticka pieddepage piedepagina pingback pingbacks podelitsya \
    podobne podval pohozhie powiazane readnext recent recentposts recirc recommend recommendation \
    recommendations recommended recommends register relacionadas relacionado relacionados related \
    relatedposts replyform respond rodape sdilet seitenleiste share sharebar sharedaddy shares \
    sharing signin skip skiplink social socials souvisejici stopka submenu subnav subscribe \
    subscription taboola teilen topbar topnav trackback trackbacks tuijian udostepnij upnext \
    verwandte widgets xiangguan youmaylike youqing";
/// Words for surroundings even of most of the prose.
pub(super) const SURE: &str = "\
    breadcrumb breadcrumbs consent cookie cookiebot cookies copyright footer gdpr modal newsletter \
    onetrust optin popup signup";
/// Words for surroundings of a small part of the prose, besides those of [`VERY`] and [`SURE`].
pub(super) const STRONG: &str = "\
    aboutauthor ads adsbygoogle adsense advert advertentie advertisement adverts anzeige aside \
    authorbio authorbox backtotop banner banners bio complementary coupon coupons credits diafimisi \
    drawer empfehlungen ftr guanggao gutschein gutscheine hot hotnews jobboard kommentar koukoku \
    kupon kupony lcol leftbar leftcol leftcolumn lenta maisleidas masleidas meistgelesen menusub \
    mostpopular mostread najczesciej najnowsze nejctenejsi nejnovejsi newsticker noprint osusume \
    overlay paging paihang paihangbang paywall paywalled pinglun polecane popover popular \
    popularne popularnye postnav postnavigation prevnext printonly promo promos promotion pubblicita \
    publicidad publicidade publicite rabattcode rail rank ranking rating ratings rcol readmore \
    recently redian registerwall regwall reklam reklama reklamy remen rightbar rightcol rightcolumn \
    shinchaku sidebar sidebars sidenav sponsor sponsored sponsors sronly submenus survey tagcloud \
    taglist tags ticker toolbar trending voucher vouchers werbung widget widgetarea zuixin";
/// Words that are often for surroundings.
pub(super) const LIGHT: &str = "\
    account actions alert also announcement articles author authors avatar banner bar button \
    buttons categories count cta date email excerpt head icons info links logo masthead meta \
    metadata more notice posts prev previous print privacy promotion secondary settings shop side \
    similar sponsor stats tags teaser teasers time toolbar utility";
/// Words that are sometimes for surroundings.
pub(super) const WEAK: &str = "\
    actualites alert also announcement author avatar banner bar bottom btn button buttons caption \
    card cards carousel cat categories category close col collapse column count cross cta date \
    details eidiseis email event events extra facet figcaption filter filters gallery head header \
    hidden icon icons info items language lcol left leftcol link links list locale logo message \
    meta metadata mobile more nachrichten next notice noticias novosti other others partner \
    partners prev previous price print product profile rcol review reviews right rightcol search \
    secondary select shop side sidecol similar slick slider social sort stats swiper tab tabs tag \
    teaser teasers testimonial testimonials tile tiles toc tool tools top upsell user utility \
    wiadomosci";
/// Words for captions.
pub(super) const CAPTION: &str = "\
    bildunterschrift caption captions credit credits figcaption imgcaption legende";
/// Words for comments on the content.
pub(super) const COMMENT: &str = "\
    comentario comentarios comment commentaire commentaires commentary commenti commentlist \
    comments daetgeul diskuse diskuze disqus dyskusja feedbacks gentie komentar komentare \
    komentarii komentarz komentarze kommentare kommentarer kommentarii kommentariy kommenty \
    liuyan livefyre opinia opinie opinii optresc otzyv otzyvy pinglun reacties readercomments \
    respond scholia sxolia usercomments";
/// Words for pages of forums.
pub(super) const FORUM: &str = "\
    bbcode bbpress discourse discussion discussions flarum foren foro foros forum forumas forums \
    lia messages phpbb qapage question questions showthread tema temas thread threads topic \
    topics vbulletin viewtopic xenforo";
/// Words for the content.
pub(super) const POSITIVE: &str = "\
    article articlebody articlecontent bbwrapper body bodytext content description detail entry \
    entrycontent main maincontent markdown neirong page post postcontent prose richtext rte \
    single story storybody text wenzhang wysiwyg zhengwen";
/// Words for items of a list.
pub(super) const LISTING: &str = "\
    archive card cards catalog collection feed gallery grid item items list listing listings loop \
    masonry posts product products result results tile tiles";
/// Classes of elements that are not shown until a script shows them.
pub(super) const CONCEALED: [&str; 17] = [
    "d-none",
    "display-none",
    "displaynone",
    "dn",
    "hidden",
    "hide",
    "is-hidden",
    "invisible",
    "js-hidden",
    "no-display",
    "noshow",
    "screen-reader-text",
    "sr-only",
    "u-hidden",
    "uk-hidden",
    "visually-hidden",
    "visuallyhidden",
];
/// Words for the numbers of lines of code.
pub(super) const GUTTER: &str = "\
    gutter linenodiv lineno linenos linenumber linenumbers linenum linenums ln lnt lnum numbering";
/// Beginnings of headings of sections that are not content, divided by bars.
pub(super) const HEADINGS: &str = "\
    abonnez|about author|about the author|add a comment|add your comment|advertisement|also like|\
    antworten abbrechen|anzeige|archiv|archives|articles liés|articles similaires|\
    articoli correlati|artículos relacionados|auch interessant|beliebt|blogroll|categories|\
    comentarios|commentaires|commenti|comments|compart|contact us|contents|cookie|copyright|\
    customers also|czytaj także|czytaj też|czytaj więcej|další články|dans la même|das könnte|\
    deja un comentario|derniers articles|diskuse|dodaj komentarz|etiquetas|filed under|folgen|\
    follow|follow us|gerelateerd|get the latest|hinterlasse|join our|kategorien|keep reading|\
    komentarz|komentarze|komentáře|kommentar|kommentare|laisser un commentaire|latest articles|\
    latest news|latest posts|leave a comment|leave a reply|lees ook|leggi anche|leia também|\
    les plus lus|lesen sie auch|letzte beiträge|lire aussi|lo más|log in|login|mehr aus|mehr zum|\
    meistgelesen|menu|mohlo by vás|more from|more in|more news|more on|more stories|most read|\
    más noticias|más sobre|najczęściej|najnowsze|navigation|nejnovější|nejčtenější|neueste|\
    newsletter|next post|noticias relacionad|opinie|partager|podobne|polecamy|polecane|popular|\
    post a comment|post navigation|powiązane|previous post|privacy|publicidad|publicité|přečtěte|\
    quick links|read more|read next|recent articles|recent comments|recent posts|recently viewed|\
    recommended|reklama|relacionad|related|responses|schlagw|schreibe einen|sdílet|search|\
    see also|share|share this|sign up|similar|site map|související|sponsored|stay connected|\
    stay up to date|subscribe|suche|sur le même|suscríb|table of contents|tagi|tags|también te|\
    te puede|te recomendamos|teilen|top stories|trackbacks|trending|udostępnij|up next|\
    veja também|ver también|verwandte|voir aussi|weitere|więcej|written by|you may also|\
    you might also|zobacz także|zobacz też|à découvrir|à lire|ähnliche|últimas noticias|\
    über den autor|δημοφιλ|διαβάστε|διαφήμιση|κοινοποίηση|μοιραστείτε|περισσότερα|προτεινόμενα|\
    πρόσφατα|ροή ειδήσεων|σχετικά|σχόλια|τελευταία νέα|добавить комментарий|другие новости|\
    еще по теме|ещё по теме|комментари|материалы по теме|новости партн|новости по теме|\
    оставить комментарий|по теме|поделиться|подпис|популярн|последние новости|похожие|реклама|\
    рекомендуем|самое читаемое|см. также|смотрите также|также по теме|читайте также|читать также|\
    أخبار ذات|إعلان|اشترك|اقرأ أيضا|اقرأ المزيد|الأكثر قراءة|التعليقات|المزيد|تعليقات|ذات صلة|\
    شارك|مواضيع ذات|और पढ|टिप्पणी|ताज़ा|ताजा|यह भी पढ|ये भी पढ|लोकप्रिय|विज्ञापन|शेयर|संबंधित|\
    ข่าวที่เกี่ยวข้อง|ข่าวล่าสุด|ความคิดเห็น|ยอดนิยม|อ่านต่อ|อ่านเพิ่มเติม|เกี่ยวข้อง|แชร์|แท็ก|\
    แสดงความคิดเห็น|あわせて読みたい|おすすめ|この記事をシェア|アーカイブ|カテゴリ|コメント|シェア|スポンサー|タグ|トラックバック|プロフィール|ランキング|上一篇|\
    下一篇|为你推荐|举报|人気|免责|关注|关键词|分享|前の記事|发表评论|合わせて読みたい|声明|広告|延伸阅读|扫一扫|扫码|排行|推荐|推荐阅读|新着|更多|最新|最新記事|\
    最新评论|标签|次の記事|注册|点击|热点|热门|版权|猜你喜欢|登录|相关|相关推荐|相关文章|相关新闻|相关阅读|精彩|编辑：|网友评论|订阅|评论|责任编辑|跟贴|返回|関連|공유|\
    관련|광고|구독|다음글|댓글|많이 본|이전글|인기|최신|추천|태그";
/// Beginnings of short blocks that refer to other pages or name sources, divided by bars.
pub(super) const OPENINGS: &str = "\
    (foto|also read|auch interessant|bewerten|bild:|bron:|crédit photo|czytaj także|czytaj też|\
    das könnte|don't miss|dowiedz się więcej|etiquetas:|filed under|fonte:|fot.|foto -|foto:|\
    fuente:|gefällt mir|image:|kategorie|kilde:|le puede interesar|lea más|lea tambien|\
    lea también|lea:|lee también|lees ook|leggi anche|leia mais|leia também|lesen sie auch|\
    lesen sie dazu|lies auch|like this:|lire aussi|läs också|mehr zum thema|photo :|photo by|\
    photo:|pingback|posted in|quelle:|read also|read more|recommended:|related:|schlagwörter|\
    see also|source :|source:|tagi:|tags:|te puede interesar|trackback|vea tambien|vea también|\
    veja também|ver también|via |voir aussi|více na|weitere artikel|weitere beiträge|\
    weitere informationen zu|you may also|you might also|zdroj:|zobacz także|zobacz też|à lire|\
    źródło:|διαβάστε|πηγή:|σχετικά άρθρα|источник -|источник:|по теме:|подробнее|см. также|\
    смотрите также|теги:|фото:|читайте также|читать далее|اقرأ أيضا|المصدر|यह भी पढ|ये भी पढ|\
    ที่มา|อ่านต่อ|อ่านเพิ่มเติม|あわせて読みたい|关注|关键词|出典|原标题|声明|延伸阅读|扫|推荐阅读|更多|本文|来源：|点击|版权|相关新闻|相关阅读|\
    编辑：|责任编辑|関連記事|관련기사|사진=|출처";
/// Phrases in short blocks that are not content, divided by bars.
pub(super) const PHRASES: &str = "\
    abonn|add to cart|advertisement|all rights reserved|alle rechte|alle rechten|anmeld|\
    click here|compart|cookie|copyright|czytaj dalej|datenschutz|dodaj komentarz|download the app|\
    einloggen|email address|facebook|filed under|follow us|gefällt mir|icp备|icp证|impressum|\
    instagram|javascript|kommentar|learn more|leave a|log in|min read|newsletter|odnoklassniki|\
    opublikowano|pingback|posted by|posted in|posted on|powered by|privacy policy|publicado|\
    published|publié|read more|responsible editor|share this|sign up|skip to|subscribe|tags:|\
    teilen|telegram|terms of|todos los derechos|todos os direitos|tous droits|tutti i diritti|\
    unsubscribe|updated|veröffentlicht|view all|vkontakte|všechna práva|whatsapp|wszelkie prawa|\
    your email|youtube|©|με επιφύλαξη|πνευματικ|вконтакте|все права защищены|добавить комментарий|\
    просмотров|твиттер|جميع الحقوق|सर्वाधिकार|สงวนลิขสิทธิ์|举报|京icp|广告|無断転載|版权|编辑:|编辑：|责任编辑|무단 전재|\
    무단전재|저작권자";
