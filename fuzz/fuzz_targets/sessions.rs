//! Reads arbitrary bytes as a ticket, as the content of a ticket, or as a stored session. The code
//! is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::sessions(input));
