//! The packer: the same bytes whatever the threads, and the rows of the input.

mod continued;
mod packing;
mod shared;

use std::fmt::Write;

use proptest::prelude::*;
use zion::codec::Algorithm;
use zion::pack::inflate::Compression;
use zion::pack::{Constants, Format, InputError, OnError, Options, Packer, Stop};
use zion::verify::{Checks, verify_block};

use self::packing::{ALIGN, document, logs, options, pack, pack_stored, rows, rows_of, values};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_come_back_and_threads_change_nothing(
        (records, text) in document(), part_bytes in 1usize..3000, pieces in 1usize..5000, threads in 1usize..5,
    ) {
        let algorithm = Algorithm::ZionZstd;
        let one = pack(text.as_bytes(), options(algorithm, 1, part_bytes), usize::MAX, Compression::None)
            .map_err(|stop| TestCaseError::fail(format!("{stop:?}")))?;
        let many = pack(text.as_bytes(), options(algorithm, threads, part_bytes), pieces, Compression::None)
            .map_err(|stop| TestCaseError::fail(format!("{stop:?}")))?;
        prop_assert_eq!(&one.data, &many.data);
        prop_assert_eq!(&one.runs, &many.runs);
        prop_assert_eq!(rows(&one, algorithm)?, records);
    }

    #[test]
    fn a_broken_text_never_packs_in_part(
        (_, text) in document(), cut in any::<prop::sample::Index>(), part_bytes in 1usize..3000,
    ) {
        let mut bad = text.clone().into_bytes();
        bad.insert(cut.index(bad.len() + 1), b'\x01');
        let here = pack(&bad, options(Algorithm::ZionZstd, 3, part_bytes), 700, Compression::None);
        let whole = pack(&bad, options(Algorithm::ZionZstd, 1, 1 << 20), usize::MAX, Compression::None);
        // A control character is fine inside a string; where it is not, the place is found in any case.
        prop_assert_eq!(here.is_err(), whole.is_err());
        if let (Err(Stop::Failed(here)), Err(Stop::Failed(whole))) = (here, whole) {
            prop_assert_eq!(here.error, whole.error);
        }
    }
}

/// Records and what looks like their ends, in all the ways that make it hard to tell where a part ends.
fn tricky() -> impl Strategy<Value = String> {
    let line = "{\"i\": 1, \"s\": \"some text\", \"n\": {\"l\": [true]}}\n";
    let piece = prop_oneof![
        8 => Just(line.repeat(5)),
        8 => (0usize..90).prop_map(|count| format!("{{\"s\": \"{}\"}}\n", "x".repeat(count))),
        2 => Just("{\"s\": \"x}\n{\\\"y\\\": 1}\"}\n".to_owned()),
        1 => Just("{\"s\": \"}\n{\"}\n".to_owned()),
        1 => Just("{\"a\": [{\"b\": 1}\n,\n{\"b\": 2}]}\r\n".to_owned()),
        1 => Just("[{\"a\": 1},\n{\"a\": 2}]\n".to_owned()),
        1 => Just("{\n\"a\": {\n\"b\": {}\n}\n}\n".to_owned()),
        1 => Just("{} {} {\"a\": 1}{}".to_owned()),
        1 => (0usize..200).prop_map(|count| "\n".repeat(count)),
        1 => Just(format!("{{\"long\": \"{}\"}}\n", "y".repeat(900))),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_file_packs_like_a_pipe(
        text in tricky(), steps in 1usize..60, threads in 1usize..4, read_bytes in 1usize..1000,
        broken in prop::option::of((any::<prop::sample::Index>(), prop::sample::select(b"\x01{}\"\n,".to_vec()))),
    ) {
        let mut text = text.into_bytes();
        if let Some((at, byte)) = broken {
            text.insert(at.index(text.len() + 1), byte);
        }
        let options = Options { align: 1024, max_row: 1024, read_bytes, ..options(Algorithm::ZionZstd, threads, 128 * steps) };
        let fed = pack(&text, options.clone(), usize::MAX, Compression::None);
        match (fed, pack_stored(&text, options)) {
            (Ok(fed), Ok((stored, _))) => {
                prop_assert_eq!(fed.data, stored.data);
                prop_assert_eq!(fed.runs, stored.runs);
            }
            (Err(fed), Err(stored)) => prop_assert_eq!(fed, stored),
            (fed, stored) => prop_assert!(false, "fed {:?}, stored {:?}", fed.err(), stored.err()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn strings_that_became_symbols_come_back(
        records in logs(), align in prop::sample::select(vec![ALIGN, 1 << 16, 1 << 20]), threads in 1usize..4,
        part_bytes in (1usize << 16)..(1 << 19), block_chunks in 1usize..9,
    ) {
        let text = records.join("\n") + "\n";
        let options = options(Algorithm::ZionZstd, threads, part_bytes);
        let options = Options { align, max_row: align, block_bytes: block_chunks * align, read_bytes: 1 << 14, ..options };
        let unwrapped = |stop: Stop| TestCaseError::fail(format!("{stop:?}"));
        let fed = pack(text.as_bytes(), options.clone(), usize::MAX, Compression::None).map_err(unwrapped)?;
        let rows = rows_of(&fed, Algorithm::ZionZstd, align).map_err(|error| unwrapped(error.into()))?;
        // Fields come in the order of their symbols, which texts may have got before names.
        prop_assert_eq!(values(&rows)?, values(&records)?);
        let (stored, _) = pack_stored(text.as_bytes(), Options { threads: 1, ..options }).map_err(unwrapped)?;
        prop_assert_eq!(fed.data, stored.data);
        prop_assert_eq!(fed.runs, stored.runs);
    }
}

#[test]
fn symbols_of_others_leave_room_for_a_large_row() -> Result<(), Box<dyn std::error::Error>> {
    let align = 1 << 16;
    let frequent: Vec<_> = (0..60).map(|i| format!(r#""{i:050}""#)).collect();
    for count in 15..40 {
        let mut records = vec![format!(r#"{{"a": [{}]}}"#, frequent.join(", ")); count];
        records.push(format!(r#"{{"b": "{}"}}"#, "x".repeat(align - 1000)));
        let options = Options {
            align,
            max_row: align,
            block_bytes: 1 << 20,
            ..options(Algorithm::ZionZstd, 1, 1 << 20)
        };
        let packed = pack(records.join("\n").as_bytes(), options, usize::MAX, Compression::None);
        let packed = packed.map_err(|stop| format!("{count}: {stop:?}"))?;
        assert_eq!(rows_of(&packed, Algorithm::ZionZstd, align)?, records);
    }
    Ok(())
}

#[test]
fn threads_read_lines_by_themselves() -> Result<(), Box<dyn std::error::Error>> {
    let text = "{\"a\": \"some text that takes room\", \"b\": [1, 2, 3]}\n".repeat(3000);
    for (part_bytes, read_bytes) in [(1 << 14, 1 << 10), (1 << 16, 1 << 20), (1 << 20, 99)] {
        let options = Options { read_bytes, ..options(Algorithm::ZionZstd, 2, part_bytes) };
        let (packed, all) = pack_stored(text.as_bytes(), options).map_err(|stop| format!("{stop:?}"))?;
        assert!(all);
        assert_eq!(rows(&packed, Algorithm::ZionZstd)?.len(), 3000);
    }
    Ok(())
}

#[test]
fn every_algorithm_gives_the_rows_back() -> Result<(), Box<dyn std::error::Error>> {
    let records: Vec<String> = (0..2000)
        .map(|i| format!(r#"{{"i": {i}, "v": [{}, -3, 70000], "s": "row {i}"}}"#, i % 100))
        .collect();
    for name in ["zstd", "zion+zstd", "zion+iguana_v0", "zion+iguana_v0/specialized"] {
        let algorithm = Algorithm::from_name(name)?;
        let packed =
            pack(records.join("\n").as_bytes(), options(algorithm, 2, 10_000), 1000, Compression::None)
                .map_err(|stop| format!("{name}: {stop:?}"))?;
        assert!(packed.runs.len() > 3);
        assert_eq!(rows(&packed, algorithm)?, records, "{name}");
    }
    Ok(())
}

#[test]
fn errors_tell_input_line_and_offset() {
    let good = "{\"a\": [1, 2]}\n".repeat(1000);
    let bad = format!("{good}{{\"a\": [1 2]}}\n{good}");
    for part_bytes in [100, 5000, 1 << 20] {
        let packed =
            pack(bad.as_bytes(), options(Algorithm::ZionZstd, 2, part_bytes), 999, Compression::None);
        assert!(matches!(packed, Err(Stop::Failed(_))));
        if let Err(Stop::Failed(failure)) = packed {
            assert_eq!(failure.input, "input");
            assert_eq!(failure.error.line(), Some(1001));
            assert_eq!(
                failure.error.to_string(),
                "line 1001: '2' where a comma, a colon or a closing bracket was expected (at byte 14009)"
            );
        }
    }
}

#[test]
fn a_record_without_an_end_does_not_fill_the_memory() {
    let text = format!("{{\"a\": 1}}\n[{{\"b\": \"{}", "x".repeat(70 << 20));
    let packed = pack(text.as_bytes(), options(Algorithm::ZionZstd, 2, 1 << 20), 1 << 20, Compression::None);
    assert!(
        matches!(packed, Err(Stop::Failed(InputError { error: zion::Error::TooLarge { line: 1, .. }, .. }))),
        "accepted, or another error"
    );
}

#[test]
fn bad_lines_are_passed_over() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    for i in 0..500 {
        writeln!(text, "{{\"i\": {i}}}")?;
        if i % 100 == 0 {
            text.push_str("{\"open\": \"string\n");
            text.push_str("{\"x\": }\n");
        }
    }
    for part_bytes in [64, 1 << 20] {
        let options = Options { on_error: OnError::Skip, ..options(Algorithm::ZionZstd, 2, part_bytes) };
        let packed =
            pack(text.as_bytes(), options, 100, Compression::None).map_err(|stop| format!("{stop:?}"))?;
        assert_eq!(rows(&packed, Algorithm::ZionZstd)?.len(), 500);
        assert_eq!(packed.rejected.len(), 10);
        for (_, offset, bad) in &packed.rejected {
            assert!(text.as_bytes()[*offset as usize..].starts_with(bad));
        }
        assert_eq!(packed.rejected[1].0, 3);
    }
    Ok(())
}

#[test]
fn an_interrupt_ends_the_wait() -> Result<(), Stop> {
    let text = "{\"a\": 1}\n".repeat(200_000);
    let mut packer = Packer::new(options(Algorithm::ZionZstd, 1, 1000), Constants::default())?;
    packer.begin("input", Format::Json(None), Compression::None)?;
    assert_eq!(packer.feed(text.as_bytes(), &mut || true), Err(Stop::Interrupted));
    Ok(())
}

#[test]
fn the_validator_sees_a_wrong_checksum() -> Result<(), Box<dyn std::error::Error>> {
    let text = "{\"a\": \"some text that takes room\", \"b\": [1, 2, 3]}\n".repeat(20);
    let packed = pack(text.as_bytes(), options(Algorithm::ZionZstd, 1, 1 << 20), 100, Compression::None)
        .map_err(|stop| format!("{stop:?}"))?;
    let checks = Checks { paths: vec![], constants: vec![], max_findings: 10 };
    let request = |data: &[u8]| verify_block(data, Algorithm::ZionZstd, ALIGN, &checks);
    assert_eq!(request(&packed.data)?.findings.len(), 0);
    // The shape is the first segment: three bytes of length after the heads of frame and chunk, then a frame
    // that ends with its checksum.
    let length = u32::from_le_bytes([packed.data[13], packed.data[14], packed.data[15], 0]) as usize;
    let mut damaged = packed.data;
    damaged[16 + length - 1] ^= 1;
    assert_eq!(request(&damaged)?.findings.len(), 1);
    Ok(())
}

#[test]
fn parts_have_a_size_that_positions_can_count() {
    for (part_bytes, is_allowed) in [
        (0, false),
        (1, true),
        (1 << 30, true),
        ((1 << 30) + 1, false),
        (u32::MAX as usize, false),
        (usize::MAX, false),
    ] {
        let packer = Packer::new(options(Algorithm::ZionZstd, 1, part_bytes), Constants::default());
        assert_eq!(packer.is_ok(), is_allowed, "{part_bytes}");
        assert!(packer.err().is_none_or(|error| matches!(error, zion::Error::Argument { .. })));
    }
}

/// Rows of fields that depend on each other, or do not: which of them share a bucket is worth finding out.
fn related() -> impl Strategy<Value = Vec<String>> {
    let row = (0u64..40, 0u64..1 << 40, 0u64..5, prop::collection::vec(0u64..9, 0..4), "[a-z]{0,9}");
    prop::collection::vec(row, 300..900).prop_map(|rows| {
        let line = |(number, (user, random, level, list, name)): (usize, (u64, u64, u64, Vec<u64>, String))| {
            format!(
                r#"{{"": {level}, "user": "user-{user:04}", "mail": "user-{user:04}@example.org", "n": {number}, "random": "{random:x}", "again": {{"user": "{random:x}", "name": "{name}", "level": {level}}}, "list": {list:?}, "name": "{name}"}}"#
            )
        };
        rows.into_iter().enumerate().map(line).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fields_that_share_buckets_come_back(
        records in related(), align in prop::sample::select(vec![1 << 14, 1 << 16, 1 << 20]), threads in 2usize..4,
        part_bytes in (1usize << 14)..(1 << 17), block_chunks in 1usize..9, cut in any::<prop::sample::Index>(),
    ) {
        let text = records.join("\n") + "\n";
        let options = options(Algorithm::ZionZstd, 1, part_bytes);
        let options = Options { align, max_row: align, block_bytes: block_chunks * align, read_bytes: 1 << 12, ..options };
        let unwrapped = |stop: Stop| TestCaseError::fail(format!("{stop:?}"));
        let one = pack(text.as_bytes(), options.clone(), usize::MAX, Compression::None).map_err(unwrapped)?;
        let rows = rows_of(&one, Algorithm::ZionZstd, align).map_err(|error| unwrapped(error.into()))?;
        prop_assert_eq!(values(&rows)?, values(&records)?);
        let many = Options { threads, ..options.clone() };
        let fed = pack(text.as_bytes(), many.clone(), 1 + cut.index(9000), Compression::None).map_err(unwrapped)?;
        prop_assert_eq!(&fed.data, &one.data);
        let (stored, _) = pack_stored(text.as_bytes(), many).map_err(unwrapped)?;
        prop_assert_eq!(&stored.data, &one.data);
        prop_assert_eq!(stored.runs, one.runs);
        // A block that was written like this can be continued.
        let (before, after) = records.split_at(1 + cut.index(records.len() - 1));
        let first = pack((before.join("\n") + "\n").as_bytes(), options.clone(), usize::MAX, Compression::None);
        let longer = continued::extend(&first.map_err(unwrapped)?, &after.join("\n"), options).map_err(unwrapped)?;
        let rows = rows_of(&longer, Algorithm::ZionZstd, align).map_err(|error| unwrapped(error.into()))?;
        prop_assert_eq!(values(&rows)?, values(&records)?);
    }
}
