//! Sending in all ways there are, into buffers of any length. What it does is in harness/src/fuzzed.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::fuzzed::run("sending", input));
