//! Small inputs share parts: the same bytes whatever the threads and the way in which the texts come, and each
//! input's rows are its own.

use std::sync::Arc;

use proptest::prelude::*;
use zion::codec::Algorithm;
use zion::ingest::xsv::{Kind, Xsv};
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, OnError, Options, Packer, Stop};

use crate::packing::{Packed, document, finished_with, options, rows, rows_of};

const ALGORITHM: Algorithm = Algorithm::ZionZstd;

/// How texts are given to a packer.
#[derive(Clone, Copy)]
enum Way {
    /// In pieces of this size.
    Fed(usize),
    /// As files.
    Stored,
}

/// Packs texts one after the other; tells the rows, bytes and digest of each, too.
#[allow(clippy::type_complexity)]
fn pack_all(
    inputs: &[(Format, &[u8])],
    options: Options,
    way: Way,
) -> Result<(Packed, Vec<(u64, u64, [u8; 16])>), Stop> {
    let on_error = options.on_error;
    let mut packer = Packer::new(options, Constants::default())?;
    let times = Arc::default();
    let (mut data, mut never) = (vec![], || false);
    for (number, (format, text)) in inputs.iter().enumerate() {
        packer.begin_with(
            &number.to_string(),
            format.clone(),
            Compression::None,
            vec![],
            Arc::clone(&times),
            on_error,
        )?;
        let mut rest = 0;
        if matches!(way, Way::Stored) {
            packer.store(Arc::new(text.to_vec()), &mut never)?;
            rest = loop {
                let rest = packer.advance(&mut never)?;
                packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
                if let Some(rest) = rest {
                    break rest as usize;
                }
            };
        }
        let piece = if let Way::Fed(piece) = way { piece } else { usize::MAX };
        for piece in text[rest..].chunks(piece) {
            packer.feed(piece, &mut never)?;
            packer.take()?.iter().for_each(|frame| data.extend_from_slice(frame));
        }
        packer.end(&mut never)?;
    }
    let mut told = vec![];
    let packed = finished_with(packer, data, |packer| {
        told = packer.inputs.iter().map(|input| (input.rows, input.bytes, input.digest.finish())).collect();
    })?;
    Ok((packed, told))
}

fn failed(stop: &Stop) -> TestCaseError {
    TestCaseError::fail(format!("{stop:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn inputs_share_parts_and_keep_their_rows(
        documents in prop::collection::vec(document(), 0..12), part_bytes in 1usize..20_000,
        piece in 1usize..5000, threads in 1usize..5,
    ) {
        let inputs: Vec<_> = documents.iter().map(|(_, text)| (Format::Json(None), text.as_bytes())).collect();
        let (one, told) = pack_all(&inputs, options(ALGORITHM, 1, part_bytes), Way::Fed(usize::MAX)).map_err(|stop| failed(&stop))?;
        for way in [Way::Fed(piece), Way::Stored] {
            let (many, again) = pack_all(&inputs, options(ALGORITHM, threads, part_bytes), way).map_err(|stop| failed(&stop))?;
            prop_assert_eq!(&one.data, &many.data);
            prop_assert_eq!(&one.runs, &many.runs);
            prop_assert_eq!(&told, &again);
        }
        for ((records, text), (rows, bytes, _)) in documents.iter().zip(told) {
            prop_assert_eq!((rows, bytes), (records.len() as u64, text.len() as u64));
        }
        let records: Vec<_> = documents.into_iter().flat_map(|(records, _)| records).collect();
        prop_assert_eq!(rows(&one, ALGORITHM)?, records);
    }
}

/// Options whose parts and chunks have room for many inputs.
fn roomy(on_error: OnError) -> Options {
    Options { align: 1 << 16, max_row: 1 << 16, on_error, ..options(ALGORITHM, 2, 1 << 20) }
}

#[test]
fn many_small_inputs_are_one_run_of_chunks() -> Result<(), Box<dyn std::error::Error>> {
    let text = "{\"a\": \"some text that takes room\", \"b\": [1, 2, 3]}\n".repeat(30);
    let inputs = vec![(Format::Json(None), text.as_bytes()); 100];
    let (packed, told) =
        pack_all(&inputs, roomy(OnError::Fail), Way::Stored).map_err(|stop| format!("{stop:?}"))?;
    let joined = text.repeat(100);
    let one = [(Format::Json(None), joined.as_bytes())];
    let (one, _) = pack_all(&one, roomy(OnError::Fail), Way::Stored).map_err(|stop| format!("{stop:?}"))?;
    assert_eq!(packed.runs, one.runs);
    assert_eq!(packed.data, one.data);
    assert_eq!(told.iter().map(|(rows, ..)| *rows).collect::<Vec<_>>(), [30; 100]);
    Ok(())
}

#[test]
fn inputs_of_other_formats_share_parts() -> Result<(), Box<dyn std::error::Error>> {
    let csv = || Xsv::new(Kind::Csv, None, "").map(Format::Xsv);
    let inputs: [(Format, &[u8]); 4] = [
        (csv()?, b"a,b\n1,x\n2,y\n"),
        (Format::Json(None), b"{\"a\": 3, \"b\": \"z\"}"),
        (csv()?, b"b,a\nw,4\n"),
        (Format::Json(None), b"{\"a\": 5}"),
    ];
    let (packed, told) =
        pack_all(&inputs, roomy(OnError::Fail), Way::Stored).map_err(|stop| format!("{stop:?}"))?;
    assert_eq!(packed.runs.len(), 1);
    assert_eq!(told.iter().map(|(rows, ..)| *rows).collect::<Vec<_>>(), [2, 1, 1, 1]);
    let found = rows_of(&packed, ALGORITHM, 1 << 16)?.join("\n");
    assert_eq!(found.matches("\"a\":").count(), 5, "{found}");
    Ok(())
}

#[test]
fn an_error_names_its_input_and_its_line() -> Result<(), Stop> {
    let good: (Format, &[u8]) = (Format::Json(None), b"{\"a\": 1}\n{\"a\": 2}\n");
    let bad: (Format, &[u8]) = (Format::Json(None), b"{\"a\": 3}\n\n{\"a\": [1 2]}\n");
    let inputs = [good.clone(), bad, good];
    let stop = pack_all(&inputs, roomy(OnError::Fail), Way::Stored).err();
    let found = stop.map(|stop| match stop {
        Stop::Failed(failed) => (failed.input, failed.error.line()),
        Stop::Interrupted => (String::new(), None),
    });
    assert_eq!(found, Some(("1".to_owned(), Some(3))));
    let (packed, told) = pack_all(&inputs, roomy(OnError::Skip), Way::Stored)?;
    assert_eq!(told.iter().map(|(rows, ..)| *rows).collect::<Vec<_>>(), [2, 1, 2]);
    assert_eq!(packed.rejected, [(3, 10, b"{\"a\": [1 2]}\n".to_vec())]);
    let (_, told) = pack_all(&inputs, roomy(OnError::Keep), Way::Stored)?;
    assert_eq!(told.iter().map(|(rows, ..)| *rows).collect::<Vec<_>>(), [2, 2, 2]);
    Ok(())
}
