//! Certificate chains of peers, shared by connections and sessions.

mod isolation;
mod kit;
mod sharing;
mod storage;
