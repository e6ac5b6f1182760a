//! Sends the same bytes to this crate and to upstream.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::differential(input));
