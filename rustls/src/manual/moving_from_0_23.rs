//! Moving a program from rustls 0.23 to this crate, and back.
//!
//! This crate has the name, the version and the public API of rustls 0.23.46. One change in the
//! `Cargo.toml` at the root of a workspace makes the program and all of its dependencies use it,
//! tokio-rustls 0.26 among them. Do not call the new `set_async` under tokio-rustls: the handshake
//! would hang ([`operations`](super::operations)).
//!
//! ```toml
//! [patch.crates-io]
//! rustls = { path = "../rustls-inplace/rustls" }    # or git = "URL", tag = "v0.23.46+inplace.N"
//! ```
//!
//! ```sh
//! cargo update -p rustls@VERSION --precise 0.23.46    # VERSION: the 0.23 that Cargo.lock has now
//! cargo tree -i rustls@0.23.46                        # this crate's path or URL, and its users
//! ```
//!
//! Without the update, cargo may keep the rustls of the lockfile. It only warns that the patch was
//! not used. `docs/drop-in.md` in the repository lists the other changes to a lockfile, and the
//! published crates that were run over this one.
//!
//! To go back, remove the patch. Nothing stored has to be converted. Tickets and stored sessions of
//! one library are unknown to the other, so each client makes one full handshake.
//!
//! # What to check
//!
//! Most programs need no change. These do:
//!
//! - **Your own crypto provider** must write records into memory that it is given, and not return
//!   them: [`writing_a_provider`](super::writing_a_provider).
//! - **Code that uses `rustls::internal`** does not build. 0.23 makes no promise about that module.
//! - **Servers with client certificates** check them when a session is resumed. 0.23 does not, and
//!   accepts certificates that have expired or were revoked since. Under a custom verifier without
//!   [`rules`](crate::server::danger::ClientCertVerifier::rules), a resumption costs such a server
//!   a verification.
//! - **Servers whose configurations share a `session_storage` or `ticketer`** resume a session only
//!   under the same client authentication, and with the same certificate or one for the client's
//!   name.
//! - **Code that reads `peer_certificates` early**: for a resumed connection they are available
//!   once the peer has proven that it knows the session's secret.
//! - **Code that continues after an error**: a failed connection returns its error from each later
//!   call, writers included, and has dropped its keys.
//! - **Tests that compare errors or alerts for wrong messages**: if RFC 9846 or RFC 5246 names
//!   another alert than 0.23 sends, this library may send that one.
//! - **Log filters**: messages have the same levels as in 0.23, but other texts. Error values and
//!   texts are the same.
//! - **Toolchains older than Rust 1.85** cannot build this crate. 0.23 builds with Rust 1.71.
//!
//! `docs/differences.md` in the repository has the whole list. Any other difference is a defect;
//! please report it.
//!
//! # What you gain
//!
//! 1. Without any change: no allocation per record, fewer copies, faster handshakes, and
//!    <!--=idle-kb-->1.0<!--/--> kB of heap instead of <!--=old-idle-kb-->35<!--/--> for a connection that is idle
//!    after traffic.
//! 2. With one line: `RootCache` of the package `rustls-trust` if you create many configurations;
//!    [`Ticketer::for_fleet`](crate::crypto::aws_lc_rs::Ticketer::for_fleet) if you run several
//!    machines.
//! 3. With a few lines: [`BufRead`](std::io::BufRead) instead of [`Read`](std::io::Read), and
//!    `encrypt_in_place` for large answers ([`in_place`](super::in_place)).
//! 4. With another structure: the unbuffered API, or two halves of a connection on two threads
//!    ([`choosing_an_api`](super::choosing_an_api)).
