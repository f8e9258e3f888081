#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zion_fuzz::unfold::check(data).unwrap());
