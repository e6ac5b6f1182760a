//! Calls the unbuffered API in any order. The code is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::unbuffered(input));
