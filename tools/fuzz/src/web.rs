//! Archives, responses, pages and encodings.

use fpdb_web::{Archive, Extracted, Extraction, Extractor, Limits, decode};

/// Bytes of text per byte of a page: an entity of four bytes can become six.
const GROWTH: usize = 4;

fn limits() -> Limits {
    Limits::default().max_record(1 << 20).max_header(1 << 14)
}

/// Reads an archive and the pages in it.
pub(crate) fn warc(input: &[u8]) {
    let Ok(archive) = Archive::with_limits(input, limits()) else { return };
    let extractor = Extractor::default().limits(limits());
    let mut records = 0;
    for record in archive {
        records += 1;
        let Ok(record) = record else { continue };
        assert!(record.block().len() <= 1 << 20);
        if let Ok(Extracted::Page(page)) = extractor.record(&record) {
            assert!(page.text.len() <= (GROWTH << 20) + record.size());
        }
    }
    // A gzip member of 20 bytes can hold several records, but not more than its bytes.
    assert!(records <= 1100 * input.len() + 10, "{records} records");
}

/// Reads an HTTP response.
pub(crate) fn http(input: &[u8]) {
    let _ = Extractor::default().limits(limits()).response("http://a.example/", input);
}

/// Makes text of a page, in all ways.
pub(crate) fn html(input: &[u8]) {
    let html = String::from_utf8_lossy(input);
    for extraction in Extraction::all() {
        let text = extraction.text(&html);
        assert!(text.len() <= GROWTH * html.len() + 16);
        // What is laid out contains no markup of the page's own making.
        assert!(!text.contains('\0') && !text.contains('\r'));
        assert_eq!(extraction.text(&html), text);
    }
}

/// Decodes a document: its type and its URL are the first two lines.
pub(crate) fn charset(input: &[u8]) {
    let mut lines = input.splitn(3, |&b| b == b'\n');
    let mut line = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (content_type, url) = (line(), line());
    let bytes = lines.next().unwrap_or_default();
    let decoded = decode(bytes, &content_type, &url);
    assert!(decoded.text.len() <= 3 * bytes.len() + 3);
    let utf8 = decode(decoded.text.as_bytes(), "text/plain; charset=utf-8", "");
    assert!(utf8.text == decoded.text.trim_start_matches('\u{feff}') || utf8.text == decoded.text);
}
