//! Reasons not to use this library.
//!
//! Use rustls 0.23 itself, or another library, in these cases:
//!
//! - **You want the project with the most users and reviewers.** rustls has been audited and runs
//!   on many machines. This library has had no external audit. `SECURITY.md` lists its tests.
//! - **Your program is not limited by TLS.** Most programs spend their time elsewhere. Measure
//!   first: if `perf` shows little in the cipher, in `memcpy` and in the allocator, you gain
//!   little.
//! - **You need Rust older than 1.85.** rustls 0.23 builds with Rust 1.71.
//! - **You use `rustls::internal`**, or a crypto provider for rustls 0.23 that nobody has
//!   [ported](super::writing_a_provider).
//! - **You need the API of rustls 0.24.** This library follows 0.23 (`docs/releases.md`).
//! - **You want dependencies from the registry only.** Cargo takes this crate by `[patch]`, and
//!   ignores patches of dependencies. A library cannot bring it to its users; each program must opt
//!   in.
//! - **You need what it does not have**: DTLS, TLS 1.1 and older, renegotiation, servers that
//!   decrypt ECH, or PSKs that the application supplies.
//! - **Your servers verify many returning clients by certificate with a custom verifier**, and
//!   resumption must stay as cheap as in 0.23. This library verifies those certificates again,
//!   unless the verifier states its
//!   [`rules`](crate::server::danger::ClientCertVerifier::rules).
//! - **A short-lived process must start fast.** aws-lc-rs collects entropy once per process, which
//!   takes 20 to 31 ms of CPU. ring does not. See [`capacity`](super::capacity#a-process).
