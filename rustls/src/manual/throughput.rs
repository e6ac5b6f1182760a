//! How to move as many bytes as possible with a core.
//!
//! Begin by measuring the program itself: on most systems the kernel's part of sending and receiving is larger than that of
//! TLS. Then, in the order of what it usually gains:
//!
//! 1. **Hand over much at a time.** A record costs about 20 ns beside its bytes (and a system call several hundred).
//!    Writes of 16 KiB and more make full records; `write_tls` hands up to 64 KiB to one call of the socket's `write`.
//!    A writer of small pieces belongs behind a [`BufWriter`](std::io::BufWriter), or uses
//!    [`write_vectored`](std::io::Write::write_vectored), which puts all pieces into common records. Either copies them
//!    once, which is less than what a record of their own would cost each.
//! 2. **Read much at a time.** `read_tls` makes one call of the socket's `read`. A receive buffer grows with what a peer
//!    sends; give `reader().read` a buffer of 16 KiB or more, or use `fill_buf`.
//! 3. **Save the copies**: [`in_place`](super::in_place).
//! 4. **Leave large limits alone.** [`max_fragment_size`](crate::ServerConfig::max_fragment_size) costs throughput, since each
//!    record has a price. It is worth setting for latency: a receiver can use a record's first byte only when its last one
//!    has come. The limit counts plaintext and the header of 5 bytes: for records that fit into one TCP segment, set it to
//!    the segment's length, less 17 for what TLS 1.3 adds behind.
//! 5. **Choose the cipher.** AES-128-GCM is the fastest where the processor has AES instructions, AES-256-GCM about a fifth
//!    slower; ChaCha20-Poly1305 takes seven times as long there and is for processors without them. Both providers prefer
//!    AES-256-GCM by default, as 0.23; to change that, reorder
//!    [`CryptoProvider::cipher_suites`](crate::crypto::CryptoProvider::cipher_suites), and set
//!    [`ignore_client_order`](crate::ServerConfig::ignore_client_order) on a server.
//! 6. **Both directions at once** on two cores need two threads in one connection. A mutex around it makes them take
//!    turns, which is less than one thread does; [`into_split`](crate::ClientConnection::into_split) gives each a half of
//!    its own, and that is 1.8 times as much (`bench -- duplex`).
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::CipherSuite;
//! use rustls::crypto::{CryptoProvider, aws_lc_rs};
//!
//! /// A provider that prefers AES-128-GCM and leaves everything else as it was.
//! fn fast_provider() -> Arc<CryptoProvider> {
//!     let mut provider = aws_lc_rs::default_provider();
//!     provider
//!         .cipher_suites
//!         .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
//!     Arc::new(provider)
//! }
//! # assert_eq!(
//! #     fast_provider().cipher_suites[0].suite(),
//! #     CipherSuite::TLS13_AES_128_GCM_SHA256
//! # );
//! ```
//!
//! # What cannot be tuned, since there is nothing
//!
//! Records are not allocated, queued or gathered; buffers are not zeroed again; a full write makes full records. Sending
//! and receiving allocate nothing once a connection runs, which the tests count; but a `write_vectored` of more than 64
//! pieces, the list of them. The allocator therefore matters little
//! for bulk data, and some for handshakes.
//!
//! # Many connections on many cores
//!
//! A connection belongs to one thread at a time and shares nothing that it writes with others. What is shared is behind
//! the configuration, and touched by handshakes alone: session stores (a lock for each), the ticketer (a lock for as long as it takes to look
//! up a key; none [for a fleet](crate::crypto::aws_lc_rs::Ticketer::for_fleet)), caches of
//! certificates (none held while anything is computed). Record buffers come from a pool of each thread: a thread that
//! serves ten thousand connections works with a handful of buffers, which stay in its cache. Work that moves between
//! threads gives its buffers to the thread that it ends on, so a pool of worker threads is no problem.
//!
//! # Measure
//!
//! ```sh
//! cargo run --release -p bench -- bulk TLS13_AES_128_GCM_SHA256                  # in cache, against the bare AEAD
//! cargo run --release -p bench -- bulk TLS13_AES_128_GCM_SHA256 --plaintext-size 1024
//! cargo run --release -p bench -- bulk TLS13_AES_128_GCM_SHA256 --working-set 64MiB --threads 1..4
//! cargo run --release -p bench -- tcp                                            # with the kernel
//! cargo run --release -p bench -- duplex                                         # both directions at once
//! ```
//!
//! Build with `-C target-cpu=native` or not, as you like: the cipher is chosen when the program runs.
