//! Text of JSON without the values that do not count where a name comes twice.

use std::collections::HashMap;

use super::text::unescape;

/// A value of JSON that was parsed before, where of members with one name the last one is left, at the place of
/// the first.
pub(super) fn last_of_each(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    Walk { text, at: 0 }.value(&mut out);
    out
}

/// A way through a text; as deep as its values are nested, which their parser has bounded.
struct Walk<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Walk<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == 0x0B) {
            self.at += 1;
        }
    }

    fn value(&mut self, out: &mut Vec<u8>) {
        self.space();
        match self.peek() {
            Some(b'{') => self.object(out),
            Some(b'[') => self.list(out),
            _ => out.extend_from_slice(self.scalar()),
        }
    }

    /// A string with its quotes, or what goes on to the next separator.
    fn scalar(&mut self) -> &'t [u8] {
        let start = self.at;
        let is_string = self.peek() == Some(b'"');
        let mut escaped = false;
        while let Some(byte) = self.peek() {
            let is_first = self.at == start;
            let ends = matches!(byte, b',' | b':' | b'}' | b']') || byte.is_ascii_whitespace();
            if !is_string && ends {
                break;
            }
            self.at += 1;
            if is_string && byte == b'"' && !escaped && !is_first {
                break;
            }
            escaped = byte == b'\\' && !escaped;
        }
        &self.text[start..self.at]
    }

    fn object(&mut self, out: &mut Vec<u8>) {
        self.at += 1;
        let mut members: Vec<(&[u8], Vec<u8>)> = vec![];
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                break;
            }
            let name = self.scalar();
            self.space();
            self.at += usize::from(self.peek() == Some(b':'));
            let mut value = vec![];
            self.value(&mut value);
            let (mut key, inside) = (vec![], name.get(1..name.len() - 1).unwrap_or_default());
            if unescape(inside, 0, &mut key).is_err() {
                key = inside.to_vec();
            }
            let place = *places.entry(key).or_insert(members.len());
            match members.get_mut(place) {
                Some(member) => member.1 = value,
                None => members.push((name, value)),
            }
            self.separator();
        }
        self.at += 1;
        out.push(b'{');
        for (number, (name, value)) in members.iter().enumerate() {
            out.extend_from_slice(if number > 0 { b"," } else { b"" });
            out.extend_from_slice(name);
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.push(b'}');
    }

    fn list(&mut self, out: &mut Vec<u8>) {
        self.at += 1;
        out.push(b'[');
        loop {
            self.space();
            if matches!(self.peek(), None | Some(b']')) {
                break;
            }
            let before = self.at;
            self.value(out);
            if self.separator() {
                out.push(b',');
            }
            if self.at == before {
                break;
            }
        }
        self.at += 1;
        out.push(b']');
    }

    /// Passes a comma, and tells whether there was one.
    fn separator(&mut self) -> bool {
        self.space();
        let is_comma = self.peek() == Some(b',');
        self.at += usize::from(is_comma);
        is_comma
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_each_name_is_left() {
        for (text, left) in [
            (r#"{"a":1,"b":[2 , {"c":3,"c" : "}\"," }],"a":{"x":"[","x":null}}"#, None),
            (r#"{"a":1, "\u0061" : 2}"#, Some(r#"{"a":2}"#)),
            ("{ }", Some("{}")),
            (r#"{"a":[[],{}, -1.5e3,true]}"#, Some(r#"{"a":[[],{},-1.5e3,true]}"#)),
        ] {
            let left = left.unwrap_or(r#"{"a":{"x":null},"b":[2,{"c":"}\","}]}"#);
            assert_eq!(String::from_utf8_lossy(&last_of_each(text.as_bytes())), left);
        }
    }
}
