//! Early data that our client sends.

mod clients;
mod limits;
mod outcomes;
mod scripted;
