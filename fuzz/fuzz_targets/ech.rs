//! What a server, or the DNS, says of Encrypted ClientHello, to a client. What it does is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::ech(input));
