//! Sends arbitrary bytes, or a genuine flight with changes, to a server at several points of a
//! connection.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::server(input));
