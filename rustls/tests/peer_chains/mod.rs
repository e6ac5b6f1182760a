//! Certificate chains of peers, shared by connections and sessions, and verified once.

mod isolation;
mod kit;
mod sharing;
mod storage;
mod verified_once;
