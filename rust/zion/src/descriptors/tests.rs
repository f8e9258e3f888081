use super::*;
use crate::ion::value::dumps;

fn structure(members: &[(&str, Value)]) -> Value {
    Value::Struct(members.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
}

fn numbers(values: &[i64]) -> Value {
    Value::List(values.iter().map(|&number| Value::Int(number.into())).collect())
}

fn text(text: &str) -> Value {
    Value::String(text.into())
}

fn descriptor(first: i64, last: i64, group: i64) -> Value {
    let ranges = structure(&[("max", numbers(&[last, 1])), ("min", numbers(&[first, 0]))]);
    let path = Value::List(vec![Value::Symbol("ts".into())]);
    let own = [("version", Value::Int(1)), ("rows", numbers(&[9])), ("types", Value::List(vec![]))];
    let own = [&own[..], &[("complete", Value::Bool(false))]].concat();
    let sparse = structure(&[
        ("blocks", Value::Int(1)),
        ("consts", structure(&[("part", Value::Int(group.into()))])),
        ("indices", Value::List(vec![structure(&[("path", path), ("ranges", ranges)])])),
        ("sdb", structure(&own)),
    ]);
    let trailer = structure(&[
        ("version", Value::Int(1)),
        ("offset", Value::Int(100)),
        ("algo", text("zion+zstd")),
        ("blockshift", Value::Int(20)),
        ("sparse", sparse),
        ("blocks-delta", numbers(&[0, 2])),
    ]);
    structure(&[
        ("path", text("db/d/t/data/x.zion")),
        ("etag", text("\"e\"")),
        ("format", text("blockfmt/compressed/v2")),
        ("size", Value::Int(1000)),
        ("trailer", trailer),
    ])
}

#[test]
fn lists_are_columns() -> Result<()> {
    let mut items: Vec<Value> = (0..10).map(|n| descriptor(10 * n, 10 * n + 9, n % 2)).collect();
    items.insert(4, Value::Null);
    let content = dumps(&structure(&[("contents", Value::List(items.clone()))]))?;
    let columns = Columns::read(&content)?;
    assert_eq!(
        (columns.len(), columns.is_plain(3), columns.is_plain(4), columns.is_plain(99)),
        (11, true, false, false)
    );
    assert_eq!((columns.rows[3], columns.rows[4], columns.blocks[3]), (9, UNKNOWN, 1));
    assert_eq!((columns.stored[0], columns.decompressed[0], columns.sizes[0]), (100, 2 << 20, 1000));
    assert_eq!(columns.within(&["ts".into()], 35, 52), [(3, 7)]);
    assert_eq!(columns.within(&["ts".into()], 0, 5), [(0, 1), (4, 5)]);
    assert_eq!(columns.within(&["other".into()], 0, 5), [(0, 11)]);
    assert_eq!(columns.having(&[1]), [(1, 2), (3, 5), (6, 7), (8, 9), (10, 11)]);
    assert_eq!(columns.constants.len(), 2);
    for (number, item) in items.iter().enumerate() {
        assert_eq!(&columns.value(&content, number)?, item);
    }
    assert!(columns.value(&content, 11).is_err());
    Ok(())
}

#[test]
fn what_is_no_list_of_descriptors_is_refused() -> Result<()> {
    let none = Value::List(vec![]);
    assert!(Columns::read(&dumps(&structure(&[("contents", none.clone())]))?)?.is_empty());
    let several = structure(&[("contents", none.clone()), ("more", Value::Null)]);
    for value in [none.clone(), Value::Null, structure(&[]), structure(&[("other", none)]), several] {
        assert!(Columns::read(&dumps(&value)?).is_err(), "{value:?}");
    }
    let content = dumps(&structure(&[("contents", Value::List(vec![descriptor(0, 9, 1)]))]))?;
    for end in 0..content.len() {
        assert!(Columns::read(&content[..end]).is_err(), "{end}");
    }
    assert!(Columns::read(&[&content[..], &[0x0F]].concat()).is_err());
    Ok(())
}
