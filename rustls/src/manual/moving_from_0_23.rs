//! Coming from rustls 0.23, and going back.
//!
//! This crate has the name, the version and the public interface of rustls 0.23.46. A program, and everything that it
//! depends on, uses it after one change in the `Cargo.toml` at the root of its workspace:
//!
//! ```toml
//! [patch.crates-io]
//! rustls = { path = "../rustls-inplace/rustls" }    # or git = "…"
//! ```
//!
//! ```sh
//! cargo update -p rustls@VERSION --precise 0.23.46    # VERSION: the 0.23 that Cargo.lock has
//! cargo tree -i rustls@0.23.46                         # names the path of this crate, and all that use it
//! ```
//!
//! Without the update, cargo goes on with the rustls of the lockfile and only warns that the patch was not used.
//!
//! To go back, take the line out. Nothing that is stored has to be converted, but one thing: tickets and stored sessions
//! of the one are unknown to the other, so each client makes one full handshake.
//!
//! # What to check
//!
//! Most programs have nothing to change. These do:
//!
//! - **A crypto provider of one's own** writes records into memory that it is given, instead of returning them:
//!   [`writing_a_provider`](super::writing_a_provider).
//! - **Code over `rustls::internal`**, which 0.23 promises to nobody, has nothing to compile against.
//! - **A server with client certificates** verifies them again when a session is resumed. 0.23 does not, and so takes
//!   certificates that have expired or were revoked since; here a resumption costs such a server what verifying costs.
//! - **A server with a `session_storage` or `ticketer` shared by configurations**: sessions go only where clients are asked
//!   for the same authentication, and to servers that have the same certificate or one for the client's name.
//! - **Code that looks at `peer_certificates` early**: of a resumed connection they are there when the peer has proven
//!   that it has the session, not before.
//! - **Code that goes on after an error**: a connection that has failed gives its error to each further call, writers
//!   included, and its keys are gone.
//! - **Tests that compare error values or alerts of wrong messages**: where RFC 9846 or RFC 5246 names another alert than
//!   0.23 sends, this library sends that one.
//! - **Log filters**: messages of logs have the same levels as in 0.23, but other texts. Values and texts of errors are
//!   the same.
//! - **A toolchain older than Rust 1.85**, which this crate needs. 0.23 builds with Rust 1.71.
//!
//! README has the whole list, with the reason for each ("Where it differs from 0.23"). What is not on it and differs is a
//! defect: please report it.
//!
//! # What to gain, in this order
//!
//! 1. Nothing to do: no allocation for a record, fewer copies, 35 kB less for each idle connection, faster handshakes.
//! 2. One line: [`RootCertStore::cached`](crate::RootCertStore::cached) where configurations are made often;
//!    [`Ticketer::for_fleet`](crate::crypto::aws_lc_rs::Ticketer::for_fleet) where there are several machines.
//! 3. A few lines: [`BufRead`](std::io::BufRead) instead of [`Read`](std::io::Read), `encrypt_in_place` where large
//!    answers are sent ([`in_place`](super::in_place)).
//! 4. Another structure: the unbuffered API, or two halves of a connection on two threads
//!    ([`choosing_an_api`](super::choosing_an_api)).
