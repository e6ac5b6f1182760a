//! Reads arbitrary bytes as a ticket, as the content of a ticket, or as a stored session.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::sessions(input));
