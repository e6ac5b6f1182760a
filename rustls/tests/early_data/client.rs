//! Tests of early data sent by our client.

mod clients;
mod corruption;
mod limits;
mod openssl;
mod outcomes;
mod scripted;
