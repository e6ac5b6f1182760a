//! Encrypted Client Hello (RFC 9849) of the client: this crate's and upstream's, against a scripted
//! server that takes no liberties and, where a test wants it, the wrong ones.

mod accepted;
mod clients;
mod configs;
mod go;
mod grease;
mod hellos;
mod kit;
mod limits;
mod observers;
mod rejected;
mod resumption;
mod steps;
mod tampered;
