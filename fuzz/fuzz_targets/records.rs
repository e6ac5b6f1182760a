//! Sends arbitrary bytes to the receiving half of the record layer. The code is in
//! harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::records(input));
