//! Early data that our client sends.

mod clients;
mod corruption;
mod limits;
mod openssl;
mod outcomes;
mod scripted;
