//! Uses the halves of a split connection in any order of operations.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::split(input));
