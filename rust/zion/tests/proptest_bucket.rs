//! Random rows through the encoder and back.

use std::error::Error;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use zion::block::rows::{Rows, put_kept};
use zion::block::{BlockReader, frame_header};
use zion::bucket::{Decoder, Encoder};
use zion::codec::Algorithm;
use zion::ion::{self, SymbolTable, kind, pad, varuint};

const ALIGN: usize = 1 << 20;

/// A few kinds of values, short and long, in their Ion form.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let scalar = prop_oneof![
        Just(vec![ion::NULL]),
        any::<bool>().prop_map(|flag| vec![if flag { ion::TRUE } else { ion::FALSE }]),
        any::<i64>().prop_map(|number| {
            let mut out = vec![];
            ion::put_int(&mut out, i128::from(number));
            out
        }),
        any::<f64>().prop_map(|number| {
            let mut out = vec![];
            ion::put_float(&mut out, number);
            out
        }),
        ".{0,40}".prop_map(|text| {
            let mut out = vec![];
            ion::put_string(&mut out, text.as_bytes());
            out
        }),
        vec(any::<u8>(), 0..20_000).prop_map(|text| {
            let mut out = vec![];
            ion::put_header(&mut out, kind::STRING, text.len());
            out.extend(text);
            out
        }),
    ];
    let small = (-200i64..200).prop_map(|number| {
        let mut out = vec![];
        ion::put_int(&mut out, i128::from(number));
        out
    });
    prop_oneof![
        5 => scalar,
        1 => vec(small, 0..80).prop_map(|items| {
            let items = items.concat();
            let mut out = vec![];
            ion::put_header(&mut out, kind::LIST, items.len());
            out.extend(items);
            out
        }),
    ]
}

/// Fields by symbol id, of which some are close together and some are far away.
fn row() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![4u32..40, 10u32..300];
    btree_map(id, value(), 0..40).prop_map(|fields| {
        let mut body = vec![];
        for (id, value) in fields {
            varuint::put(&mut body, u64::from(id));
            body.extend(value);
        }
        let mut out = vec![];
        ion::put_header(&mut out, kind::STRUCT, body.len());
        out.extend(body);
        out
    })
}

fn table() -> SymbolTable {
    let mut table = SymbolTable::new();
    for number in 10..300 {
        // The last names are listed a second time.
        table.push(format!("name {}", number % 280).as_bytes());
    }
    table
}

fn check(rows: &[Vec<Vec<u8>>], fields: &[u32], algorithm: Algorithm) -> Result<(), Box<dyn Error>> {
    let table = table();
    let names: Vec<Box<[u8]>> = fields.iter().filter_map(|&id| table.name(id)).map(Into::into).collect();
    let mut encoder = Encoder::new(algorithm, 1)?;
    let (mut block, mut chunks) = (vec![], vec![]);
    for (number, rows) in rows.iter().enumerate() {
        let mut chunk = vec![];
        if number == 0 {
            table.put_full(&mut chunk, 300);
        }
        chunk.extend(rows.concat());
        let mut padded = chunk.clone();
        pad::put(&mut padded, ALIGN - chunk.len());
        let mut packed = vec![];
        encoder.encode(&padded, &mut packed)?;
        block.extend(frame_header(packed.len())?);
        block.extend(&packed);
        if algorithm != Algorithm::Zstd {
            assert_eq!(Decoder::new()?.count(&packed).ok(), Some(rows.len() as u64));
        }
        chunks.push(if algorithm == Algorithm::Zstd { padded } else { chunk });
    }
    let mut whole = BlockReader::new(&block, algorithm, ALIGN)?;
    let mut part = BlockReader::new(&block, algorithm, ALIGN)?.project(Some(&names));
    let mut keep = vec![false; table.max_id() as usize];
    for id in names.iter().flat_map(|name| table.ids(name)) {
        keep[id as usize] = true;
    }
    for expected in &chunks {
        let chunk = whole.next_chunk()?.ok_or("a chunk is missing")?;
        assert!(chunk.data == &expected[..], "a chunk came back different");
        let projected = part.next_chunk()?.ok_or("a chunk is missing")?;
        if algorithm != Algorithm::Zstd {
            let mut kept = chunk.data[..chunk.rows_at].to_vec();
            for row in Rows::new(chunk.data, chunk.rows_at) {
                put_kept(chunk.data, row?.1, &keep, &mut vec![], &mut kept)?;
            }
            assert!(projected.data == &kept[..], "a projection is not a part of the whole");
        }
    }
    assert!(whole.next_chunk()?.is_none());
    Ok(())
}

const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Zstd, Algorithm::ZionZstd, Algorithm::ZionIguana, Algorithm::ZionIguanaSpecialized];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_come_back_whole_and_in_part(
        rows in vec(vec(row(), 0..5), 1..3),
        fields in vec(4u32..300, 0..6),
        algorithm in 0usize..4,
    ) {
        if let Err(error) = check(&rows, &fields, ALGORITHMS[algorithm]) {
            prop_assert!(false, "{}", error);
        }
    }

    #[test]
    fn damage_is_no_panic(
        rows in vec(row(), 1..4),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        algorithm in 1usize..4,
    ) {
        let mut chunk = vec![];
        table().put_full(&mut chunk, 300);
        chunk.extend(rows.concat());
        let mut packed = vec![];
        prop_assert!(Encoder::new(ALGORITHMS[algorithm], 1)
            .and_then(|mut encoder| encoder.encode(&chunk, &mut packed))
            .is_ok());
        for (place, byte) in damage {
            let place = place.index(packed.len());
            packed[place] = byte;
        }
        let mut out = vec![];
        let decoded = Decoder::new()
            .and_then(|mut decoder| decoder.decode(&packed, &mut SymbolTable::new(), None, &mut out, ALIGN));
        prop_assert!(decoded.is_err() || out.len() <= ALIGN);
    }
}
