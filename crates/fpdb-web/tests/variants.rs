//! What stands beside or between the paragraphs of an article is not its text, and what belongs to
//! it is: the same article in eight languages, with each of these things in several kinds of markup.

use std::collections::HashSet;
use std::path::Path;

use fpdb_web::{Extracted, Extractor, SkipReason};

/// What pages say in one language: an article, and what is not part of it.
struct Language {
    code: &'static str,
    title: &'static str,
    article: [&'static str; 5],
    /// An offer of a subscription, a registration, and a notice for members.
    offers: [&'static str; 5],
    consent: [&'static str; 3],
    /// Lines with durations and dates, as below videos.
    media: [&'static str; 2],
    coupons: [&'static str; 4],
    comments: [&'static str; 4],
}

const LANGUAGES: [Language; 8] = [
    Language {
        code: "en",
        title: "The windmill turns again",
        article: [
            "For the first time in forty years the old windmill on the dyke is turning again, because five pensioners spent their winters carving new teeth for its wheels.",
            "They worked without a plan, since the last drawing had been eaten by mice, and measured every tooth with a ruler that belonged to the last miller.",
            "On the first windy morning the sails moved so fast that two of the men had to hang on the brake rope until the gust was over.",
            "The flour is dark and a little sandy, the baker reports, but the loaves were sold before noon, and the queue reached the bus stop.",
            "In spring a school class will plant rye beside the mill, so that next year the whole loaf comes from within sight of the tower.",
        ],
        offers: [
            "Enjoy the Dyke Herald without limits",
            "For 2.90 a month you can read all articles, and the first month is free.",
            "Every report, every picture, every crossword of the last thirty years.",
            "This story is reserved for members of our reading club.",
            "Are you a subscriber already? Sign in and go on reading.",
        ],
        consent: [
            "Recommended content from elsewhere",
            "At this place there is a video of another service, which we show only if you agree.",
            "I agree that external content is shown to me and that my data may go to its provider.",
        ],
        media: ["03:41 min | available until 4 June 2030 | Morning magazine", "Audio: 12:05 min"],
        coupons: [
            "Dune Hotel: third night free in November",
            "Sail Shop: 15 % off ropes with code RYE",
            "Dyke Bikes: free rental for children",
            "Mill Bakery: a bun with every bread",
        ],
        comments: [
            "My grandfather was the last miller and I still have his hat somewhere, what a nice story.",
            "Who is going to pay for the next storm, I ask myself, certainly not the five pensioners.",
            "I stood in that queue and it was worth every minute of it, although the sand is real.",
            "Could somebody tell me whether one can visit it on Sundays with a small child and a dog?",
        ],
    },
    Language {
        code: "de",
        title: "Die Windmühle dreht sich wieder",
        article: [
            "Zum ersten Mal seit vierzig Jahren dreht sich die alte Windmühle auf dem Deich, weil fünf Rentner in ihren Wintern neue Zähne für die Räder geschnitzt haben.",
            "Sie arbeiteten ohne Plan, denn die letzte Zeichnung hatten Mäuse gefressen, und vermaßen jeden Zahn mit einem Lineal des letzten Müllers.",
            "Am ersten windigen Morgen liefen die Flügel so schnell, dass sich zwei der Männer an das Seil der Bremse hängen mussten, bis die Bö vorüber war.",
            "Das Mehl ist dunkel und ein wenig sandig, berichtet der Bäcker, aber die Brote waren vor Mittag verkauft, und die Schlange reichte bis zum Bus.",
            "Im Frühjahr sät eine Schulklasse Roggen neben der Mühle, damit im nächsten Jahr das ganze Brot aus der Sichtweite des Turms kommt.",
        ],
        offers: [
            "Den Deichboten ohne Grenzen lesen",
            "Für 2,90 Euro im Monat lesen Sie alle Artikel, der erste Monat ist kostenlos.",
            "Jeder Bericht, jedes Bild, jedes Kreuzworträtsel der letzten dreißig Jahre.",
            "Dieser Text ist den Mitgliedern unseres Leseklubs vorbehalten.",
            "Sind Sie schon Abonnent? Melden Sie sich an und lesen Sie weiter.",
        ],
        consent: [
            "Empfohlener Inhalt von anderswo",
            "Hier steht ein Video eines anderen Dienstes, das wir nur mit Ihrer Zustimmung zeigen.",
            "Ich bin einverstanden, dass mir externe Inhalte gezeigt werden und Daten an den Anbieter gehen.",
        ],
        media: ["03:41 Min. | Verfügbar bis 04.06.2030 | Magazin am Morgen", "Audio: 12:05 Min."],
        coupons: [
            "Dünenhotel: die dritte Nacht gratis im November",
            "Segelladen: 15 % auf Seile mit dem Code ROGGEN",
            "Deichrad: Kinderräder kostenlos leihen",
            "Mühlenbäcker: ein Brötchen zu jedem Brot",
        ],
        comments: [
            "Mein Großvater war der letzte Müller und ich habe noch seinen Hut, so eine schöne Geschichte.",
            "Wer bezahlt eigentlich den nächsten Sturm, frage ich mich, sicher nicht die fünf Rentner.",
            "Ich stand in der Schlange und es hat sich gelohnt, auch wenn der Sand wirklich drin ist.",
            "Kann mir jemand sagen, ob man sonntags mit Kind und Hund hinein darf und was es kostet?",
        ],
    },
    Language {
        code: "fr",
        title: "Le moulin tourne de nouveau",
        article: [
            "Pour la première fois depuis quarante ans, le vieux moulin de la digue tourne, car cinq retraités ont passé leurs hivers à tailler de nouvelles dents pour ses roues.",
            "Ils travaillaient sans plan, puisque des souris avaient mangé le dernier dessin, et mesuraient chaque dent avec la règle du dernier meunier.",
            "Le premier matin de vent, les ailes allaient si vite que deux des hommes ont dû se pendre à la corde du frein jusqu'à la fin de la rafale.",
            "La farine est sombre et un peu sableuse, raconte le boulanger, mais les pains étaient vendus avant midi et la file allait jusqu'à l'arrêt du bus.",
            "Au printemps, une classe sèmera du seigle à côté du moulin, pour que l'an prochain tout le pain vienne de ce que l'on voit de la tour.",
        ],
        offers: [
            "Le Courrier de la Digue sans limites",
            "Pour 2,90 euros par mois, lisez tous les articles ; le premier mois est gratuit.",
            "Chaque reportage, chaque photo, chaque grille des trente dernières années.",
            "Ce texte est réservé aux membres de notre club de lecture.",
            "Déjà abonné ? Connectez-vous et continuez votre lecture.",
        ],
        consent: [
            "Un contenu venu d'ailleurs",
            "Ici se trouve une vidéo d'un autre service, que nous montrons avec votre accord seulement.",
            "J'accepte que des contenus externes soient affichés et que des données soient transmises.",
        ],
        media: [
            "03:41 min | Disponible jusqu'au 4 juin 2030 | Le magazine du matin",
            "Audio : 12:05",
        ],
        coupons: [
            "Hôtel des Dunes : la troisième nuit offerte en novembre",
            "Voilerie : 15 % sur les cordes avec le code SEIGLE",
            "Vélos de la Digue : location gratuite pour enfants",
            "Boulangerie du Moulin : un petit pain offert",
        ],
        comments: [
            "Mon grand-père était le dernier meunier et je garde son chapeau, quelle belle histoire.",
            "Qui paiera la prochaine tempête, je me le demande, sûrement pas les cinq retraités.",
            "J'étais dans cette file et cela valait la peine, même si le sable est bien réel.",
            "Quelqu'un sait-il si l'on peut visiter le dimanche avec un enfant et un petit chien ?",
        ],
    },
    Language {
        code: "es",
        title: "El molino vuelve a girar",
        article: [
            "Por primera vez en cuarenta años gira el viejo molino del dique, porque cinco jubilados pasaron sus inviernos tallando dientes nuevos para las ruedas.",
            "Trabajaron sin plano, pues los ratones se habían comido el último dibujo, y midieron cada diente con una regla que fue del último molinero.",
            "La primera mañana de viento las aspas corrían tanto que dos de los hombres tuvieron que colgarse de la cuerda del freno hasta que pasó la racha.",
            "La harina es oscura y algo arenosa, cuenta el panadero, pero los panes se vendieron antes del mediodía y la cola llegaba a la parada.",
            "En primavera una clase sembrará centeno junto al molino, para que el próximo año todo el pan venga de lo que se ve desde la torre.",
        ],
        offers: [
            "El Heraldo del Dique sin límites",
            "Por 2,90 euros al mes puede leer todos los artículos, y el primer mes es gratis.",
            "Cada reportaje, cada foto, cada crucigrama de los últimos treinta años.",
            "Este texto es solo para socios de nuestro club de lectura.",
            "¿Ya es suscriptor? Inicie sesión y siga leyendo.",
        ],
        consent: [
            "Contenido de otro sitio",
            "Aquí hay un vídeo de otro servicio, que solo mostramos con su permiso.",
            "Acepto que se me muestre contenido externo y que mis datos lleguen a su proveedor.",
        ],
        media: ["03:41 min | Disponible hasta el 4 de junio de 2030", "Audio: 12:05 min"],
        coupons: [
            "Hotel Dunas: la tercera noche gratis en noviembre",
            "Velas y cabos: 15 % de descuento con el código CENTENO",
            "Bicis del Dique: alquiler gratis para niños",
            "Panadería del Molino: un bollo con cada pan",
        ],
        comments: [
            "Mi abuelo fue el último molinero y todavía guardo su sombrero, qué historia tan bonita.",
            "Quién pagará la próxima tormenta, me pregunto yo, seguro que no los cinco jubilados.",
            "Yo estuve en esa cola y valió la pena cada minuto, aunque la arena es de verdad.",
            "Alguien sabe si se puede visitar los domingos con un niño pequeño y con un perro?",
        ],
    },
    Language {
        code: "ru",
        title: "Мельница снова вертится",
        article: [
            "Впервые за сорок лет старая мельница на дамбе снова вертится, потому что пять пенсионеров несколько зим вырезали новые зубья для её колёс.",
            "Они работали без чертежа, ведь последний съели мыши, и измеряли каждый зуб линейкой, которая осталась от последнего мельника.",
            "В первое ветреное утро крылья бежали так быстро, что двоим пришлось висеть на верёвке тормоза, пока не прошёл порыв.",
            "Мука тёмная и немного с песком, рассказывает пекарь, но хлеб раскупили до полудня, а очередь дошла до остановки.",
            "Весной школьники посеют рожь рядом с мельницей, чтобы на следующий год весь хлеб был из того, что видно с башни.",
        ],
        offers: [
            "Читайте «Вестник дамбы» без ограничений",
            "За 290 рублей в месяц вам доступны все статьи, первый месяц бесплатно.",
            "Все репортажи, все снимки и все кроссворды за тридцать лет.",
            "Этот текст только для участников нашего клуба читателей.",
            "Уже есть подписка? Войдите и читайте дальше.",
        ],
        consent: [
            "Материал с другого сайта",
            "Здесь видео другого сервиса, мы покажем его только с вашего согласия.",
            "Я согласен на показ внешних материалов и передачу персональных данных.",
        ],
        media: ["03:41 мин. | Доступно до 04.06.2030 | Утренний журнал", "Аудио: 12:05"],
        coupons: [
            "Отель «Дюны»: третья ночь бесплатно в ноябре",
            "Парусная лавка: скидка 15 % по коду РОЖЬ",
            "Велопрокат: детям бесплатно",
            "Пекарня у мельницы: булочка к каждому хлебу",
        ],
        comments: [
            "Мой дед был последним мельником, и у меня до сих пор лежит его шапка, хорошая история.",
            "Интересно, кто заплатит за следующую бурю, точно не эти пять пенсионеров, я думаю.",
            "Я стоял в этой очереди, и оно того стоило, хотя песок там и правда есть, не шутка.",
            "Подскажите, можно ли прийти туда в воскресенье с маленьким ребёнком и с собакой?",
        ],
    },
    Language {
        code: "zh",
        title: "风车又转起来了",
        article: [
            "四十年来第一次，堤坝上的老风车又转了起来，因为五位退休老人用了好几个冬天的时间，为它的木轮刻出了新的齿。",
            "他们没有图纸，最后一张图早被老鼠吃掉了，于是用最后一位磨坊主留下的尺子，一个一个地量出每个齿的大小。",
            "第一个刮风的早晨，风叶转得太快，两位老人只好吊在刹车的绳子上，一直等到那阵大风过去才敢松手。",
            "面包师说，磨出来的面粉颜色很深，还有一点沙子，可是面包不到中午就卖光了，排队的人一直站到了车站。",
            "到了春天，一个班的小学生会在风车旁边种下黑麦，这样明年的面包就全都来自塔上看得见的地方。",
        ],
        offers: [
            "不限量阅读堤坝日报",
            "每月只需二十九元即可阅读全部文章，首月免费。",
            "三十年来的每一篇报道、每一张照片、每一个字谜。",
            "本文仅供读书会会员阅读。",
            "已经订阅了吗？请登录后继续阅读。",
        ],
        consent: [
            "来自其他网站的内容",
            "这里有一段其他平台的视频，经您同意后才会显示。",
            "我同意显示外部内容，并将数据发送给提供方。",
        ],
        media: ["03:41 分钟｜有效期至2030年6月4日｜早间杂志", "音频：12:05"],
        coupons: [
            "沙丘酒店：十一月住两晚送一晚",
            "帆船用品店：凭优惠码绳索八五折",
            "堤坝单车：儿童免费租用",
            "风车面包房：买面包送小餐包",
        ],
        comments: [
            "我的爷爷就是最后一位磨坊主，他的帽子还在我家里放着呢，真是个好故事啊。",
            "下一次暴风雨谁来付钱呢，我很想知道，反正不会是那五位老人吧，大家说呢。",
            "我那天也排了队，虽然真的有沙子，可是每一分钟都很值得，下次还会再去。",
            "有没有人知道，星期天能不能带着小孩和狗进去参观，要不要先打电话预约呢？",
        ],
    },
    Language {
        code: "ja",
        title: "風車がまた回り始めた",
        article: [
            "堤防の上の古い風車が、四十年ぶりにまた回り始めた。五人の年金生活者が幾冬もかけて、車輪の新しい歯を木から削り出したからだ。",
            "最後の図面はねずみに食べられてしまっていたので、彼らは最後の粉屋が残した物差しで、歯を一本ずつ測りながら作業を進めた。",
            "風の強い最初の朝には羽根があまりに速く回り、突風がおさまるまで二人がブレーキの綱にぶら下がっていなければならなかった。",
            "粉は色が濃くて少し砂がまじっている、とパン屋は話すが、パンは昼前に売り切れ、客の列はバス停まで続いていたという。",
            "春には小学生が風車のそばにライ麦をまき、来年のパンはすべて塔から見える畑のもので焼けるようにするそうだ。",
        ],
        offers: [
            "堤防新聞を読み放題で",
            "月額二百九十円ですべての記事をお読みいただけます。初月は無料です。",
            "三十年分の記事と写真とクロスワードが楽しめます。",
            "この記事は読書会の会員限定です。",
            "すでに購読中の方はログインして続きをお読みください。",
        ],
        consent: [
            "他のサイトのコンテンツ",
            "ここには他社サービスの動画があり、同意いただいた場合だけ表示されます。",
            "外部コンテンツの表示とデータの送信に同意します。",
        ],
        media: ["03:41｜2030年6月4日まで公開｜朝の番組", "音声 12:05"],
        coupons: [
            "砂丘ホテル：十一月は三泊目が無料",
            "帆船用品店：コード入力で綱が15％割引",
            "堤防自転車：子どもは無料",
            "風車ベーカリー：パンを買うと小さなパンを進呈",
        ],
        comments: [
            "私の祖父が最後の粉屋で、帽子がまだ家に残っています。とてもいい話だと思いました。",
            "次の嵐の費用は誰が払うのでしょうね。あの五人ではないことだけは確かですけれど。",
            "私も列に並びました。砂は本当に入っていますが、待った甲斐は十分にありましたよ。",
            "日曜日に小さな子どもと犬を連れて見学できるかどうか、知っている方はいませんか。",
        ],
    },
    Language {
        code: "ko",
        title: "풍차가 다시 돌아간다",
        article: [
            "둑 위의 오래된 풍차가 사십 년 만에 다시 돌아가기 시작했다. 은퇴한 다섯 사람이 여러 겨울 동안 바퀴에 쓸 새 톱니를 깎았기 때문이다.",
            "마지막 도면은 쥐가 먹어 버렸기 때문에 그들은 설계도 없이 일했고, 마지막 방앗간 주인이 남긴 자로 톱니를 하나하나 재었다.",
            "바람이 불던 첫날 아침에는 날개가 너무 빨리 돌아서 두 사람이 돌풍이 지나갈 때까지 제동 밧줄에 매달려 있어야 했다.",
            "밀가루는 색이 어둡고 모래가 조금 섞였지만 빵은 정오 전에 다 팔렸고, 줄은 버스 정류장까지 이어졌다고 빵집 주인은 말한다.",
            "봄에는 초등학생들이 풍차 옆에 호밀을 심어서, 내년에는 탑에서 보이는 밭의 곡식만으로 빵을 구울 수 있게 할 것이다.",
        ],
        offers: [
            "둑 신문을 마음껏 읽으세요",
            "매월 이천구백 원에 모든 기사를 읽을 수 있고 첫 달은 무료입니다.",
            "삼십 년 동안의 모든 기사와 사진과 낱말 퀴즈.",
            "이 글은 독서 모임 회원 전용입니다.",
            "이미 구독 중이신가요? 로그인하고 계속 읽으세요.",
        ],
        consent: [
            "다른 사이트의 콘텐츠",
            "여기에는 다른 서비스의 동영상이 있으며 동의하신 경우에만 보여 드립니다.",
            "외부 콘텐츠를 보는 것과 개인정보 전송에 동의합니다.",
        ],
        media: ["03:41 | 2030년 6월 4일까지 공개 | 아침 방송", "음성 12:05"],
        coupons: [
            "모래언덕 호텔: 십일월 세 번째 밤 무료",
            "돛 가게: 쿠폰 입력 시 밧줄 15% 할인",
            "둑 자전거: 어린이 무료 대여",
            "풍차 빵집: 빵을 사면 작은 빵 증정",
        ],
        comments: [
            "우리 할아버지가 마지막 방앗간 주인이었고 모자가 아직 집에 있어요. 정말 좋은 이야기네요.",
            "다음 폭풍의 비용은 누가 낼까요. 적어도 저 다섯 분은 아닐 것 같은데 궁금합니다.",
            "저도 그 줄에 서 있었는데 모래가 진짜 있긴 해도 기다린 보람이 충분히 있었습니다.",
            "일요일에 어린아이와 강아지를 데리고 구경할 수 있는지 아시는 분이 있으면 알려 주세요.",
        ],
    },
];

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

/// Checks that most variants have the text of the article: all but `missed` of them.
fn check(name: &str, missed: usize, variants: Vec<(String, String)>) {
    assert!(variants.len() >= 8, "{name}: {}", variants.len());
    let wrong = variants.iter().filter_map(|(html, expected)| {
        let found = text(html.as_bytes());
        let similarity = similarity(&found, expected);
        (similarity < 0.8).then(|| format!("{similarity:.2} {html}\n--- {found}\n"))
    });
    let wrong: Vec<String> = wrong.collect();
    if std::env::var_os("FPDB_VARIANTS").is_some() {
        eprintln!("{name}: {} of {} wrong", wrong.len(), variants.len());
    } else {
        assert!(
            wrong.len() <= missed,
            "{name}: {} of {} wrong\n{}",
            wrong.len(),
            variants.len(),
            wrong.concat()
        );
    }
}

/// Pages with something after the article, or after each of its first two paragraphs.
fn with(
    between: impl Fn(&Language) -> Vec<String>,
    is_after: bool,
    length: usize,
) -> Vec<(String, String)> {
    let mut variants = Vec::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        for (place, thing) in between(language).into_iter().enumerate() {
            let article = &language.article[..length];
            let inner = if is_after {
                paragraphs(article) + &thing
            } else {
                let [first, second, ..] = article else { unreachable!() };
                format!("<p>{first}</p>{thing}<p>{second}</p>{thing}{}", paragraphs(&article[2..]))
            };
            let around = AROUND[(number + place) % AROUND.len()];
            let body = around.replace("TITLE", language.title).replace("TEXT", &inner);
            variants.push((page(language, &body), article.join("\n")));
        }
    }
    variants
}

#[test]
fn offers_and_notices_between_paragraphs_are_not_part_of_the_text() {
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
    check("offers", 4, with(boxes, false, 5));
}

#[test]
fn consents_to_other_content_are_not_part_of_the_text() {
    let boxes = |language: &Language| {
        let [head, notice, consent] = language.consent;
        vec![
            format!("<div class=b9><p>{head}</p><p>{notice}</p><p>{consent}</p></div>"),
            format!(
                "<figure><div><h4>{head}</h4><p>{notice}</p><label><input type=checkbox> {consent}</label></div></figure>"
            ),
        ]
    };
    check("consents", 1, with(boxes, false, 5));
}

#[test]
fn lines_below_pictures_and_videos_are_not_part_of_the_text() {
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
    check("media lines", 1, with(boxes, false, 5));
}

#[test]
fn coupons_below_an_article_are_not_part_of_it() {
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
    check("coupons", 0, with(boxes, true, 5));
}

#[test]
fn comments_that_outweigh_an_article_are_not_part_of_it() {
    let boxes = |language: &Language| {
        let items = |count: usize, item: &dyn Fn(usize, &str) -> String| -> String {
            (0..count).map(|i| item(i, &language.comments[i % 4][..])).collect()
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
    let mut variants = with(boxes, false, 5);
    for (html, _) in &mut variants {
        // The list of comments stands once, after the article.
        let second = html
            .rfind(if html.contains("class=comments") {
                "<section class=comments"
            } else {
                "<div class=talk"
            })
            .unwrap();
        let first = html
            .find(if html.contains("class=comments") {
                "<section class=comments"
            } else {
                "<div class=talk"
            })
            .unwrap();
        let end = html[first..second].rfind("<p>").unwrap() + first;
        let list = html[first..end].to_owned();
        *html = html.replace(&list, "").replace(FOOTER, &(list + FOOTER));
    }
    check("comments", 4, variants);
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
    check("hidden panels", 0, with(boxes, true, 2));
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
