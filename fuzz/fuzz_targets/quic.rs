//! Connects a QUIC client and server, with arbitrary changes in between.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::quic(input));
