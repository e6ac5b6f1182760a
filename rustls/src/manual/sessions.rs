//! Sessions and tickets: resumption on one machine and on many.
//!
//! A client that reconnects can resume its session. A resumed handshake needs no certificate and no
//! signature. It takes a client <!--=ticket-client-us-->34<!--/--> µs instead of
//! <!--=full-client-us-->68<!--/-->, or of <!--=full-client-each-us-->100<!--/--> if the server is new to it, and
//! a server <!--=ticket-us-->34<!--/--> µs instead of <!--=full-us-->41<!--/-->. [`capacity`](super::capacity)
//! has more figures.
//!
//! # On one machine
//!
//! Nothing has to be configured. A server keeps 256 sessions in memory. A client keeps up to 8
//! tickets for each of 32 servers, as long as connections share one configuration. These settings
//! change it:
//!
//! | setting | default | effect |
//! |---|---|---|
//! | [`session_storage`] of a server | 256 in memory | stores sessions; needs memory per client |
//! | [`ticketer`] of a server | none | puts the session into the ticket; needs no memory |
//! | [`send_tls13_tickets`] of a server | 2 | tickets per handshake; a client uses each once |
//! | [`resumption`] of a client | in memory | the client's store, or none |
//!
//! [`session_storage`]: crate::ServerConfig::session_storage
//! [`ticketer`]: crate::ServerConfig::ticketer
//! [`send_tls13_tickets`]: crate::ServerConfig::send_tls13_tickets
//! [`resumption`]: crate::ClientConfig::resumption
//!
//! A [`Ticketer`](crate::crypto::aws_lc_rs::Ticketer) suits most servers: it scales without memory.
//! A storage is needed for [early data](super::early_data).
//!
//! # On many machines
//!
//! A client that reconnects to a service may reach another machine. That machine can resume the
//! session in one of two ways. Configure all machines alike.
//!
//! - **One secret**: [`Ticketer::for_fleet`](crate::crypto::aws_lc_rs::Ticketer::for_fleet). Each
//!   machine derives the ticket keys from the secret and the time of day, without any exchange
//!   between machines. A client can use a ticket for one epoch less five minutes, which allow for
//!   clock differences. Anyone with the secret can read the tickets of all epochs, so replace it
//!   now and then.
//! - **One storage**: your implementation of
//!   [`StoresServerSessions`](crate::server::StoresServerSessions). The example `redis_sessions`
//!   uses Redis, and serves other connections while one waits. If Redis is slow or down, it falls
//!   back to full handshakes, and none waits long. Early data needs a storage. A TLS 1.2 connection
//!   that fails removes its session by a call that [must not
//!   block](super::operations#sessions-of-tls-12-connections-that-fail).
//!
//! ```
//! use std::error::Error;
//!
//! use rustls::ServerConfig;
//! use rustls::crypto::aws_lc_rs::Ticketer;
//!
//! /// `secret` is the same on all machines: 32 random bytes or more.
//! fn share_sessions(config: &mut ServerConfig, secret: &[u8]) -> Result<(), Box<dyn Error>> {
//!     config.ticketer = Ticketer::for_fleet(secret, 6 * 60 * 60)?;
//!     Ok(())
//! }
//! # harness::manual::shares_sessions(share_sessions);
//! ```
//!
//! # Limits
//!
//! - A session lives at most a week over a chain of resumptions. Each ticket carries the time left.
//! - A server resumes a session only with the certificate that it began with, or with one for the
//!   name that the client requests, and only under the same policy for client certificates. It
//!   verifies the client's certificates again if its rules have changed, or a date on them has
//!   passed ([`certificates`](super::certificates#verified-once)).
//! - A client resumes a session only until a certificate of the server expires, or a revocation
//!   list if the verifier enforces that.
//! - A session belongs to the verifier and the resolver of the configuration. If you replace the
//!   verifier, clients make full handshakes.
//!
//! # If clients do not resume
//!
//! [`handshake_kind`](crate::CommonState::handshake_kind) reports whether a handshake was resumed.
//! If it never is, check these in order:
//!
//! 1. Do the connections share one `Arc<ClientConfig>`? Each new configuration has an empty store.
//! 2. Does the client read after the handshake? TLS 1.3 tickets arrive with the first data.
//! 3. Does the server send tickets (`send_tls13_tickets`), and does the storage hold enough
//!    sessions?
//! 4. Do all machines have the same secret or storage, and clocks that agree within five minutes?
//! 5. Does the log contain "the client's certificate is no longer accepted"?
