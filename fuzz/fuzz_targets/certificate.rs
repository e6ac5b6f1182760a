//! Any bytes as a certificate whose properties are asked for. What it does is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::run("certificate", input));
