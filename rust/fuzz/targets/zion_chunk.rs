#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zion_fuzz::zion_chunk::check(data).unwrap());
