//! Sends the same bytes to this crate and to upstream. The code is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::differential(input));
