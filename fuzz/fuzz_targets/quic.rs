//! A client and a server of QUIC, and anything between them. What it does is
//! in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::quic(input));
