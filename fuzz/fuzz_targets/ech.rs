//! Gives a client arbitrary ECH data from a server or the DNS. The code is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::ech(input));
