//! Tests of features of the unbuffered API that rustls 0.23 does not have: leaving a record
//! undecrypted, sending after the peer has closed, and writing to a growing `Vec`. The peer is
//! always upstream's.

mod closed_by_peer;
mod ends;
mod interleaved;
mod refused;
mod to_vec;
