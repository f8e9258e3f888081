//! Ion from outside: symbol tables, values, timestamps.

use super::rows;
use zion::Result;
use zion::ion::SymbolTable;
use zion::ion::timestamp::{self, Civil};
use zion::ion::value::{dumps, loads};

/// Applies the table at the start of `data`, then walks through the values after it.
pub fn check(data: &[u8]) -> Result<()> {
    if let Ok(value) = loads(data) {
        let again = dumps(&value)?;
        // Not the values are compared: NaN differs from itself.
        assert!(dumps(&loads(&again)?)? == again, "the value came back different");
    }
    let mut table = SymbolTable::new();
    let Ok(length) = table.apply(data) else { return Ok(()) };
    assert!(length <= data.len());
    table_round_trip(&table)?;
    let rest = &data[length..];
    // The walk may end in an error, but has to end.
    let _ = rows::values(rest, |value| {
        rows::walk(rest, value, 0)?;
        if let Ok(us) = timestamp::read(&rest[value.body..value.end], value.body) {
            time_round_trip(us)?;
        }
        Ok(())
    });
    Ok(())
}

fn time_round_trip(us: i64) -> Result<()> {
    let mut out = vec![];
    timestamp::put(&mut out, us);
    let storable = (0..=timestamp::MAX_YEAR).contains(&Civil::from_micros(us).year);
    assert!(!storable || timestamp::read(&out[1..], 0)? == us, "the time came back different");
    Ok(())
}

fn table_round_trip(table: &SymbolTable) -> Result<()> {
    let mut out = vec![];
    table.put_full(&mut out, table.max_id());
    let mut read = SymbolTable::new();
    assert!(read.apply(&out)? == out.len());
    assert!(read.max_id() == table.max_id());
    assert!((0..read.max_id()).all(|id| read.name(id) == table.name(id)), "a name came back different");
    Ok(())
}
