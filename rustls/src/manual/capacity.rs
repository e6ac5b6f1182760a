//! Capacity: the load that a core, a machine and a fleet can carry.
//!
//! All figures come from one virtual machine with two cores of an AMD EPYC (VAES, AVX-512), with
//! aws-lc-rs, ECDSA P-256 certificates and X25519. Run `cargo run --release -p bench -- all` on the
//! machine that you plan for, and replace the figures. The arithmetic stays the same.
//!
//! # A core
//!
//! | work of a server | rate of a core | cost of one | measured by |
//! |---|---|---|---|
//! | a full TLS 1.3 handshake | 18 700 a second | 53 µs | `handshake` |
//! | a resumed one, with its key exchange | 23 700 a second | 42 µs | `handshake-ticket` |
//! | the same when clients have certificates | 5 000 a second | 200 µs | `certificates` |
//! | encrypting, in cache | 9.1 GB a second | 0.11 s a GB | `bulk` |
//! | decrypting, including the copy to the application | 7.5 GB a second | 0.13 s a GB | `bulk` |
//! | encrypting, not in cache | 4–7 GB a second | 0.14–0.25 s a GB | `bulk --working-set 64MiB` |
//! | a GB over loopback TCP, writes of 16 KiB | | 0.74 s | `tcp` |
//! | the same, writes of 1 KiB | | 5.4 s | `tcp` |
//!
//! The last column is the argument of `cargo run --release -p bench --`. The TCP rows include both
//! ends and the kernel.
//!
//! - **RSA**: with an RSA-2048 certificate, a full handshake costs a server 300 µs, mostly for one
//!   signature (`bench -- handshake --key-type rsa-2048`). It costs a client only 80 µs instead of
//! 144. Prefer ECDSA where servers are the bottleneck.
//! - **Post-quantum**: with X25519MLKEM768, the default on aws-lc-rs, a handshake costs 68 µs
//!   instead of 53 (`--group x25519mlkem768`).
//! - **The kernel**: only the last two rows include its work, which dominates them.
//!
//! For a server with `h` full and `r` resumed handshakes a second that sends `g` GB a second in
//! writes of 16 KiB:
//!
//! ```text
//! cores for TLS = h · 53 µs + r · 42 µs + g · 0.11 s
//! ```
//!
//! 2 000 full handshakes, 8 000 resumed ones and 10 Gbit/s (1.25 GB/s) need 0.11 + 0.34 + 0.14 =
//! 0.6 of a core. Plan for twice that, because load is uneven. The kernel and the application need
//! more time than that in addition.
//!
//! # A process
//!
//! A process pays these once, whatever it serves:
//!
//! | | cost | avoid it with |
//! |---|---|---|
//! | entropy that aws-lc collects on first use | 20 to 31 ms of CPU | the provider on ring |
//! | reading 140 root certificates | 0.5 ms per unshared store | `rustls_trust::RootCache` |
//! | indexing a revocation list of 100 000 entries | 35 ms per unshared list | [`RevocationList`] |
//! | record buffers of each thread | up to 128 KiB | fewer threads |
//!
//! [`RevocationList`]: crate::certificates::RevocationList
//!
//! The first row matters for command-line tools, serverless functions and servers that start a
//! process per connection. It does not matter for long-running servers.
//!
//! # A connection
//!
//! | | bytes | measured by |
//! |---|---|---|
//! | idle, on Rust's heap | 1 000 | `bench -- memory` |
//! | memory of aws-lc-rs from C's allocator | 1 300 | resident set of 10 000 pairs |
//! | a partial record received | up to 16 KiB | – |
//! | output that the socket does not accept | up to 72 KiB | limit: `set_buffer_limit` |
//! | record buffers of a thread, for all its connections | up to 128 KiB | `bench -- memory` |
//! | a session in a server's storage, one ticket each | 325 | `bench -- certificates` |
//! | the same for a client with certificates | 2 100 | `bench -- certificates` |
//!
//! A million idle connections need 2.3 GB for TLS. The kernel's sockets and the application's own
//! state need more in addition. [`idle_connections`](super::idle_connections) has the details. A
//! thousand slow readers need 75 MB. A thousand threads with one connection each need up to 128 MB
//! of buffers, not counting their stacks.
//!
//! # A fleet
//!
//! - **Resumption across machines** needs one secret for tickets
//!   ([`Ticketer::for_fleet`](crate::crypto::aws_lc_rs::Ticketer::for_fleet)) or one storage
//!   ([`StoresServerSessions`](crate::server::StoresServerSessions)). Without either, a client that
//!   reaches another machine pays for a full handshake. With `n` machines behind a load balancer
//!   that ignores sessions, that is `1 - 1/n` of all handshakes.
//! - **Savings**: a TLS 1.3 resumption includes a key exchange. It saves a server a fifth of its
//!   time, 42 instead of 53 µs. It saves the client the verification, 41 instead of 144 µs, and 1
//!   to 4 kB of certificates on the wire. A TLS 1.2 resumption has no key exchange and costs 7 µs.
//! - **Restarts and failovers** bring all clients at once. With one secret there is no state to
//!   lose: a restarted machine opens all tickets. Plan each machine for its neighbours' clients in
//!   full handshakes all the same, because the secret may have to be replaced.
//! - **Early data** needs a storage that returns a session once among all machines. A round trip to
//!   it costs more than the CPU time of a full handshake. It pays off if the client is farther away
//!   than the storage.
//! - **Certificates** are parsed once per process, and can be replaced without disturbing
//!   connections: [`certificates`](super::certificates).
//!
//! # A handshake flood
//!
//! A client can make a server spend 53 µs with 300 bytes of its own. That is a property of the
//! protocol. 20 000 ClientHellos a second, 5 MB/s of traffic, occupy a core. Limit new connections
//! per address before TLS, and close those whose handshake takes long.
