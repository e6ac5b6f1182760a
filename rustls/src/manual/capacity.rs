//! What a core, a machine and a fleet carry.
//!
//! All figures here are of one virtual machine with two cores of an AMD EPYC (VAES, AVX-512), of aws-lc-rs, of ECDSA P-256
//! certificates and X25519. Run `cargo run --release -p bench -- all` on the machine that is to be planned for, and put its
//! figures in their place; the arithmetic stays the same.
//!
//! # A core
//!
//! | work of a server | a core does | so one costs | measured by |
//! |---|---|---|---|
//! | a full TLS 1.3 handshake | 18 700 a second | 53 µs | `bench -- handshake` |
//! | a resumed one, with its key exchange | 23 700 a second | 42 µs | `bench -- handshake-ticket` |
//! | the same when clients have certificates | 5 000 a second | 200 µs | `bench -- certificates` |
//! | encrypting, in cache | 9.1 GB a second | 0.11 s a GB | `bench -- bulk` |
//! | decrypting, copy to the application included | 7.5 GB a second | 0.13 s a GB | `bench -- bulk` |
//! | encrypting what has to come from memory | 4 to 7 GB a second | 0.14 to 0.25 s a GB | `bench -- bulk --working-set 64MiB` |
//! | a GB over loopback TCP, both ends and the kernel, writes of 16 KiB | | 0.74 s | `bench -- tcp` |
//! | the same, writes of 1 KiB | | 5.4 s | `bench -- tcp` |
//!
//! With an RSA-2048 certificate a full handshake costs a server 300 µs, nearly all of it for one signature
//! (`bench -- handshake --key-type rsa-2048`), and a client only 80 µs instead of 144: prefer ECDSA where servers count. With
//! X25519MLKEM768, which aws-lc-rs prefers by default, it is 68 µs instead of 53 (`--group x25519mlkem768`). The kernel's
//! work is in the last two rows only, and it is most of them.
//!
//! For a server that takes `h` full and `r` resumed handshakes a second and sends `g` GB a second in writes of 16 KiB:
//!
//! ```text
//! cores for TLS = h · 53 µs + r · 42 µs + g · 0.11 s
//! ```
//!
//! 2 000 full handshakes, 8 000 resumed ones and 10 Gbit/s (1.25 GB/s) take 0.11 + 0.34 + 0.14 = 0.6 of a core. Plan for
//! twice that, since nothing arrives evenly, and for the kernel's and the application's own work, which will be more.
//!
//! # A process
//!
//! A process pays these once, whatever it serves:
//!
//! | | cost | avoid it by |
//! |---|---|---|
//! | entropy of aws-lc, collected at its first use | 31 ms of CPU | the provider over ring, which pays none |
//! | reading 140 root certificates | 0.5 ms for each store that is not shared | [`RootCertStore::cached`](crate::RootCertStore::cached) |
//! | indexing a revocation list of 100 000 entries | 35 ms for each list that is not shared | [`CrlCache`](crate::certificates::CrlCache) |
//! | record buffers of each thread | up to 128 KiB | fewer threads |
//!
//! Command-line tools, serverless functions and servers that fork for each connection notice the first row. In
//! a server that keeps running it does not matter.
//!
//! # A connection
//!
//! | | bytes | measured by |
//! |---|---|---|
//! | idle, on Rust's heap | 1 000 | `bench -- memory` |
//! | what aws-lc-rs takes through C's allocator | 1 300 | growth of the resident set, 10 000 pairs of connections |
//! | part of a record received, or output that the socket does not take | up to 16 KiB, up to 72 KiB | limits: `set_buffer_limit` |
//! | record buffers of a thread, whatever it serves | up to 128 KiB | `bench -- memory` |
//! | a session in a server's storage, one ticket each | 325 of a client that comes back, 2 100 of one with certificates | `bench -- certificates` |
//!
//! So a million idle connections are 2.3 GB of TLS; the kernel's sockets come on top, and what the application keeps beside
//! each of them decides.
//! [`idle_connections`](super::idle_connections) says how little that can be. A thousand slow readers are 75 MB.
//! A thousand threads, one for each connection, are up to 128 MB of buffers beside their stacks.
//!
//! # A fleet
//!
//! - **Resumption across machines** needs what all of them have: one secret for tickets
//!   ([`Ticketer::for_fleet`](crate::crypto::aws_lc_rs::Ticketer::for_fleet)), or one storage
//!   ([`StoresServerSessions`](crate::server::StoresServerSessions)). Without either, a client that meets another machine pays
//!   a full handshake: with `n` machines behind a load balancer that does not look, `1 - 1/n` of all of them.
//! - **What it saves**: a TLS 1.3 resumption has a key exchange, so it saves a server a fifth of its time, 53 to 42 µs; and it saves the
//!   client the verification, 144 to 41 µs, and the certificates on the wire, 1 to 4 kB. In TLS 1.2, where there is no key
//!   exchange, a resumption costs 7 µs.
//! - **Restarts and failovers** are when everybody comes at once. With one secret there is no state to lose: a restarted
//!   machine opens all tickets. Plan a machine such that it can take its neighbours' clients in full handshakes all the
//!   same: the secret may have to be replaced.
//! - **Early data** needs a storage that gives a session out once among all machines. A round trip to it costs more than
//!   the processor time of a full handshake; it is worth it when the client is farther away than the storage.
//! - **Certificates** are parsed once for a process: see [`certificates`](crate::certificates). Replacing them does not
//!   disturb connections.
//!
//! # A handshake flood
//!
//! A client can make a server spend 53 µs with 300 bytes of its own. That is the protocol's, not the library's: 20 000
//! ClientHellos a second, 5 MB/s of traffic, fill a core. Limit new connections for each address before TLS, and close those
//! whose handshake takes long.
