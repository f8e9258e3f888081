//! Joints of texts: pieces with a sign in them, for addresses and names with dots (`docs/format.md`, section 10).
//!
//! N-grams end at dots, so that `10.1.2.3` and `app.log` have none. Like an n-gram a joint depends on its bytes
//! alone, so a text has all joints of each of its parts. Each of them counts: an address has one.

/// Bytes on each side of the sign of a name.
const SIDE: usize = 3;
/// Digits between two signs of an address at most.
const MAX_GROUP: usize = 4;
/// Digits behind the last sign of an address of a private network that count; of others it is one.
const MAX_LAST: usize = 3;
/// Digits of an address, and one for the sign.
const BASE: u64 = 17;
/// Stands for the sign in the number of an address.
const SIGN: u64 = 16;

/// Bytes of which each text is looked through; for all others nothing happens.
const IS_SIGN: [bool; 256] = {
    let mut signs = [false; 256];
    let mut at = 0;
    while at < SIGNS.len() {
        signs[SIGNS[at] as usize] = true;
        at += 1;
    }
    signs
};
const SIGNS: &[u8] = b".@_-:";

/// Calls `take` for each joint of a text, with its number.
pub fn joints(text: &[u8], mut take: impl FnMut(u64)) {
    for at in 0..text.len() {
        joint_at(text, at, &mut take);
    }
}

/// The same for those joints whose sign, or last sign, is here, if there is one.
#[inline]
pub fn joint_at(text: &[u8], at: usize, take: &mut impl FnMut(u64)) {
    let Some(&sign) = text.get(at).filter(|&&byte| IS_SIGN[usize::from(byte)]) else { return };
    if sign != b':'
        && let Some(number) = name(text, at, sign)
    {
        take(number);
    }
    if matches!(sign, b'.' | b'-' | b':') {
        address(text, at, sign, take);
    }
}

/// The joint of a name: three letters on each side of a sign; on one side of a dot there may be digits, too.
fn name(text: &[u8], at: usize, sign: u8) -> Option<u64> {
    let (mut before, mut behind) = (&text[..at], &text[at + 1..]);
    let mut left = [0; SIDE];
    for byte in left.iter_mut().rev() {
        (*byte, before) = last(before)?;
    }
    let mut right = [0; SIDE];
    for byte in &mut right {
        (*byte, behind) = first(behind)?;
    }
    let has_digit = |side: &[u8]| side.iter().any(u8::is_ascii_digit);
    let is_fit = match (has_digit(&left), has_digit(&right)) {
        (true, true) => false,
        (false, false) => true,
        _ => sign == b'.',
    };
    let bytes = left.iter().chain([&sign]).chain(&right);
    is_fit.then(|| bytes.fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The first letter or digit of a text, and what is behind it. The long s and the Kelvin sign are s and k, as in
/// n-grams.
fn first(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [0xC5, 0xBF, rest @ ..] => Some((b's', rest)),
        [0xE2, 0x84, 0xAA, rest @ ..] => Some((b'k', rest)),
        [byte, rest @ ..] => folded(*byte).map(|byte| (byte, rest)),
        [] => None,
    }
}

/// The same from the end.
fn last(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [rest @ .., 0xC5, 0xBF] => Some((b's', rest)),
        [rest @ .., 0xE2, 0x84, 0xAA] => Some((b'k', rest)),
        [rest @ .., byte] => folded(*byte).map(|byte| (byte, rest)),
        [] => None,
    }
}

fn folded(byte: u8) -> Option<u8> {
    (byte.is_ascii_alphanumeric() || byte >= 0x80).then(|| byte.to_ascii_lowercase())
}

/// The joints of an address of which the third sign of a kind is here: a digit, a sign, a group of digits, a sign,
/// another group, the sign, and a digit behind it; in private networks, of which a block may have all addresses
/// but for their last digits, also two digits and three.
fn address(text: &[u8], at: usize, sign: u8, take: &mut impl FnMut(u64)) {
    let is_hex = sign == b':';
    let value = |byte: u8| {
        let value = char::from(byte).to_digit(16)?;
        (is_hex || value < 10).then_some(u64::from(value))
    };
    let Some(start) = start(text, at, sign, value, usize::from(!is_hex)) else { return };
    let mut has_letter = false;
    let mut number = 0;
    for &byte in &text[start..=at] {
        let digit = value(byte);
        has_letter |= digit.is_some_and(|digit| digit >= 10);
        number = number * BASE + digit.unwrap_or(SIGN);
    }
    let most = if !is_hex && is_private(&text[start..at]) { MAX_LAST } else { 1 };
    for &byte in text[at + 1..].iter().take(most) {
        let Some(digit) = value(byte) else { break };
        number = number * BASE + digit;
        // Times have colons, too, and three of them behind a date; each second would be a joint.
        if has_letter || digit >= 10 || !is_hex {
            take(number);
        }
    }
}

/// Whether an address may be of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, by the last digit of its first number
/// and by its second one.
fn is_private(joint: &[u8]) -> bool {
    match joint {
        [b'0', ..] => true,
        [b'2', _, behind @ ..] => {
            let second = behind.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
            matches!(second, [b'1', b'6'..=b'9'] | [b'2', b'0'..=b'9'] | [b'3', b'0' | b'1'] | b"168")
        }
        _ => false,
    }
}

/// Where a joint begins of which the last sign is here: two groups and a digit before it.
fn start(text: &[u8], at: usize, sign: u8, value: impl Fn(u8) -> Option<u64>, least: usize) -> Option<usize> {
    let mut end = at;
    for _ in 0..2 {
        let digits = text[..end].iter().rev().take(MAX_GROUP).take_while(|&&byte| value(byte).is_some());
        let count = digits.count();
        end = end.checked_sub(count + 1)?;
        if count < least || text[end] != sign {
            return None;
        }
    }
    let start = end.checked_sub(1)?;
    value(text[start]).map(|_| start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &[u8]) -> Vec<u64> {
        let mut found = vec![];
        joints(text, |joint| found.push(joint));
        found
    }

    /// Names as they are written, addresses with their digits of 17.
    fn written(text: &str) -> Vec<String> {
        let name = |number: u64| number >> 24 & 0xFF > 0 && number >> 48 > 0x20 && number >> 56 == 0;
        let digits = |mut number: u64| {
            let mut digits = vec![];
            while number > 0 {
                digits.push(char::from(b"0123456789abcdef|"[(number % BASE) as usize]));
                number /= BASE;
            }
            digits.iter().rev().collect::<String>()
        };
        let bytes = |number: u64| String::from_utf8_lossy(&number.to_be_bytes()[1..]).into_owned();
        let readable = |text: &String| text.bytes().all(|byte| byte.is_ascii_graphic());
        let each = of(text.as_bytes()).into_iter();
        let each = each.map(|number| {
            Some(bytes(number))
                .filter(|text| name(number) && readable(text))
                .unwrap_or_else(|| digits(number))
        });
        each.collect()
    }

    #[test]
    fn names_have_three_letters_on_each_side() {
        assert_eq!(written("open /var/log/App.log"), ["app.log"]);
        assert_eq!(written("calc.xll cmd.exe ann@example.com"), ["alc.xll", "cmd.exe", "ann@exa", "ple.com"]);
        assert_eq!(written("db01.prod pay-api web_app a.log app.py"), ["b01.pro", "pay-api", "web_app"]);
        assert_eq!(written("123.456 a1f-77c a1f_abc 0a1.0b2 web-001 a1f@abc"), [] as [&str; 0]);
        assert_eq!(of("ri\u{17f}\u{212a}.log".as_bytes()), of(b"RISK.LOG"));
        assert_eq!(of("log.\u{212a}i\u{17f}".as_bytes()), of(b"log.kis"));
        assert_eq!(of("日本.日本".as_bytes()).len(), 1);
    }

    #[test]
    fn addresses_have_a_joint_for_each_digit_at_the_end() {
        let number = |digits: &[u64]| digits.iter().fold(0, |number, digit| number * BASE + digit);
        let s = SIGN;
        assert_eq!(of(b"from 10.1.2.3:80"), [number(&[0, s, 1, s, 2, s, 3])]);
        assert_eq!(
            of(b"192.168.10.254"),
            [
                number(&[2, s, 1, 6, 8, s, 1, 0, s, 2]),
                number(&[2, s, 1, 6, 8, s, 1, 0, s, 2, 5]),
                number(&[2, s, 1, 6, 8, s, 1, 0, s, 2, 5, 4]),
            ]
        );
        for text in ["10.200.3.77", "172.16.3.77", "172.29.3.77", "172.31.3.77", "192.168.3.77"] {
            assert_eq!(of(text.as_bytes()).len(), 2, "{text}");
        }
        for text in ["172.15.3.77", "172.32.3.77", "192.169.3.77", "172.160.3.77", "8.8.8.77"] {
            assert_eq!(of(text.as_bytes()).len(), 1, "{text}");
        }
        assert_eq!(of(b"ip-10-1-2-3"), of(b"10.1.2.3"));
        assert_eq!(of(b"00:1B:44:11:3a:b7").len(), 3);
        assert_eq!(of(b"fe80::1ff:fe23"), [number(&[0, s, s, 1, 15, 15, s, 15])]);
        for text in ["1.2.3", "1..2.3", "1.2.3.", ".2.3.4", "1.2.12345.6", "27/10/2026:20:00:01", "a.1.2.3"] {
            assert!(of(text.as_bytes()).is_empty(), "{text}");
        }
        assert_eq!(of(b"9999.9999.9999.9999").len(), 1);
    }

    proptest! {
        #[test]
        fn a_text_has_the_joints_of_each_of_its_parts(
            text in r"([0-9a-fk-sK\.:/@_\\-]|\u{17f}|\u{212a}|é|[0-9]{1,3}\.|.){0,40}",
            cut in any::<(prop::sample::Index, prop::sample::Index)>(),
            upper in any::<bool>(),
        ) {
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let (a, b) = (*cut.0.get(&starts), *cut.1.get(&starts));
            let part = &text[a.min(b)..a.max(b)];
            let part = if upper { part.to_ascii_uppercase() } else { part.to_ascii_lowercase() };
            let whole = of(text.as_bytes());
            prop_assert!(of(part.as_bytes()).iter().all(|joint| whole.contains(joint)));
        }

        #[test]
        fn any_address_has_joints(parts in any::<[u8; 4]>(), before in "[a-z =\\[]?", behind in "[a-z :,]?") {
            let [a, b, c, d] = parts;
            let address = format!("{a}.{b}.{c}.{d}");
            let joints = of(address.as_bytes());
            prop_assert!((1..=d.to_string().len()).contains(&joints.len()));
            prop_assert_eq!(of(format!("{before}{address}{behind}").as_bytes()), joints);
        }
    }
}
