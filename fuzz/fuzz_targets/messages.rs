//! Sends arbitrary bytes as the body of any message, at any point of a handshake. The code is in
//! harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::messages(input));
