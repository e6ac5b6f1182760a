//! Tests of Encrypted Client Hello (RFC 9849) in the clients of this crate and of upstream. Their
//! peer is a strict scripted server, which makes mistakes only where a test specifies them.

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
