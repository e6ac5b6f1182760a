//! Reads arbitrary bytes as a certificate, plain or compressed. The code is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::certificates(input));
