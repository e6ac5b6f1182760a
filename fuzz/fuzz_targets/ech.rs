//! Gives a client arbitrary ECH data from a server or the DNS.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::ech(input));
