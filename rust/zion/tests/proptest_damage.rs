//! Damaged rows, well packed: everything that reads rows ends in an error or an answer.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use zion::block::frame_header;
use zion::block::rows::TimeFilter;
use zion::bucket::{Encoder, choose_selector};
use zion::codec::Algorithm;
use zion::ion::{self, SymbolTable, kind, pad, timestamp};
use zion::unpack::{Form, Format, Job, Request, Worker};
use zion::verify::{Checks, Constant, verify_block};

const ALIGN: usize = 1 << 12;

/// A chunk with a value of every kind.
fn chunk() -> Vec<u8> {
    let mut table = SymbolTable::new();
    let (at, deep) = (table.intern(b"at"), table.intern(b"deep"));
    let mut chunk = vec![];
    table.put_full(&mut chunk, table.max_id());
    for number in 0..20 {
        let mut list = vec![];
        for item in [-3, 0, number, 1 << 40] {
            ion::put_int(&mut list, item);
        }
        ion::put_float(&mut list, 1.5);
        ion::put_symbol(&mut list, deep);
        let mut inner = vec![0x80 | at as u8];
        timestamp::put(&mut inner, number as i64 * 1_000_001);
        inner.push(0x80 | deep as u8);
        ion::put_header(&mut inner, kind::LIST, list.len());
        inner.extend(list);
        let mut row = vec![0x84];
        ion::put_string(&mut row, "grün \"und\" blau\n".as_bytes());
        row.extend([0x85, ion::NULL, 0x88, ion::TRUE, 0x80 | at as u8]);
        timestamp::put(&mut row, number as i64 * 1_000_000);
        row.push(0x80 | deep as u8);
        ion::put_header(&mut row, kind::STRUCT, inner.len());
        row.extend(inner);
        ion::put_header(&mut chunk, kind::STRUCT, row.len());
        chunk.extend(row);
    }
    let missing = ALIGN - chunk.len();
    pad::put(&mut chunk, missing);
    chunk
}

fn requests() -> zion::Result<Vec<Request>> {
    let fields: [Option<Vec<Box<[u8]>>>; 2] =
        [None, Some(vec![b"deep".as_slice().into(), b"name".as_slice().into()])];
    let mut requests = vec![];
    for format in [Format::Json, Format::Ion] {
        for fields in &fields {
            for path in [vec![], vec![b"at".as_slice()], vec![b"deep".as_slice(), b"at".as_slice()]] {
                let path: Vec<Box<[u8]>> = path.into_iter().map(Into::into).collect();
                let filter =
                    if path.is_empty() { None } else { Some(TimeFilter::new(path, Some(3_000_000), None)?) };
                requests.push(Request::new(Algorithm::Zstd, ALIGN, format, fields.clone(), filter)?);
            }
        }
    }
    Ok(requests)
}

/// Reads a chunk in every way; the number of ways that found nothing wrong.
fn read(chunk: &[u8]) -> zion::Result<usize> {
    let (mut block, mut packed) = (vec![], vec![]);
    Encoder::new(Algorithm::Zstd, 1)?.encode(chunk, &mut packed)?;
    block.extend(frame_header(packed.len())?);
    block.extend(packed);
    let mut good = 0;
    let constant = Constant::Text(b"other".as_slice().into());
    let checks = Checks {
        paths: vec![vec![b"at".as_slice().into()]],
        constants: vec![(b"name".as_slice().into(), constant)],
        max_findings: 10,
    };
    verify_block(&block, Algorithm::Zstd, ALIGN, &checks)?;
    let block = Arc::new(block);
    for request in requests()? {
        let block = block.clone();
        let form = Form::new(Algorithm::Zstd, ALIGN)?;
        let job = Job::alone(block, form, 1);
        good += usize::from(Worker::new(Arc::new(request)).work(&job).is_ok());
    }
    let encoded = Encoder::new(Algorithm::ZionZstd, 1)?.encode(chunk, &mut vec![]).is_ok();
    let chosen = choose_selector(chunk).is_ok();
    Ok(good + usize::from(encoded) + usize::from(chosen))
}

#[test]
fn an_undamaged_chunk_is_fine_in_every_way() -> zion::Result<()> {
    assert_eq!(read(&chunk())?, 14);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damage_is_no_panic(damage in vec((0usize..1200, any::<u8>()), 1..6)) {
        let mut chunk = chunk();
        for (place, byte) in damage {
            chunk[place] = byte;
        }
        let outcome = read(&chunk);
        prop_assert!(outcome.is_ok(), "{:?}", outcome);
    }
}
