use std::path::Path;

use super::extract::{CPPJIEBA_UNKNOWN, Tags};
use super::*;
use crate::Recipe;

const WELCOME: &str = "我来到北京清华大学";
const TRACTORS: &str = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。";

fn fingerprint(recipe: &str, text: &str) -> u64 {
    Recipe::named(recipe).unwrap().fingerprint(text).fingerprint.unwrap()
}

/// Reads a text that is not part of the repository.
fn shared(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        println!("skipped: no {name} next to the repository");
    }
    text
}

fn words(keywords: &[Keyword]) -> Vec<&str> {
    keywords.iter().map(|keyword| keyword.word.as_str()).collect()
}

/// From the tests and the README of yanyiwu/simhash and yanyiwu/gosimhash.
#[test]
fn published_values_of_yanyiwu_are_reproduced() {
    let top_3 = yanyiwu(3).unwrap().fingerprint("你好世界");
    assert_eq!(top_3.fingerprint, Some(17_676_873_585_679_812_141));
    assert_eq!(fingerprint("yanyiwu-5/1", WELCOME), 18_353_917_987_193_416_477);
    assert_eq!(fingerprint("yanyiwu-5/1", TRACTORS), 17_831_459_094_038_722_629);
    if let Some(news) = shared("golden_news.txt") {
        assert_eq!(fingerprint("yanyiwu-5/1", &news), 15_286_165_794_479_097_173);
    }
}

#[test]
fn news_texts_have_the_values_of_yanyiwu() {
    let long = [
        ("yanyiwu-5/1", 15_286_165_794_479_097_173),
        ("yanyiwu-20/1", 15_358_364_199_023_895_637),
        ("yanyiwu-50/1", 15_646_522_006_318_703_703),
        ("yanyiwu/1", 10_458_374_960_978_412_629), // 65 keywords
    ];
    let short = [
        ("yanyiwu-5/1", 1_902_460_982_222_586_749),
        ("yanyiwu-20/1", 4_279_207_641_712_640_757),
        ("yanyiwu-50/1", 4_279_102_089_163_686_581),
        ("yanyiwu/1", 4_279_207_650_235_466_421), // 12 keywords
    ];
    for (file, values) in [
        ("golden_news.txt", long),
        ("golden_news_2.txt", long),
        ("golden_news_3.txt", short),
        ("golden_news_4.txt", short),
    ] {
        let Some(text) = shared(file) else { return };
        for (recipe, expected) in values {
            assert_eq!(fingerprint(recipe, &text), expected, "{recipe} of {file}");
        }
    }
}

/// From the tests of HaoyuHu/gosimhash.
#[test]
fn published_value_of_gosimhash_is_reproduced() {
    assert_eq!(fingerprint("gosimhash/1", WELCOME), 0xfa59_6a42_bb35_f945);
}

#[test]
fn keywords_and_weights_agree_with_cppjieba() {
    let found = cppjieba(TRACTORS, 5).unwrap();
    assert_eq!(words(&found), ["蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"]);
    let weights: Vec<_> = found.iter().map(|keyword| keyword.weight).collect();
    assert_eq!(
        weights,
        [CPPJIEBA_UNKNOWN, CPPJIEBA_UNKNOWN, 10.8561552143, 10.642581114, 10.0088573539]
    );
    assert_eq!(cppjieba("", 5).unwrap(), []);
    assert_eq!(cppjieba(TRACTORS, 0).unwrap(), []);
}

#[test]
fn ties_and_words_of_the_model_agree_with_cppjieba() {
    if let Some(news) = shared("golden_news.txt") {
        let expected = "日军 集团军 10 地区 攻占 武汉 进攻 西进 军等部 26 11 27 军团 兵团 长江 29 瑞昌 24 军在 17";
        let found = cppjieba(&news, 20).unwrap();
        assert_eq!(words(&found).join(" "), expected);
        assert_eq!((found[0].weight, found[2].weight), (318.45197806312, 12.0 * CPPJIEBA_UNKNOWN));
    }
    if let Some(news) = shared("golden_news_3.txt") {
        let expected = "11 张秋生 多多 汽油 沈丹";
        assert_eq!(words(&cppjieba(&news, 5).unwrap()).join(" "), expected);
        let expected = "张秋生 11 多多 汽油 沈丹 儿子 争吵 金东 多湖 13 夫妇 煤炉";
        assert_eq!(words(&cppjieba(&news, 12).unwrap()).join(" "), expected);
    }
}

#[test]
fn stop_words_of_cppjieba_are_skipped() {
    assert_eq!(words(&cppjieba("我们 according 清华大学 一些 the", 9).unwrap()), ["清华大学"]);
}

/// The values were made with a list of stop words that is lost. Any list that skips the same number
/// of words, and none of the keywords, gives the same values.
#[test]
fn articles_have_the_values_of_the_python_program() {
    let articles = [
        (
            "golden_article1.txt",
            "练习 没有 我们 自己 这个 起来 两个 继续 不会 怎么 为了 过去 不断 经过 控制 后来",
            "自行车 无以 枕头 不积跬步 想着 故事 想起 努力 我读 每教 19 经厉 滴水穿石 不积 小流 著名 \
             擦破 滚瓜烂熟 平衡性 终于",
            0.2694286746288608,
            3_248_917_588_741_123_398,
        ),
        (
            "golden_article2.txt",
            "一个 还有 工作 需要 根据 变化 那个 一点 大家 全部",
            "冰激凌 主人 肚子 食物 活是 尽心尽职 速冻 吃剩 旋钮 暑假 拿手 几分钟 一大堆 融化 凝固 \
             放入 好吃 储存 浪费 决不",
            0.7144230287808511,
            2_635_525_386_115_973_695,
        ),
    ];
    for (file, skipped, expected, weight, fingerprint) in articles {
        let Some(text) = shared(file) else { return };
        let stop_words: Vec<_> = STOP_WORDS.into_iter().chain(skipped.split(' ')).collect();
        let found = jieba_tags(&text, 20, &stop_words).unwrap();
        assert_eq!(words(&found).join(" "), expected, "{file}");
        assert_eq!(found[0].weight, weight, "{file}");
        let recipe = string_hash_without(&stop_words).unwrap();
        assert_eq!(recipe.fingerprint(&text).fingerprint, Some(fingerprint), "{file}");
    }
}

#[test]
fn tags_of_equal_weight_are_in_the_order_of_the_text() {
    let found = jieba_tags("丙丁甲 AB 乙 CD，EF AB", 9, &["CD", "ef"]).unwrap();
    assert_eq!(words(&found)[0], "AB");
    assert!(!words(&found).contains(&"EF"));
    assert!(words(&found).contains(&"CD"), "stop words are compared in lower case, as in jieba");
}

#[test]
fn latin_words_are_cut_as_in_python() {
    let cut = |text| Tags::load(&STOP_WORDS).unwrap().cut(text).collect::<Vec<_>>().join("/");
    assert_eq!(
        cut("版本4.2.1，99.5%，见example.org和snake_case-a1的C++"),
        "版本/4.2/./1/，/99.5%/，/见/example/./org/和/snake/_/case/-/a1/的/C++"
    );
    assert_eq!(cut("3.5b a..b -x- 4.2%. .5"), "3.5/b/ /a/../b/ /-/x/-/ /4.2%/./ /./5");
}

#[test]
fn levels_go_from_five_to_one_by_rank() {
    let text = "图书馆晚上六点闭馆，今天到期的图书可以在午夜之前通过正门旁边的还书口归还。";
    let why = Recipe::named("levels/1").unwrap().explain(text);
    let weights: Vec<_> = why.features.iter().map(|feature| feature.weight).collect();
    assert!(weights.is_sorted_by(|a, b| a >= b));
    assert_eq!((weights[0], weights[weights.len() - 1]), (5.0, 1.0));
    let fives = weights.iter().filter(|&&weight| weight == 5.0).count();
    assert_eq!(fives, weights.len().div_ceil(5));
    assert_eq!(why.fingerprint, Recipe::named("levels/1").unwrap().fingerprint(text).fingerprint);
}

/// These values are in users' databases. All but the first were also computed by Python programs,
/// from the keywords that Python's jieba finds, and one more (当上) that cppjieba finds.
#[test]
fn keyword_recipes_are_frozen() {
    for (recipe, expected) in [
        ("levels/1", 15_974_167_619_523_406_124),
        ("go-jieba-fnv1a/1", 5_662_450_216_667_567_054),
        ("gosimhash/1", 5_659_504_172_210_173_156),
        ("string-hash/1", 2_367_304_698_799_745_673),
        ("yanyiwu/1", 17_831_459_094_038_722_629),
    ] {
        assert_eq!(fingerprint(recipe, TRACTORS), expected, "{recipe}");
    }
}

#[test]
fn compatible_recipes_give_a_value_without_keywords() {
    for recipe in ["yanyiwu/1", "gosimhash/1", "string-hash/1", "go-jieba-fnv1a/1"] {
        assert_eq!(fingerprint(recipe, ""), 0);
        assert_eq!(fingerprint(recipe, "的 了 。"), 0);
    }
    assert_eq!(Recipe::named("levels/1").unwrap().fingerprint("图书馆").fingerprint, None);
}
