//! Archives that real crawlers write and that are easily read wrongly: no page is lost, and nothing
//! is taken for a page that is none. The files were made by hand for this test.

use std::path::{Path, PathBuf};

use fpdb_web::{Archive, ErrorKind, Extracted, Extraction, Extractor, Page, SkipReason};

#[derive(Debug, Default)]
struct Outcome {
    pages: Vec<Page>,
    skipped: Vec<SkipReason>,
    errors: Vec<ErrorKind>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edge")
}

fn outcome(path: &Path) -> Outcome {
    let mut all = Outcome::default();
    for record in Archive::new(std::fs::File::open(path).unwrap()).unwrap() {
        match record.and_then(|record| Extractor::default().record(&record)) {
            Ok(Extracted::Page(page)) => all.pages.push(page),
            Ok(Extracted::Skipped(reason)) => all.skipped.push(reason),
            Err(error) => all.errors.push(error.kind()),
        }
    }
    all
}

#[test]
fn every_page_of_unusual_archives_is_read() {
    for (name, pages, errors) in [
        ("100continue.warc", 2, &[][..]),
        ("103early.warc", 2, &[]),
        ("ct_nosemi.warc", 2, &[]),
        ("jw_h9.warc", 1, &[]),
        ("latin1reason.warc", 2, &[]),
        ("longreason.warc", 2, &[]),
        ("no_ct_bom.warc", 2, &[]),
        ("no_ct_in_record.warc", 2, &[]),
        ("gzip_undone.warc", 2, &[]),
        ("garbage_noNL_then_rec.warc", 2, &[ErrorKind::Record]),
        ("g_plain_after_gz.warc.gz", 6, &[]),
        ("g_single.warc.gz", 6, &[ErrorKind::SharedMember]),
    ] {
        let all = outcome(&folder().join(name));
        assert_eq!((all.pages.len(), &*all.errors), (pages, errors), "{name}: {all:?}");
        assert!(all.skipped.is_empty(), "{name}: {:?}", all.skipped);
        for page in all.pages {
            assert!(page.text.len() > 100 && page.text.starts_with("The "), "{name}: {page:?}");
        }
    }
}

#[test]
fn urls_that_are_not_utf_8_stay_different() {
    let all = outcome(&folder().join("url_collide.warc"));
    let urls: Vec<_> = all.pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(urls, ["http://a.example/caf%E9", "http://a.example/caf%E8"]);
}

#[test]
fn a_text_that_ends_within_a_character_keeps_its_encoding() {
    let all = outcome(&folder().join("wet_utf8_cutchar.warc"));
    let page = &all.pages[0];
    assert_eq!(page.charset, "UTF-8");
    assert!(page.text.starts_with("Übergrößenträger") && page.text.ends_with('\u{fffd}'));
}

#[test]
fn articles_in_an_unclosed_nav_have_different_texts() {
    let text = |name: &str| {
        let html = std::fs::read_to_string(folder().join(name)).unwrap();
        Extraction::default().text(&html)
    };
    let (one, two) = (text("open1.html"), text("open2.html"));
    assert!(one.matches("city council").count() == 5, "{one}");
    assert!(two.matches("Researchers").count() == 5, "{two}");
}

/// Pages that mislead: teasers in like elements without names, comments that outweigh the article,
/// menus and link lists around a short text, and pages that programs have saved wrongly.
#[test]
fn the_text_of_pages_that_mislead_is_that_of_the_article() {
    let folder = folder().join("pages");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "html") {
            let (html, text) =
                (std::fs::read(&path), std::fs::read_to_string(path.with_extension("txt")));
            let page = Extractor::default().document("u", "text/html", &html.unwrap());
            assert_eq!(page.page().unwrap().text, text.unwrap().trim_end(), "{}", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 11);
}

#[test]
fn utf_16_without_a_mark_is_read() {
    let bytes = std::fs::read(folder().join("utf16_without_mark.html")).unwrap();
    let page = Extractor::default().document("u", "text/html", &bytes).page().unwrap();
    assert!(page.charset.starts_with("UTF-16") && !page.text.contains('\0'), "{page:?}");
}

#[test]
fn bodies_that_are_compressed_or_cut_are_not_taken_for_text() {
    let all = outcome(&folder().join("undecl.warc"));
    assert_eq!((all.pages.len(), &*all.skipped), (0, &[SkipReason::Binary; 4][..]));
    let all = outcome(&folder().join("br_cut_in_the_middle.warc"));
    assert!(all.pages[0].text.len() > 1000, "{:?}", all.errors);
}
