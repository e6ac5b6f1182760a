//! Sends arbitrary bytes as the body of any message, at any point of a handshake.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::messages(input));
