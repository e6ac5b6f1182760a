//! Sends arbitrary bytes, or a genuine flight with changes, to a server at several points of a
//! connection. The code is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::server(input));
