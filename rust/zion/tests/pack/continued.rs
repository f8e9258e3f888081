//! Blocks that are continued.

use proptest::prelude::*;
use zion::Error;
use zion::codec::Algorithm;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, Options, Packer, Stop};
use zion::verify::{Checks, verify_block};

use crate::packing::{ALIGN, Packed, document, logs, options, pack, pack_with, rows, rows_of, values};

/// Packs `more` behind the last block of `packed`.
pub fn extend(packed: &Packed, more: &str, options: Options) -> Result<Packed, Stop> {
    let (algorithm, align) = (options.algorithm, options.align);
    let mut packer = Packer::new(options, Constants::default())?;
    let Some(last) = packed.runs.last() else { return Err(Error::argument("nothing was packed").into()) };
    let start = last.offset as usize;
    let resumed = packer.resume(&packed.data[start..], last.chunks, true, true)?;
    let kept = start + resumed.bytes;
    let added = pack_with(packer, more.as_bytes(), usize::MAX, Compression::None)?;
    let mut runs = packed.runs.clone();
    runs.pop();
    for (number, mut run) in added.runs.into_iter().enumerate() {
        run.offset += kept as u64;
        if number == 0 {
            run.offset = last.offset;
            run.chunks += resumed.chunks;
            run.rows += last.rows - resumed.rows;
        }
        runs.push(run);
    }
    let data = [&packed.data[..kept], &added.data].concat();
    let whole = Packed { data, runs, rejected: added.rejected };
    // Every block can be read alone, the one that was continued too.
    rows_of(&whole, algorithm, align)?;
    Ok(whole)
}

/// Fails unless every block passes the validator, and holds what its run says.
fn verified(packed: &Packed, algorithm: Algorithm, align: usize) -> Result<(), TestCaseError> {
    let checks = Checks { paths: vec![], constants: vec![], max_findings: 10 };
    let ends = packed.runs.iter().skip(1).map(|run| run.offset).chain([packed.data.len() as u64]);
    for (run, end) in packed.runs.iter().zip(ends) {
        let block = &packed.data[run.offset as usize..end as usize];
        let report = verify_block(block, algorithm, align, &checks)?;
        prop_assert!(report.findings.is_empty(), "{:?}", report.findings);
        prop_assert_eq!((report.rows, report.chunks as u64), (run.rows, run.chunks));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_was_packed_can_be_continued(
        (first, text) in document(),
        more in prop::collection::vec(document(), 1..5),
        part_bytes in 1usize..9000,
        threads in 1usize..5,
        name in prop::sample::select(vec!["zstd", "zion+zstd", "zion+iguana_v0"]),
    ) {
        prop_assume!(!first.is_empty());
        let failed = |stop: Stop| TestCaseError::fail(format!("{stop:?}"));
        let algorithm = Algorithm::from_name(name)?;
        let one = options(algorithm, 1, part_bytes);
        let mut packed =
            pack(text.as_bytes(), one.clone(), usize::MAX, Compression::None).map_err(failed)?;
        let mut all = first;
        for (records, text) in more.into_iter().filter(|(records, _)| !records.is_empty()) {
            let other = extend(&packed, &text, options(algorithm, threads, part_bytes)).map_err(failed)?;
            packed = extend(&packed, &text, one.clone()).map_err(failed)?;
            prop_assert_eq!(&packed.data, &other.data);
            all.extend(records);
        }
        prop_assert_eq!(rows(&packed, algorithm)?, all);
        verified(&packed, algorithm, ALIGN)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_has_symbols_can_be_continued(
        records in logs(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        align in prop::sample::select(vec![ALIGN, 1 << 14]), part_bytes in (1usize << 12)..(1 << 17),
    ) {
        let failed = |stop: Stop| TestCaseError::fail(format!("{stop:?}"));
        let options = Options { align, max_row: align, ..options(Algorithm::ZionZstd, 2, part_bytes) };
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| 1 + cut.index(records.len() - 1)).collect();
        cuts.push(records.len());
        cuts.sort_unstable();
        cuts.dedup();
        let first = records[..cuts[0]].join("\n");
        let mut packed = pack(first.as_bytes(), options.clone(), usize::MAX, Compression::None).map_err(failed)?;
        for pair in cuts.windows(2) {
            packed = extend(&packed, &records[pair[0]..pair[1]].join("\n"), options.clone()).map_err(failed)?;
        }
        let found = rows_of(&packed, Algorithm::ZionZstd, align)?;
        prop_assert_eq!(values(&found)?, values(&records)?);
        verified(&packed, Algorithm::ZionZstd, align)?;
    }
}

#[test]
fn a_block_that_is_not_what_the_trailer_says_is_not_continued() -> Result<(), Box<dyn std::error::Error>> {
    let text = "{\"a\": \"some text that takes room\", \"b\": [1, 2, 3]}\n".repeat(1000);
    let options = options(Algorithm::ZionZstd, 1, 1 << 20);
    let packed = pack(text.as_bytes(), options.clone(), usize::MAX, Compression::None)
        .map_err(|stop| format!("{stop:?}"))?;
    assert!(packed.runs[0].chunks > 2);
    let block = &packed.data[..packed.runs.get(1).map_or(packed.data.len(), |run| run.offset as usize)];
    for chunks in [0, 1, packed.runs[0].chunks - 1, packed.runs[0].chunks + 1, u64::MAX] {
        let mut packer = Packer::new(options.clone(), Constants::default())?;
        assert!(matches!(packer.resume(block, chunks, true, true), Err(Error::Corrupt { .. })), "{chunks}");
    }
    let mut packer = Packer::new(options, Constants::default())?;
    assert!(packer.resume(&block[..block.len() - 1], packed.runs[0].chunks, true, true).is_err());
    packer.begin("input", Format::Json(None), Compression::None)?;
    assert!(matches!(packer.resume(block, packed.runs[0].chunks, true, true), Err(Error::Argument { .. })));
    Ok(())
}
