//! Any bytes as a certificate, plain or compressed. What it does is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::certificates(input));
