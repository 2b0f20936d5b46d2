//! Plain text as characters.

use super::kind::is_utf16;
use super::web;

/// The text of a file: UTF-8, else what its byte order mark says, else what its bytes suggest.
pub(super) fn decode(mut bytes: Vec<u8>) -> Result<String, String> {
    // In another encoding than UTF-16, a text has no zeros, whatever else has.
    if let Some(at) = bytes.iter().position(|&byte| byte == 0).filter(|_| !is_utf16(&bytes)) {
        return Err(format!("a zero byte after {at} bytes: this is no text"));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).or_else(|e| Ok(web::decode_text(e.as_bytes())))
}
