//! Sends arbitrary bytes to the receiving half of the record layer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::records(input));
