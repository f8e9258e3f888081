//! The JSON of OTLP, as the Protobuf messages of OpenTelemetry have it: an object of `resourceLogs`, `resourceSpans` or
//! `resourceMetrics` becomes a row for each record, span or data point, with its resource and scope.

use super::rows::Rows;
use super::walk::{
    MOST_DEPTH, Member, elements, inside, is_named, join, member, members, put_instant, put_list,
};

/// The members of a document that hold the objects.
pub(super) const LISTS: &[&str] = &["resourceLogs", "resourceSpans", "resourceMetrics"];
/// Where an object has its scopes, and a scope its records.
const SCOPES: &[&str] = &["scopeLogs", "scopeSpans", "scopeMetrics"];
const RECORDS: &[&str] = &["logRecords", "spans", "metrics"];
/// What a metric has its data points in, by its type.
const METRICS: &[&str] = &["gauge", "sum", "histogram", "exponentialHistogram", "summary"];
/// Whole numbers of 64 bits, which are texts.
const NUMBERS: &[&[u8]] = &[b"asInt", b"intValue", b"count", b"zeroCount", b"bucketCounts"];

/// What stands beside records where there are none.
const BESIDE_SCOPES: &[&str] = &["resource", "schemaUrl"];
const BESIDE_RECORDS: &[&str] = &["scope", "schemaUrl"];
const BESIDE_POINTS: &[&str] = &["aggregationTemporality", "isMonotonic"];
const OF_METRICS: &[&str] = &["name", "description", "unit", "metadata"];

/// Appends the rows of an object.
pub(super) fn rows(object: &[u8], rows: &mut Rows) -> Option<()> {
    let resource = members(object)?;
    let mut context = vec![];
    put_context(&mut context, "resource", &resource, SCOPES)?;
    each_of(&resource, SCOPES, BESIDE_SCOPES, |scope| {
        let scope = members(scope)?;
        let length = context.len();
        put_context(&mut context, "scope", &scope, RECORDS)?;
        let is_metrics = member(&scope, "metrics").is_some();
        each_of(&scope, RECORDS, BESIDE_RECORDS, |record| {
            let record = members(record)?;
            if is_metrics {
                put_points(rows, &context, &record)
            } else {
                rows.add(|out| put_row(out, &context, &[&record]))
            }
        })?;
        context.truncate(length);
        Some(())
    })
}

/// Calls `take` for the elements of the lists of some names; none: there is no such list, but others than `beside`.
fn each_of<'t>(
    all: &[Member<'t>],
    names: &[&str],
    beside: &[&str],
    mut take: impl FnMut(&'t [u8]) -> Option<()>,
) -> Option<()> {
    let mut has_list = false;
    for (_, list) in all.iter().filter(|(name, _)| is_one_of(name, names)) {
        has_list = true;
        if *list != b"null" {
            elements(list, &mut take)?;
        }
    }
    (has_list || all.iter().all(|(name, _)| is_one_of(name, beside))).then_some(())
}

fn is_one_of(quoted: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| is_named(quoted, name))
}

/// Appends what all records have of an object around them, as another member.
fn put_context(out: &mut Vec<u8>, name: &str, around: &[Member], lists: &[&str]) -> Option<()> {
    let mut all = around.iter().filter(|(known, _)| is_named(known, name));
    let own = match all.next() {
        None | Some((_, b"null")) => vec![],
        Some((_, own)) => members(own)?,
    };
    all.next().is_none().then_some(())?;
    let is_left =
        |(known, value): &&Member| !is_one_of(known, lists) && !is_named(known, name) && *value != b"\"\"";
    let beside = around.iter().filter(is_left);
    out.extend_from_slice(format!("\"{name}\":{{").as_bytes());
    join(out, own.iter().chain(beside), |out, &(name, value)| put_member(out, name, value, 0))?;
    out.extend_from_slice(b"},");
    Some(())
}

fn put_row(out: &mut Vec<u8>, context: &[u8], parts: &[&[Member]]) -> Option<()> {
    out.push(b'{');
    out.extend_from_slice(context);
    let all = parts.iter().copied().flatten().filter(|(name, value)| !is_unset(name, value));
    let length = out.len();
    join(out, all, |out, &(name, value)| put_member(out, name, value, 0))?;
    if out.len() == length {
        out.pop();
    }
    out.push(b'}');
    Some(())
}

/// Appends a row for each data point of a metric.
fn put_points(rows: &mut Rows, context: &[u8], metric: &[Member]) -> Option<()> {
    let (all, own): (Vec<Member>, Vec<Member>) =
        metric.iter().partition(|(name, _)| is_one_of(name, METRICS));
    for (kind, data) in &all {
        let data = members(data)?;
        let mut beside: Vec<Member> = vec![(b"\"type\"", kind)];
        beside.extend(data.iter().filter(|(name, _)| !is_named(name, "dataPoints")));
        each_of(&data, &["dataPoints"], BESIDE_POINTS, |point| {
            let point = members(point)?;
            // Attributes are those of the point; a metric has `metadata`.
            rows.add(|out| put_row(out, context, &[&own, &beside, &point]))
        })?;
    }
    (!all.is_empty() || own.iter().all(|(name, _)| is_one_of(name, OF_METRICS))).then_some(())
}

/// Whether a member says nothing: of times, 0 means that they are not known.
fn is_unset(name: &[u8], value: &[u8]) -> bool {
    is_time(name) && matches!(value, b"\"0\"" | b"0")
}

fn is_time(name: &[u8]) -> bool {
    inside(name).is_some_and(|name| name.ends_with(b"UnixNano"))
}

fn put_member(out: &mut Vec<u8>, name: &[u8], value: &[u8], depth: u32) -> Option<()> {
    out.extend_from_slice(name);
    out.push(b':');
    let digits = inside(value).unwrap_or(value);
    let known = inside(name).unwrap_or_default();
    match known {
        _ if is_time(name) && is_number(digits) => {
            put_instant(out, std::str::from_utf8(digits).ok()?.parse().ok()?)
        }
        b"attributes" | b"metadata" if value.first() == Some(&b'[') => put_attributes(out, value, depth),
        b"body" => put_any(out, value, depth),
        _ if NUMBERS.contains(&known) => put_numbers(out, value),
        _ => put(out, value, depth + 1),
    }
}

/// Appends a value, with what is to be unfolded in it.
fn put(out: &mut Vec<u8>, value: &[u8], depth: u32) -> Option<()> {
    (depth < MOST_DEPTH).then_some(())?;
    match value.first()? {
        b'{' => {
            out.push(b'{');
            let all = members(value)?.into_iter().filter(|(name, value)| !is_unset(name, value));
            join(out, all, |out, (name, value)| put_member(out, name, value, depth))?;
            out.push(b'}');
        }
        b'[' => put_list(out, value, |out, element| put(out, element, depth + 1))?,
        _ => out.extend_from_slice(value),
    }
    Some(())
}

/// Appends `[{"key": ..., "value": ...}, ...]` as an object.
fn put_attributes(out: &mut Vec<u8>, list: &[u8], depth: u32) -> Option<()> {
    out.push(b'{');
    let start = out.len();
    elements(list, |attribute| {
        let attribute = members(attribute)?;
        let key = member(&attribute, "key").filter(|key| key.first() == Some(&b'"'))?;
        let value = member(&attribute, "value");
        (attribute.len() == 1 + usize::from(value.is_some())).then_some(())?;
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(key);
        out.push(b':');
        put_any(out, value.unwrap_or(b"null"), depth + 1)
    })?;
    out.push(b'}');
    Some(())
}

/// Appends an `AnyValue`: `{"stringValue": "x"}` and the like.
fn put_any(out: &mut Vec<u8>, value: &[u8], depth: u32) -> Option<()> {
    (depth < MOST_DEPTH).then_some(())?;
    if value.first() != Some(&b'{') {
        return put(out, value, depth + 1);
    }
    let all = members(value)?;
    let [(kind, value)] = all[..] else {
        return if all.is_empty() {
            out.extend_from_slice(b"null");
            Some(())
        } else {
            put(out, value, depth + 1)
        };
    };
    let values = || match members(value)?[..] {
        [] => Some(&b"[]"[..]),
        [(name, values)] if is_named(name, "values") => Some(values),
        _ => None,
    };
    match inside(kind).unwrap_or_default() {
        b"stringValue" | b"boolValue" | b"bytesValue" => out.extend_from_slice(value),
        b"intValue" | b"doubleValue" => put_numbers(out, value)?,
        b"arrayValue" => put_list(out, values()?, |out, element| put_any(out, element, depth + 1))?,
        b"kvlistValue" => put_attributes(out, values()?, depth + 1)?,
        _ => {
            out.push(b'{');
            put_member(out, kind, value, depth + 1)?;
            out.push(b'}');
        }
    }
    Some(())
}

/// Appends numbers that may be texts, or a list of them.
fn put_numbers(out: &mut Vec<u8>, value: &[u8]) -> Option<()> {
    let put = |out: &mut Vec<u8>, value: &[u8]| {
        put_number(out, value);
        Some(())
    };
    if value.first() == Some(&b'[') { put_list(out, value, put) } else { put(out, value) }
}

fn put_number(out: &mut Vec<u8>, value: &[u8]) {
    let digits = inside(value).unwrap_or(value);
    let is_named = matches!(digits, b"NaN" | b"Infinity" | b"-Infinity");
    out.extend_from_slice(if is_named || is_number(digits) { digits } else { value });
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let has_zeros = digits.len() > 1 && digits[0] == b'0';
    !digits.is_empty() && digits.len() < 20 && !has_zeros && digits.iter().all(u8::is_ascii_digit)
}
