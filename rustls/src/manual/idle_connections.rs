//! How to hold as many connections as possible.
//!
//! An idle connection of this library holds its keys, its state, and no buffer:
//!
//! | heap bytes, the connection type included, aws-lc-rs | this | rustls 0.23.46 |
//! |---|---|---|
//! | buffered client | 1032 | 35518 |
//! | buffered server | 989 | 35102 |
//! | unbuffered client | 1072 | 2670 |
//! | unbuffered server | 1029 | 2254 |
//!
//! ```sh
//! cargo run --release -p bench -- memory
//! ```
//!
//! Receive and send buffers are taken from a pool of the thread with the first byte of a record and given back with the
//! last. So what counts is not how many connections there are, but how many have half a record in their hands. A peer that
//! sends half a record and waits makes its connection hold as much as that record needs, no more than about 16 KiB.
//!
//! # What an application can do
//!
//! - **Do not keep a buffer for each connection either.** A read buffer of 16 KiB beside each connection costs sixteen times
//!   what this library does. Read when the socket is ready, into a buffer of the thread; with io_uring, use provided buffers.
//! - **Take all plaintext when it is there.** What waits to be read waits in a buffer.
//! - **Lower the limit for output** where peers are slow: [`set_buffer_limit`](crate::ConnectionCommon::set_buffer_limit)
//!   bounds what waits for the socket, 64 KiB by default. `write` then takes less, and an event loop waits until it can go on.
//! - **Keep fewer sessions.** A TLS 1.3 client keeps tickets ([`Resumption`](crate::client::Resumption), 256 servers by
//!   default), a server with a storage in memory keeps sessions (256 by default), each about 300 bytes beside the
//!   certificates of the peer, which are [shared](crate::certificates::PeerChains). A server with a
//!   [`Ticketer`](crate::crypto::aws_lc_rs::Ticketer) keeps nothing.
//! - **Send fewer tickets** to clients that will not come back:
//!   [`send_tls13_tickets`](crate::ServerConfig::send_tls13_tickets) is 2, each a few hundred bytes on the wire and some work.
//! - **Share one configuration.** A connection holds an `Arc` of it and nothing of its content.
//! - **Drop what has ended.** Once a connection has failed its keys are gone at once; the connection itself is the
//!   application's to drop.
//!
//! # Handshakes that never end
//!
//! Idle connections that have not finished their handshake are the cheapest attack there is. What one can make this library
//! hold is bounded: handshake messages are limited before memory is taken for them, empty records, warning alerts and
//! KeyUpdates in a row are counted. Time is the application's: close connections whose
//! [`is_handshaking`](crate::CommonState::is_handshaking) stays true for more than a few seconds.
