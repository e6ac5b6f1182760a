//! Tests of observers: which events each connection reports, in which order, and what they say.
//!
//! `harness::peers::events` keeps the events, and checks the rules that hold for all connections:
//! one beginning, one end, and between them one success or failure. These tests look at the rest:
//!
//! ```text
//!                                  buffered, opening into,     split  kernel  QUIC   streams
//!                                  unbuffered, in place,                             (tokio/tests/
//!                                  accepted                                           observer)
//!   kinds of handshakes            kinds                       kinds  kinds   kinds  mod
//!   wrong bytes and messages       failures (1)                -      -       failures
//!   failures after the handshake   failures               failures  failures failures
//!   dropped between flights        drops                       drops  (2)     drops  mod
//!   dropped in an operation        waits (1)                   -      -       waits  mod
//!   panics of the application      waits (1), drops            attacks        waits
//!   panics of the observer         drops                       drops, attacks attacks
//!   the end of the stream          failures, other_apis                              mod
//!   records and bytes              traffic                     traffic  (3)   kinds
//!   reasons                        reasons (1)                                reasons
//! ```
//!
//! Each is tested on both sides and in both versions, as far as they exist. (1) Of the APIs over
//! records, the buffered and the unbuffered one, or servers of an `Acceptor`. (2) As unbuffered,
//! because the keys are taken after the handshake. (3) Those of the handshake: others seal the
//! records after it.

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
