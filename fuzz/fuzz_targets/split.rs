//! The halves of a connection in any order of what can be done with each. What it does is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::split(input));
