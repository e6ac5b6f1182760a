//! Connects a QUIC client and server, with arbitrary changes in between. The code is in
//! harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::quic(input));
