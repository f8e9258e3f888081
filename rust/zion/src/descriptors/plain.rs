//! Whether a descriptor is plain, and what it says then.

use super::times::{Told, integers, pair, summed, told};
use crate::codec::zstd::Decompressor;
use crate::ion::value::{self, Name, Value};

type Fields = [(Name, Value)];

const FORMAT: &str = "blockfmt/compressed/v2";
const ALGORITHMS: [&str; 6] =
    ["zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized", "zstd", "zion", "s2"];
const MEMBERS: [&str; 7] = ["path", "etag", "last-modified", "format", "size", "trailer", "original"];
const TRAILER: [&str; 6] = ["version", "offset", "algo", "blockshift", "sparse", "blocks-delta"];
const MOST_KEY_BYTES: usize = 1024;
const MOST_NAME_BYTES: usize = 255;
const MOST_ETAG_BYTES: usize = 1024;
const MOST_BLOCKS: usize = 1 << 24;
const MOST_INDEXES: usize = 1 << 16;
const MOST_NAMES: usize = 64;
const MOST_TYPES: usize = 64;
const MOST_SUMMARY_BYTES: usize = 16 << 20;
const LEAST_FRAME_BYTES: i64 = 6;
const DIGEST_BYTES: usize = 20;
/// Larger chunks are for those who trust a file.
const SHIFTS: std::ops::RangeInclusive<i64> = 9..=24;

/// What a row count that is not known, and every number of a descriptor that is not plain, is given as.
pub const UNKNOWN: i64 = -1;

/// What a plain descriptor says.
pub(super) struct Plain {
    pub(super) key: Box<str>,
    pub(super) size: i64,
    pub(super) rows: i64,
    pub(super) blocks: i64,
    pub(super) stored: i64,
    pub(super) decompressed: i64,
    pub(super) times: Vec<(Vec<Name>, i64, i64)>,
    pub(super) constants: Value,
}

/// What a descriptor says; none if it is not plain.
pub fn read(value: Value, blobs: &mut Decompressor) -> Option<Plain> {
    let Value::Struct(members) = value else { return None };
    let is_known = |name: &str| MEMBERS.contains(&name);
    let is_format = matches!(get(&members, "format"), Some(Value::String(text)) if &**text == FORMAT);
    let is_timed = matches!(get(&members, "last-modified"), None | Some(Value::Time(_)));
    let Some(Value::String(key)) = get(&members, "path") else { return None };
    let Some(Value::String(etag)) = get(&members, "etag") else { return None };
    if !members.iter().all(|(name, _)| is_known(name)) || !is_format || !is_timed || !is_key(key) {
        return None;
    }
    let key = key.clone();
    let size = number(get(&members, "size")?).filter(|&size| size >= 0)?;
    if etag.len() > MOST_ETAG_BYTES {
        return None;
    }
    let Value::Struct(trailer) = take(members, "trailer")? else { return None };
    let found = of_trailer(trailer, blobs)?;
    (found.stored < size).then_some(Plain { key, size, ..found })
}

fn of_trailer(members: Vec<(Name, Value)>, blobs: &mut Decompressor) -> Option<Plain> {
    if !members.iter().all(|(name, _)| TRAILER.contains(&&**name)) || number(get(&members, "version")?)? != 1
    {
        return None;
    }
    let stored = number(get(&members, "offset")?)?;
    let shift = number(get(&members, "blockshift")?).filter(|shift| SHIFTS.contains(shift))?;
    let Some(Value::String(algorithm)) = get(&members, "algo") else { return None };
    let chunks = chunks(get(&members, "blocks-delta")?, stored)?;
    if !ALGORITHMS.contains(&&**algorithm) {
        return None;
    }
    let blocks = chunks.len() as i64;
    let Value::Struct(sparse) = take(members, "sparse")? else { return None };
    if number(get(&sparse, "blocks")?)? != blocks {
        return None;
    }
    let times = times(get(&sparse, "indices"), blocks)?;
    let rows = get(&sparse, "sdb").and_then(|own| rows(own, &chunks, shift, blobs)).unwrap_or(UNKNOWN);
    let constants = take(sparse, "consts").unwrap_or_else(|| Value::Struct(vec![]));
    let sum = chunks.iter().map(|&count| i128::from(count)).sum::<i128>() << shift;
    let decompressed = i64::try_from(sum).ok()?;
    let is_struct = matches!(constants, Value::Struct(_));
    let key = "".into();
    is_struct.then_some(Plain { key, size: 0, rows, blocks, stored, decompressed, times, constants })
}

/// Numbers of chunks of the blocks, if they can be in so many bytes.
fn chunks(value: &Value, stored: i64) -> Option<Vec<i64>> {
    let steps = integers(value)?;
    let (offsets, chunks) = (summed(&steps, 0, 2)?, summed(&steps, 1, 1)?);
    if !steps.len().is_multiple_of(2) || chunks.len() > MOST_BLOCKS || chunks.is_empty() != (stored == 0) {
        return None;
    }
    let ends = offsets.iter().skip(1).chain([&stored]);
    let mut blocks = offsets.iter().zip(ends).zip(&chunks);
    let is_sound = offsets.first().is_none_or(|&first| first == 0)
        && blocks.all(|((&from, &to), &count)| {
            from < to
                && count >= 1
                && i128::from(count) <= (i128::from(to) - i128::from(from)) / i128::from(LEAST_FRAME_BYTES)
        });
    is_sound.then_some(chunks)
}

/// The first and last time of each index that tells them.
fn times(indices: Option<&Value>, blocks: i64) -> Option<Vec<(Vec<Name>, i64, i64)>> {
    let Some(indices) = indices else { return Some(vec![]) };
    let Value::List(indices) = indices else { return None };
    let mut paths: Vec<Vec<Name>> = vec![];
    let mut found = vec![];
    for index in indices {
        let Value::Struct(members) = index else { return None };
        let path = path(get(members, "path")?)?;
        let Value::Struct(ranges) = get(members, "ranges")? else { return None };
        let (max, min) = (get(ranges, "max")?, get(ranges, "min")?);
        let known = match (pair(max), pair(min)) {
            (Some((last, end)), Some((first, 0))) if end == blocks && first <= last => {
                Told::Span(first, last)
            }
            _ => told(&integers(max)?, &integers(min)?, blocks),
        };
        match known {
            Told::Span(first, last) => found.push((path.clone(), first, last)),
            Told::Nothing => {}
            Told::Nonsense => return None,
        }
        paths.push(path);
    }
    if let [_] = paths[..] {
        return Some(found);
    }
    paths.sort_unstable();
    let is_unique = paths.windows(2).all(|pair| pair[0] != pair[1]);
    (is_unique && paths.len() <= MOST_INDEXES).then_some(found)
}

fn path(value: &Value) -> Option<Vec<Name>> {
    let Value::List(names) = value else { return None };
    let name = |name: &Value| match name {
        Value::Symbol(name) => Some(name.clone()),
        Value::String(text) => Some(Name::from(&**text)),
        _ => None,
    };
    (1..=MOST_NAMES).contains(&names.len()).then(|| names.iter().map(name).collect())?
}

/// The number of rows that the extension tells; none where it has a flaw, or is not as we write it.
fn rows(own: &Value, chunks: &[i64], shift: i64, blobs: &mut Decompressor) -> Option<i64> {
    let Value::Struct(members) = own else { return None };
    let is_blob = |name| matches!(get(members, name), None | Some(Value::Blob(_)));
    let digests = match get(members, "digests") {
        Some(Value::Blob(bytes)) => bytes.len(),
        None => 0,
        _ => return None,
    };
    if number(get(members, "version")?)? != 1
        || get(members, "statistics").is_some()
        || !is_blob("presence")
        || !is_blob("provenance")
        || !matches!(get(members, "level"), None | Some(Value::Int(_)))
        || (digests != 0 && digests != DIGEST_BYTES * chunks.len())
    {
        return None;
    }
    let steps = if let Some(summary) = get(members, "summary") {
        let Value::Blob(packed) = summary else { return None };
        packed_steps(packed, blobs)?
    } else {
        let Value::Bool(_) = get(members, "complete")? else { return None };
        are_types(get(members, "types")?).then(|| integers(get(members, "rows")?))??
    };
    if steps.len() != chunks.len() {
        return None;
    }
    let (mut count, mut sum) = (0i64, 0i64);
    for (&step, &chunks) in steps.iter().zip(chunks) {
        count = count.checked_add(step).filter(|&count| count >= 0)?;
        if i128::from(count) > i128::from(chunks) << shift {
            return None;
        }
        sum = sum.checked_add(count)?;
    }
    Some(sum)
}

/// The row counts of a summary that is packed.
fn packed_steps(packed: &[u8], blobs: &mut Decompressor) -> Option<Vec<i64>> {
    let mut data = vec![];
    blobs.decompress(packed, &mut data, MOST_SUMMARY_BYTES).ok()?;
    let Value::List(members) = value::loads(&data).ok()? else { return None };
    let [Value::Bool(_), rows, shared, added, Value::List(_), masks] = &members[..] else { return None };
    let (shared, added, masks) = (integers(shared)?, integers(added)?, integers(masks)?);
    (shared.len() == added.len() && added.len() == masks.len()).then(|| integers(rows))?
}

fn are_types(value: &Value) -> bool {
    let Value::List(types) = value else { return false };
    let typed = |one: &Value| {
        let Value::Struct(members) = one else { return None };
        number(get(members, "mask")?).filter(|mask| (0..1 << 16).contains(mask))?;
        path(get(members, "path")?)
    };
    let found: Option<Vec<Vec<Name>>> = types.iter().take(MOST_TYPES + 1).map(typed).collect();
    found.is_some_and(|mut paths| {
        paths.sort_unstable();
        paths.len() <= MOST_TYPES && paths.windows(2).all(|pair| pair[0] != pair[1])
    })
}

/// Whether a text is surely the key of an object.
fn is_key(key: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.len() <= MOST_NAME_BYTES;
    key.len() <= MOST_KEY_BYTES
        && key.bytes().all(|byte| (b' '..0x7F).contains(&byte))
        && key.split('/').all(is_name)
}

fn number(value: &Value) -> Option<i64> {
    let Value::Int(number) = value else { return None };
    i64::try_from(*number).ok()
}

fn get<'a>(members: &'a Fields, name: &str) -> Option<&'a Value> {
    members.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
}

fn take(members: Vec<(Name, Value)>, name: &str) -> Option<Value> {
    members.into_iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
}
