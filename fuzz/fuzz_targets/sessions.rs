//! Any bytes as a ticket, as what was sealed in one, or as a stored session. What it does is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::sessions(input));
