//! Capacity: the load that a core, a machine and a fleet can carry.
//!
//! Figures are those of `BENCHMARKS.md`, which names the machine, with aws-lc-rs, ECDSA P-256
//! certificates and X25519. Run `cargo run --release -p bench -- all` on the machine that you plan
//! for, and replace the figures. The arithmetic stays the same.
//!
//! # A core
//!
//! | work of a server | rate of a core | cost of one | measured by |
//! |---|---|---|---|
//! | a full TLS 1.3 handshake | <!--=full-rate-->24000<!--/--> a second | <!--=full-us-->41<!--/--> µs | `handshake` |
//! | a resumed one, with its key exchange | <!--=ticket-rate-->29000<!--/--> a second | <!--=ticket-us-->34<!--/--> µs | `handshake-ticket` |
//! | the same, clients with certificates | <!--=mutual-rate-->27000<!--/--> a second | <!--=mutual-us-->37<!--/--> µs | `certificates` |
//! | encrypting, in cache | <!--=send-gb-->19<!--/--> GB a second | <!--=send-s-->0.051<!--/--> s a GB | `bulk` |
//! | decrypting, and a copy | <!--=receive-gb-->16<!--/--> GB a second | <!--=receive-s-->0.063<!--/--> s a GB | `bulk` |
//! | encrypting, not in cache | <!--=send-memory-gb-->9.3<!--/--> GB a second | <!--=send-memory-s-->0.11<!--/--> s a GB | `… --working-set 64MiB` |
//! | a GB over loopback TCP, writes of 16 KiB | | <!--=tcp-16k-s-->0.66<!--/--> s | `tcp` |
//! | the same, writes of 1 KiB | | <!--=tcp-1k-s-->9.28<!--/--> s | `tcp` |
//!
//! The last column is the argument of `cargo run --release -p bench --`. The TCP rows include both
//! ends and the kernel.
//!
//! - **Client certificates** are verified once. A resumption that verifies them again, as it does a
//!   day after the last verification, costs <!--=mutual-each-us-->140<!--/--> µs.
//! - **RSA**: a signature with RSA-2048 costs a server <!--=rsa-sign-us-->200<!--/--> µs, where ECDSA takes
//!   <!--=p256-sign-us-->11<!--/-->. A verification costs a client <!--=rsa-verify-us-->14<!--/--> µs instead of
//!   <!--=p256-verify-us-->34<!--/--> (`primitives`). Prefer ECDSA where servers are the bottleneck.
//! - **Post-quantum**: the key exchange of X25519MLKEM768, the default on aws-lc-rs, costs a server
//!   <!--=mlkem-server-us-->34<!--/--> µs and a client <!--=mlkem-client-us-->48<!--/-->, where X25519 takes
//!   <!--=x25519-us-->21<!--/--> (`primitives`).
//! - **The kernel**: only the last two rows include its work, which dominates them.
//!
//! For a server with `h` full and `r` resumed handshakes a second that sends `g` GB a second in
//! writes of 16 KiB:
//!
//! > cores for TLS = h · <!--=full-us-->41<!--/--> µs + r · <!--=ticket-us-->34<!--/--> µs + g · <!--=send-s-->0.051<!--/--> s
//!
//! Plan for twice that, because load is uneven. The kernel and the application need more time than
//! that in addition. For example, 2 000 full handshakes, 8 000 resumed ones and 10 Gbit/s need less
//! than a core for TLS.
//!
//! # A process
//!
//! A process pays these once, whatever it serves:
//!
//! | | cost | avoid it with |
//! |---|---|---|
//! | entropy that aws-lc collects on first use | 20 to 31 ms of CPU | the provider on ring |
//! | 140 roots and a connection | <!--=roots-ms-->0.44<!--/--> ms, or <!--=roots-cached-ms-->0.063<!--/--> if cached | `rustls_trust::RootCache` |
//! | indexing a list of 100 000 revocations | <!--=list-ms-->32<!--/--> ms per unshared list | [`RevocationList`] |
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
//! | idle, on Rust's heap, a client | <!--=idle-client-->1072<!--/--> | `bench -- memory` |
//! | the same, a server | <!--=idle-server-->1013<!--/--> | `bench -- memory` |
//! | resident, with aws-lc-rs's memory | <!--=many-resident-->2688<!--/--> | `bench -- load connections` |
//! | a partial record received | up to 16 KiB | – |
//! | output that the socket does not accept | up to 72 KiB | limit: `set_buffer_limit` |
//! | record buffers of a thread, for all its connections | up to 128 KiB | `bench -- memory` |
//! | a stored session, client certificates shared | <!--=session-->360<!--/--> | `bench -- certificates` |
//! | a stored session with three client certificates | <!--=session-of-each-->1714<!--/--> | `bench -- certificates` |
//!
//! A million idle connections need <!--=million-gb-->2.7<!--/--> GB for TLS. The kernel's sockets and the application's own
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
//! - **Savings**: a TLS 1.3 resumption includes a key exchange. It saves a server the
//!   signature: <!--=ticket-us-->34<!--/--> instead of <!--=full-us-->41<!--/--> µs. It saves the client the
//!   signature's verification, <!--=ticket-client-us-->34<!--/--> instead of <!--=full-client-us-->68<!--/--> µs, or
//!   <!--=full-client-each-us-->100<!--/--> if the chain is new to it; and 1 to 4 kB of certificates on the
//!   wire. A TLS 1.2 resumption has no key exchange and costs <!--=ticket-tls12-us-->6.4<!--/--> µs.
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
//! A client can make a server spend <!--=full-us-->41<!--/--> µs with 300 bytes of its own. That is a
//! property of the protocol. <!--=full-rate-->24000<!--/--> ClientHellos a second occupy a core. Limit
//! new connections per address before TLS, and close those whose handshake takes long.
