#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zion_fuzz::iguana::check(data).unwrap());
