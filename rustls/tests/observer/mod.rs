//! Tests of observers: which events each connection reports, in which order, and what they say.
//!
//! `harness::peers::events` keeps the events, and checks the rules that hold for all connections:
//! one beginning, one end, and between them one success or failure. These tests look at the rest:
//!
//! ```text
//!                                 buffered, opening into,   split      kernel    QUIC      streams
//!                                 unbuffered, in place,
//!                                 accepted
//!   kinds of handshakes           kinds                     kinds      kinds     kinds     yes
//!   wrong bytes and messages      failures (1)              -          -         failures  -
//!   failures after the handshake  failures                  failures   failures  failures  -
//!   dropped between flights       drops                     drops      (2)       drops     yes
//!   dropped in an operation       waits (1)                 -          -         waits     yes
//!   panics of the application     waits (1), drops          -          -         both      -
//!   panics of the observer        drops                     both (3)   attacks   attacks   -
//!   the end of the stream         failures, other_apis      other_apis -         -         yes
//!   records and bytes             traffic                   traffic    kinds     kinds     -
//!   reasons                       reasons (1)               -          -         reasons   -
//! ```
//!
//! Streams are those of `tokio/tests/observer`. All are tested on both sides and in both versions,
//! where these exist. (1) On some APIs. (2) As unbuffered, because the keys are taken after the
//! handshake. (3) `drops` and `attacks`.

mod attacks;
mod drops;
mod durations;
mod ends;
mod failures;
mod kinds;
mod kit;
mod lifecycle;
mod other_apis;
mod pairs;
mod reasons;
mod traffic;
mod waits;
