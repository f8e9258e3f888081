//! Geohashes.

const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// The geohash of a place, of `length` characters (taken as 1 to 12). The upper edge is the lower
/// one, as it is on the globe at 180 degrees of longitude; coordinates out of range are those of the
/// nearest edge; NaN has no hash.
///
/// ```
/// assert_eq!(zion::functions::geo::hash(52.2297, 21.0122, 6).as_deref(), Some("u3qcnh"));
/// ```
pub fn hash(latitude: f64, longitude: f64, length: i64) -> Option<String> {
    if latitude.is_nan() || longitude.is_nan() {
        return None;
    }
    let length = length.clamp(1, 12) as usize;
    let around = |value: f64, edge: f64| if value >= edge { -edge } else { value };
    let mut ranges = [(-180.0, 180.0, around(longitude, 180.0)), (-90.0, 90.0, around(latitude, 90.0))];
    let mut bits = 0usize;
    let mut text = String::with_capacity(length);
    for place in 0..length * 5 {
        let (low, high, value) = &mut ranges[place % 2];
        let middle = f64::midpoint(*low, *high);
        let is_upper = *value >= middle;
        *(if is_upper { low } else { high }) = middle;
        bits = (bits << 1 | usize::from(is_upper)) & 31;
        if place % 5 == 4 {
            text.push(char::from(DIGITS[bits]));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn known_places() {
        assert_eq!(hash(57.64911, 10.40744, 11).as_deref(), Some("u4pruydqqvj"));
        assert_eq!(hash(0.0, 0.0, 1).as_deref(), Some("s"));
        assert_eq!(hash(-90.0, -180.0, 3).as_deref(), Some("000"));
    }

    #[test]
    fn out_of_range() {
        assert_eq!(hash(91.0, 181.0, 4), hash(90.0, 180.0, 4));
        assert_eq!(hash(1.0, 1.0, 99).map(|text| text.len()), Some(12));
        assert_eq!(hash(1.0, 1.0, -5).map(|text| text.len()), Some(1));
        assert_eq!(hash(f64::NAN, 1.0, 5), None);
    }
}
