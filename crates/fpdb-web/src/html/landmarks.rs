//! Elements that are landmarks of WAI-ARIA by their `role`, as `main/1` finds them.

use memchr::memmem;

use super::tokens::{Element, Name, Tag};

/// Returns the element that a tag is by its `role`, if that is a landmark of WAI-ARIA.
fn landmark(attributes: &[u8]) -> Option<Element> {
    let at = memmem::find(attributes, b"role=")?;
    let before = at.checked_sub(1).and_then(|before| attributes.get(before));
    let value = attributes.get(at + b"role=".len()..)?;
    let quoted = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'"));
    let is_end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'/');
    let role = quoted.unwrap_or(value).split(is_end).next()?;
    match role {
        _ if !before.is_some_and(u8::is_ascii_whitespace) => None,
        b"navigation" | b"banner" | b"contentinfo" | b"complementary" | b"search" => {
            Some(Element::Surrounding)
        }
        b"main" => Some(Element::Content),
        _ => None,
    }
}

/// The open elements that are landmarks by their role, the innermost last.
#[derive(Debug, Default)]
pub(super) struct Landmarks(Vec<Landmark>);

/// An open element that is a landmark by its role.
#[derive(Debug)]
struct Landmark {
    name: Name,
    element: Element,
    /// Elements of the same name that are open inside it.
    nested: usize,
}

impl Landmarks {
    /// Returns what the element is, considering its role.
    pub(super) fn element(&mut self, tag: &Tag) -> Element {
        if tag.close { self.close(&tag.name).unwrap_or(tag.element) } else { self.open(tag) }
    }

    /// Only elements that otherwise lay out the page have a role that counts.
    fn open(&mut self, tag: &Tag) -> Element {
        if let Some(element) = landmark(tag.attributes).filter(|_| tag.element == Element::Block) {
            self.0.push(Landmark { name: tag.name, element, nested: 0 });
            return element;
        }
        if let Some(open) = self.0.last_mut().filter(|open| open.name == tag.name) {
            open.nested += 1;
        }
        tag.element
    }

    /// Returns the landmark that an end tag ends, if it ends one.
    fn close(&mut self, name: &Name) -> Option<Element> {
        let open = self.0.last_mut().filter(|open| open.name == *name)?;
        match open.nested.checked_sub(1) {
            Some(nested) => {
                open.nested = nested;
                None
            }
            None => self.0.pop().map(|open| open.element),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::tokens::{Token, Tokens};

    #[test]
    fn landmarks_by_role_end_with_their_own_end_tag() {
        let html = "<div role=\"navigation\"><div>a</div><div role=search>s</div>b</div><div>c</div>\
                    <section class=x role=main><div>d</div></section><p role=main>e</p>\
                    <div aria-role=main>f</div><ul role='search'>g</ul>";
        let (mut text, mut landmarks) = (String::new(), Landmarks::default());
        for token in Tokens::new(html) {
            match token {
                Token::Text(part) => text += part,
                Token::Tag(tag) => match landmarks.element(&tag) {
                    Element::Surrounding | Element::Content if tag.close => text.push(']'),
                    Element::Surrounding | Element::Content => text.push('['),
                    _ => {}
                },
            }
        }
        assert_eq!(text, "[a[s]b]c[d]ef[g]");
    }
}
