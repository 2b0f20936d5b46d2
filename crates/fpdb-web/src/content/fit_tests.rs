//! A step of tools/pages/fit.py, which fits the weights: what is known of the blocks of pages.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Lines, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::features::{self, Features};
use super::score;
use super::second::{AROUND, Around};
use super::survey::Survey;
use super::{sift, text, tree, whole};

/// Reads pages from the file `pages` in the folder that `FPDB_FIT` names, as lines of `{"id",
/// "html"}`. If there are files `first` and `second`, each of their lines is a list of the scores
/// of a page's blocks. If there is a file `page`, each of its lines is a list of one score, that of
/// the page. Otherwise, the scores are those of the crate. Writes the blocks, the text and the
/// values of each page to `blocks`; the values of the blocks that the trees ask for, as
/// little-endian numbers of 16 bits, to `values`; and how many of them are not features of the
/// block itself to `around`.
#[test]
#[ignore = "a step of tools/pages/fit.py"]
fn write_blocks() {
    let folder = PathBuf::from(std::env::var_os("FPDB_FIT").expect("FPDB_FIT"));
    let create = |name: &str| BufWriter::new(File::create(folder.join(name)).unwrap());
    let (mut blocks, mut values) = (create("blocks"), create("values"));
    write!(create("around"), "{AROUND}").unwrap();
    let mut first = lines(&folder.join("first"));
    let mut second = lines(&folder.join("second"));
    let mut whole = lines(&folder.join("page"));
    for line in lines(&folder.join("pages")).unwrap() {
        let page: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let first = first.as_mut().map(scores);
        let second = second.as_mut().map(scores);
        let whole = whole.as_mut().map(scores);
        let given = [first, second, whole];
        let line = describe(page["html"].as_str().unwrap(), given, &mut values);
        writeln!(blocks, "{line}").unwrap();
    }
}

fn lines(path: &Path) -> Option<Lines<BufReader<File>>> {
    File::open(path).ok().map(|file| BufReader::new(file).lines())
}

fn scores(lines: &mut Lines<BufReader<File>>) -> Vec<i64> {
    serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
}

fn describe(
    html: &str,
    [first, second, page_score]: [Option<Vec<i64>>; 3],
    values: &mut impl Write,
) -> Value {
    let mut page = tree::build(html);
    sift::sift(&mut page);
    let survey = Survey::of(&page);
    let features: Vec<Features> =
        (0..survey.units.len()).map(|index| features::of_block(&survey, index)).collect();
    let first = first.unwrap_or_else(|| score::first_scores(&features));
    let around = Around::new(&survey, &first);
    for (index, features) in features.iter().enumerate() {
        for value in around.of_block(index, features) {
            values.write_all(&value.to_le_bytes()).unwrap();
        }
    }
    let second = second.unwrap_or_else(|| score::second_scores(&survey, &first, &features));
    let choice = score::choose_by(&survey, &second);
    let whole = whole::values(&survey, &choice);
    let is_whole = page_score.map_or_else(|| whole::has_content(&whole), |score| score[0] >= 0);
    let chosen = score::finish(&survey, choice, is_whole);
    let texts = page.blocks.iter().map(|block| &page.text[block.start..block.end]);
    let text = text::text(&page, &chosen);
    json!({ "blocks": texts.collect::<Vec<_>>(), "text": text, "whole": whole.to_vec() })
}
