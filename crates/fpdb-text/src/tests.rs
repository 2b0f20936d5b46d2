use super::*;
use crate::error::ErrorKind;

const ENGLISH: &str = "The library closes at six in the evening, and books that are due today can be \
    returned through the slot beside the main entrance until midnight.";
const MIXED: &str = "本次升级修复了 HTTP/2 连接泄漏的问题，请所有用户尽快更新到 Release 4.2.1，\
    详细说明见 changelog 页面。";

const NOTICE: &str = "The town council will close Harbour Street between the fish market and the old \
    customs house from Monday 4 May until the end of June, while the water main beneath it is \
    replaced. Buses 12 and 31 will be diverted along Mill Lane and will not stop at the market. \
    Access on foot to shops and homes will be kept open at all times, and deliveries may be made \
    before nine in the morning. Residents who need help with parking should write to the roads \
    office or call in person on weekdays between ten and four.";
const RECIPE_FOR_SOUP: &str = "Soak the beans overnight, drain them, and put them in a heavy pot with \
    the onion, two bay leaves and enough cold water to cover by a hand's breadth. Bring slowly to \
    the boil, skim, and simmer for an hour. Add the carrots, the celery and the chopped tomatoes, \
    then cook until everything is tender. Season with salt only now, crush a ladleful of beans \
    against the side to thicken the broth, and serve with olive oil and toasted bread.";

/// The SimHash of the default settings.
fn words() -> Recipe {
    named("words/1")
}

fn named(name: &str) -> Recipe {
    Recipe::named(name).unwrap()
}

fn fingerprint(recipe: &str, text: &str) -> Option<u64> {
    named(recipe).fingerprint(text).fingerprint
}

fn distance(a: &str, b: &str) -> u32 {
    let [a, b] = [a, b].map(|text| words().fingerprint(text).fingerprint.unwrap());
    crate::distance(a, b)
}

#[test]
fn recipes_are_listed_and_found_by_name() {
    for name in Recipe::names() {
        assert_eq!(named(name).name(), name);
        assert_eq!(format!("{:?}", named(name)), format!("Recipe({name:?})"));
    }
    for name in Recipe::names128() {
        assert_eq!(Recipe::bits128(name).unwrap().name(), name);
    }
    for name in Recipe::names_for_sketches() {
        assert_eq!(Recipe::for_sketches(name).unwrap().name(), name);
    }
    assert_eq!(Recipe::names().next(), Some("pairs/1"));
    assert_eq!(Recipe::names().any(|name| name == "pairs-zh/1"), cfg!(feature = "zh"));
}

#[test]
fn unknown_name_is_refused_with_a_list_of_names() {
    for name in ["", "pairs", "pairs/0", "pairs/9", "Pairs/1", " pairs/1", "pairs/1 ", "pairs/01"] {
        let error = Recipe::named(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name:?}");
        for known in Recipe::names() {
            assert!(error.to_string().contains(known), "{error}");
        }
    }
}

#[test]
fn aliases_find_recipes_and_are_not_names() {
    for (alias, name) in Recipe::aliases() {
        assert!(!Recipe::names().chain(Recipe::names128()).any(|n| n == alias));
        match Recipe::named(alias) {
            Ok(recipe) => assert_eq!(recipe.name(), name),
            Err(error) => assert_eq!((error.kind(), name), (ErrorKind::Unsupported, "pairs-zh/1")),
        }
    }
    let aliases: Vec<_> = Recipe::aliases().map(|(alias, _)| alias).collect();
    assert_eq!(aliases, ["default", "default-zh", "default-short"]);
}

#[test]
fn width_that_a_recipe_does_not_have_is_refused() {
    for error in [
        Recipe::bits128("seomoz/1").unwrap_err(),
        Recipe::bits128("go-fnv1/1").unwrap_err(),
        Recipe::bits128("none/1").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("python-simhash/1"), "{error}");
    }
    for name in ["seomoz/1", "python-simhash/1", "string-hash/1"] {
        let error = Recipe::for_sketches(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("one-bit MinHash"), "{error}");
        assert!(error.to_string().contains("pairs/1, "), "{error}");
    }
}

#[test]
fn names_and_purposes_are_well_formed() {
    let mut names: Vec<_> = Recipe::names().chain(Recipe::names128()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (start, version) = name.rsplit_once('/').unwrap();
        assert!(version.parse::<u32>().is_ok_and(|v| v > 0), "{name}");
        assert!(start.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        let purpose = match Recipe::named(name) {
            Ok(recipe) => recipe.purpose().to_owned(),
            Err(_) => Recipe::bits128(name).unwrap().purpose().to_owned(),
        };
        assert!((10..90).contains(&purpose.len()) && !purpose.ends_with('.'), "{purpose}");
    }
}

/// Characters of all lengths and kinds, in random order.
#[test]
fn random_texts_have_fingerprints_and_features() {
    let characters = [
        'a',
        'Z',
        '_',
        '\'',
        ':',
        '/',
        '.',
        '7',
        ' ',
        '\n',
        '\u{1c}',
        '\0',
        '\u{ad}',
        'é',
        'İ',
        'Σ',
        'ß',
        '\u{301}',
        '\u{200b}',
        '中',
        '。',
        '\u{3000}',
        'Ａ',
        'ﬁ',
        'ि',
        'Ⓐ',
        '½',
        '👩',
        '\u{200d}',
        '\u{10ffff}',
    ];
    let mut state = 42u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % n
    };
    for _ in 0..200 {
        let text: String = (0..below(60)).map(|_| characters[below(characters.len())]).collect();
        for name in Recipe::names() {
            assert_counted(&named(name), &text);
        }
        for name in Recipe::names128() {
            assert_counted(&Recipe::bits128(name).unwrap(), &text);
        }
    }
}

fn assert_counted<F: Width>(recipe: &Recipe<F>, text: &str) {
    let (found, features) = (recipe.fingerprint(text), recipe.features(text).len());
    let counts_repeats = recipe.similarity(0).is_some() && found.fingerprint.is_some();
    assert!(features == found.features || counts_repeats && features < found.features, "{text}");
}

#[test]
fn similarity_goes_from_1_to_0_where_unrelated_texts_are() {
    fn estimates<F: Width>(distances: [u32; 4]) -> [f64; 4] {
        let recipe = Recipe::<F>::find("pairs/1").unwrap();
        distances.map(|distance| {
            let (similarity, error) = recipe.similarity(distance).unwrap();
            assert_eq!(error == 0.0, distance == 0);
            (similarity * 1e9).round() / 1e9
        })
    }
    assert_eq!(estimates::<u64>([0, 16, 32, 64]), [1.0, 0.5, 0.0, 0.0]);
    assert_eq!(estimates::<u128>([0, 32, 64, 128]), [1.0, 0.5, 0.0, 0.0]);
    assert_eq!(estimates::<Sketch>([0, 63, 126, 128]), [1.0, 0.5, 0.0, 0.0]);
}

#[cfg(not(feature = "zh"))]
#[test]
fn recipe_missing_from_the_build_is_refused_with_its_feature() {
    for name in ["pairs-zh/1", "jieba/1", "levels/1", "yanyiwu/1", "string-hash/1"] {
        let error = Recipe::named(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("\"zh\""), "{error}");
    }
}

#[test]
fn recipes_can_be_shared_among_threads() {
    fn shareable<T: Send + Sync + Clone + 'static>() {}
    shareable::<Recipe>();
    for name in Recipe::names() {
        let expected = fingerprint(name, MIXED);
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(move || fingerprint(name, MIXED))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    }
}

#[test]
fn text_with_fewer_than_four_features_has_no_fingerprint() {
    let empty =
        ["", " ", " \t\r\n\u{3000}\u{a0}", "!?.,;:-()[]{}…… ——《》。，、", "~~~~ ==== ---- ####"];
    for text in empty {
        let found = words().fingerprint(text);
        assert_eq!((found.fingerprint, found.features), (None, 0), "{text:?}");
    }
    for text in ["three words only", "Not found. Not found! NOT FOUND", "页面", "404"] {
        let found = words().fingerprint(text);
        assert_eq!(found.fingerprint, None, "{text:?}");
        assert!(found.features < 4);
    }
    assert!(words().fingerprint("four words are enough").fingerprint.is_some());
}

#[test]
fn case_width_and_composition_make_no_difference() {
    let same = [
        ("crème brûlée, café noir, tarte fine", "CRÈME BRÛLÉE, CAFÉ NOIR, TARTE FINE"),
        (
            "crème brûlée, café noir, tarte fine",
            "cre\u{300}me bru\u{302}le\u{301}e, cafe\u{301} noir, tarte fine",
        ),
        (
            "release 42 fixes http connection leaks",
            "Ｒｅｌｅａｓｅ　４２　ｆｉｘｅｓ　ＨＴＴＰ　ｃｏｎｎｅｃｔｉｏｎ　ｌｅａｋｓ",
        ),
        ("the first office files fly fine", "the ﬁrst oﬃce ﬁles ﬂy ﬁne"),
    ];
    for (a, b) in same {
        assert!(words().fingerprint(a).fingerprint.is_some(), "{a}");
        assert_eq!(words().fingerprint(a), words().fingerprint(b), "{b}");
    }
}

#[test]
fn order_of_words_makes_no_difference_but_repetition_does() {
    let backwards: Vec<_> = NOTICE.split_whitespace().rev().collect();
    assert_eq!(words().fingerprint(NOTICE), words().fingerprint(&backwards.join(" ")));

    let once = "alpha beta gamma delta epsilon";
    let often = format!("{once}{}", " alpha".repeat(1000));
    let (once, often) = (words().fingerprint(once), words().fingerprint(&often));
    assert_eq!((once.features, often.features), (5, 5));
    assert_ne!(once.fingerprint, often.fingerprint);
}

#[test]
fn small_edits_are_near_and_other_texts_are_far() {
    let edited = NOTICE.replace("Monday 4 May", "Tuesday 5 May").replace("31", "37");
    assert!((1..=8).contains(&distance(NOTICE, &edited)));
    assert!(distance(NOTICE, RECIPE_FOR_SOUP) >= 16);
    assert!(distance(ENGLISH, NOTICE) >= 16);
}

#[test]
fn same_article_under_other_menus_has_the_same_longest_sentences() {
    let article =
        "市交通委员会昨日宣布地铁已经完工。乘客可以使用公交卡或者手机支付。票价不变，首班车六点。";
    let page = format!("首页 新闻 体育\n{article}\n阅读 1024 次\n相关阅读：天气");
    let value = |text: &str| fingerprint("sentences/1", text);
    assert_eq!(value(&page), value(article));
    assert_ne!(value(&page.replace("昨日", "今天")), value(article));
    let wide = |text| Recipe::bits128("sentences/1").unwrap().fingerprint(text);
    assert_eq!(wide(&page), wide(article));
    let shuffled =
        "票价不变，首班车六点！乘客可以使用公交卡或者手机支付！市交通委员会昨日宣布地铁已经完工！";
    assert_eq!(value(shuffled), value(article));
    assert_eq!(value("。！？"), None);
}

#[cfg(feature = "zh")]
mod zh {
    use super::*;

    const NEWS: &str = "市交通委员会昨日宣布，地铁十四号线北段工程已经全部完工，将于下月初开始试运行。\
        新线路全长二十三公里，共设十六座车站，其中六座为换乘站，连接火车东站、国际会展中心和大学城。\
        试运行期间，列车发车间隔为八分钟，首班车早上六点发出，末班车晚上十一点到达终点。\
        乘客可以使用公交卡、手机支付或者现金购票，票价与其他线路相同。";
    const COOKING: &str = "先把黄豆用清水浸泡一夜，沥干后放入砂锅，加入生姜、葱段和排骨，倒入足够的冷水，\
        大火煮开后撇去浮沫，转小火慢炖一个半小时。然后放入切好的胡萝卜和玉米，继续煮到软烂，\
        最后加盐调味，撒上香菜就可以上桌了。喜欢味道浓郁的朋友还可以加一点胡椒粉。";

    fn value(text: &str) -> u64 {
        fingerprint("jieba/1", text).unwrap()
    }

    #[test]
    fn chinese_edits_are_near_and_other_texts_are_far() {
        let edited = NEWS.replace("昨日", "今天").replace("八分钟", "十分钟");
        assert!((1..=8).contains(&crate::distance(value(NEWS), value(&edited))));
        assert!(crate::distance(value(NEWS), value(COOKING)) >= 16);
    }

    #[test]
    fn words_that_the_dictionary_lacks_are_keywords() {
        // Names that only the hidden Markov model joins.
        let found = named("jieba/1").fingerprint("杭研大厦 李小福 张尧 京华大酒店");
        assert!(found.features >= 4, "{found:?}");
    }

    #[test]
    fn both_languages_of_a_mixed_text_count() {
        assert_ne!(value(MIXED), value(&MIXED.replace("HTTP", "DNS")));
        assert_ne!(value(MIXED), value(&MIXED.replace("泄漏", "中断")));
        let wide = MIXED.replace("HTTP", "ＨＴＴＰ").replace('，', ",");
        assert_eq!(value(MIXED), value(&wide));
    }
}
