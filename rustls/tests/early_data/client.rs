//! Early data that our client sends.

mod clients;
mod limits;
mod openssl;
mod outcomes;
mod scripted;
