//! A peer's certificates, which its connections and sessions share.

mod isolation;
mod kit;
mod sharing;
mod storage;
