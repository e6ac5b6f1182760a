//! Any bytes to the receiving half of the record layer. What it does is in rustls/tests/fuzzed.

#![no_main]
#![allow(dead_code, reason = "each target uses a part of this")]

#[path = "../../rustls/tests/endpoints/mod.rs"]
mod endpoints;
#[path = "../../rustls/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::run("records", input));
