use std::path::Path;

use super::*;
use crate::text::Recipe;

const WELCOME: &str = "我来到北京清华大学";
const TRACTORS: &str = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。";

fn fingerprint(recipe: &str, text: &str) -> u64 {
    Recipe::named(recipe).unwrap().fingerprint(text).fingerprint.unwrap()
}

/// A text that is no part of the repository.
fn shared(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        println!("skipped: no {name} beside the repository");
    }
    text
}

fn words(keywords: &[Keyword]) -> Vec<&str> {
    keywords.iter().map(|keyword| keyword.word.as_str()).collect()
}

/// From the tests and the README of yanyiwu/simhash and yanyiwu/gosimhash.
#[test]
fn published_values_of_yanyiwu_come_out_of_the_texts() {
    let top_3 = yanyiwu(3).unwrap().fingerprint("你好世界");
    assert_eq!(top_3.fingerprint, Some(17_676_873_585_679_812_141));
    assert_eq!(fingerprint("yanyiwu-5/1", WELCOME), 18_353_917_987_193_416_477);
    assert_eq!(fingerprint("yanyiwu-5/1", TRACTORS), 17_831_459_094_038_722_629);
    if let Some(news) = shared("golden_news.txt") {
        assert_eq!(fingerprint("yanyiwu-5/1", &news), 15_286_165_794_479_097_173);
    }
}

#[test]
fn news_have_the_values_that_yanyiwu_gives_them() {
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
fn published_value_of_gosimhash_comes_out_of_the_text() {
    assert_eq!(fingerprint("gosimhash/1", WELCOME), 0xfa59_6a42_bb35_f945);
}
