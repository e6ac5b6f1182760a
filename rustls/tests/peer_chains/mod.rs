//! Tests of certificate chains of peers, which connections and sessions share, and which are
//! verified once.

mod isolation;
mod kit;
mod sharing;
mod storage;
mod verified_once;
