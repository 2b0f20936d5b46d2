use std::collections::HashMap;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::programs::JIEBA;
use super::*;
use crate::Recipe;

const WELCOME: &str = "我来到北京清华大学";
const TRACTORS: &str = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。";

fn fingerprint(recipe: &str, text: &str) -> u64 {
    Recipe::named(recipe).unwrap().fingerprint(text).fingerprint.unwrap()
}

fn keywords(program: &'static Program, text: &str, top: usize) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    let keywords = Keywords::load(program, Top::Number(top)).unwrap();
    keywords.each(text, |word, weight| found.push((word.to_owned(), weight)));
    found
}

fn words(keywords: &[(String, f64)]) -> Vec<&str> {
    keywords.iter().map(|(word, _)| word.as_str()).collect()
}

/// From the tests and the README of yanyiwu/simhash and yanyiwu/gosimhash.
#[test]
fn published_values_of_yanyiwu_simhash_and_gosimhash_are_reproduced() {
    assert_eq!(fingerprint("yanyiwu-5/1", "你好世界"), 17_676_873_585_679_812_141);
    assert_eq!(fingerprint("yanyiwu-5/1", WELCOME), 18_353_917_987_193_416_477);
    assert_eq!(fingerprint("yanyiwu-5/1", TRACTORS), 17_831_459_094_038_722_629);
}

#[test]
fn keywords_and_weights_agree_with_cppjieba() {
    let found = keywords(&CPPJIEBA, TRACTORS, 5);
    assert_eq!(words(&found), ["蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"]);
    let weights: Vec<_> = found.iter().map(|keyword| keyword.1).collect();
    let unknown = CPPJIEBA.unknown;
    assert_eq!(weights, [unknown, unknown, 10.8561552143, 10.642581114, 10.0088573539]);
    assert_eq!(keywords(&CPPJIEBA, "", 5), []);
    assert_eq!(keywords(&CPPJIEBA, TRACTORS, 0), []);
}

#[test]
fn stop_words_of_cppjieba_are_skipped() {
    assert_eq!(words(&keywords(&CPPJIEBA, "我们 according 清华大学 一些 the", 9)), ["清华大学"]);
}

#[test]
fn keywords_of_equal_weight_are_in_the_order_of_the_text_in_jieba() {
    let found = keywords(&JIEBA, "丙丁甲 AB 乙 CD，The EF AB", 9);
    assert_eq!(words(&found)[0], "AB");
    let [cd, ef] = ["CD", "EF"].map(|tag| words(&found).iter().position(|word| *word == tag));
    assert!(cd.is_some() && cd < ef, "{found:?}");
    assert!(!words(&found).contains(&"The"), "stop words are in lower case");
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// `tests/data/README.md` says how the expected keywords were found.
#[test]
fn keywords_of_real_documents_are_those_of_python_jieba() {
    let documents = std::fs::File::open(in_repository("demo/documents.ndjson.gz")).unwrap();
    let documents = std::io::read_to_string(MultiGzDecoder::new(documents)).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let documents: HashMap<String, String> = documents
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|document| (text(&document["id"]), text(&document["text"])))
        .collect();
    let table = std::fs::read_to_string(in_repository("tests/data/jieba_keywords_zh.tsv")).unwrap();
    assert_eq!(table.lines().count(), 61);
    for line in table.lines().skip(1) {
        let (id, expected) = line.split_once('\t').unwrap();
        let found = keywords(&JIEBA, &documents[id], 20);
        let expected: Vec<(&str, f64)> = expected
            .split(' ')
            .map(|keyword| keyword.rsplit_once(':').unwrap())
            .map(|(word, weight)| (word, weight.parse().unwrap()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{id}");
        for (found, (word, weight)) in found.iter().zip(expected) {
            assert_eq!(found.0, word, "{id}: {found:?}");
            assert!((found.1 - weight).abs() < 1e-8, "{id}: {found:?}, not {weight}");
        }
    }
}

#[test]
fn latin_words_are_cut_as_in_python() {
    let jieba = crate::dictionary::jieba().unwrap();
    let cut = |text| (JIEBA.cut)(jieba, text).join("/");
    assert_eq!(
        cut("版本4.2.1，99.5%，见example.org和snake_case-a1的C++"),
        "版本/4.2/./1/，/99.5%/，/见/example/./org/和/snake/_/case/-/a1/的/C++"
    );
    assert_eq!(cut("3.5b a..b -x- 4.2%. .5"), "3.5/b/ /a/../b/ /-/x/-/ /4.2%/./ /./5");
}

#[test]
fn levels_go_from_five_to_one_by_rank() {
    let text = "图书馆晚上六点闭馆，今天到期的图书可以在午夜之前通过正门旁边的还书口归还。";
    let weights: Vec<_> = keywords(&LEVELS, text, 100).iter().map(|keyword| keyword.1).collect();
    assert!(weights.is_sorted_by(|a, b| a >= b));
    assert_eq!((weights[0], weights[weights.len() - 1]), (5.0, 1.0));
    let fives = weights.iter().filter(|&&weight| weight == 5.0).count();
    assert_eq!(fives, weights.len().div_ceil(5));
}

/// These values are in users' databases. All but the first were also computed by Python programs,
/// from the keywords that Python's jieba finds, and one more (当上) that cppjieba finds.
#[test]
fn recipes_of_keywords_are_frozen() {
    for (recipe, expected) in [
        ("levels/1", 15_974_167_619_523_406_124),
        ("go-jieba-fnv1a/1", 5_662_450_216_667_567_054),
        ("string-hash/1", 2_367_304_698_799_745_673),
        ("yanyiwu/1", 17_831_459_094_038_722_629),
    ] {
        assert_eq!(fingerprint(recipe, TRACTORS), expected, "{recipe}");
    }
}

#[test]
fn compatible_recipes_give_a_value_without_keywords() {
    for recipe in ["yanyiwu/1", "string-hash/1", "go-jieba-fnv1a/1"] {
        assert_eq!(fingerprint(recipe, ""), 0);
        assert_eq!(fingerprint(recipe, "的 了 。"), 0);
    }
    assert_eq!(Recipe::named("levels/1").unwrap().fingerprint("图书馆").fingerprint, None);
}
