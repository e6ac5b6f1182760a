//! Connections whose operations take time, in any order of bytes, polls and answers.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::operations(input));
