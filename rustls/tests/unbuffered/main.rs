//! What the unbuffered API can do beyond that of rustls 0.23: leave a record undecrypted and come
//! back to it, go on sending when the peer has closed, and write to a `Vec` that grows. The peer is
//! always upstream's.

mod closed_by_peer;
mod ends;
mod interleaved;
mod refused;
mod to_vec;
