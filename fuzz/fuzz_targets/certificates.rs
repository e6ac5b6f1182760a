//! Reads arbitrary bytes as a certificate, plain or compressed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::certificates(input));
