//! Calls the unbuffered API in any order.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::unbuffered(input));
