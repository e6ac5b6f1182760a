//! Tests of early data sent by our client.

mod clients;
mod limits;
mod openssl;
mod outcomes;
mod scripted;
