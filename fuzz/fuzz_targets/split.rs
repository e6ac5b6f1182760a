//! Uses the halves of a split connection in any order of operations. The code is in
//! harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::split(input));
