//! Throughput: moving as many bytes as possible with a core.
//!
//! Measure the program first. On most systems the kernel's part of sending and receiving exceeds
//! that of TLS. Then try these, in the order of their usual gain:
//!
//! 1. **Write large pieces.** A record of 64 bytes takes <!--=small-ns-->117<!--/--> ns, and a system call
//!    several hundred. Writes of 16 KiB and more make full records. `write_tls` passes up to 64 KiB
//!    to one call of the socket's `write`. Put a writer of small pieces behind a
//!    [`BufWriter`](std::io::BufWriter), or use [`write_vectored`](std::io::Write::write_vectored),
//!    which puts all pieces into common records. Both copy the pieces once, which costs less than a
//!    record for each.
//! 2. **Read large pieces.** `read_tls` makes one call of the socket's `read`. The receive buffer
//!    grows with the data that a peer sends. Give `reader().read` a buffer of 16 KiB or more, or
//!    use `fill_buf`.
//! 3. **Avoid copies**: [`in_place`](super::in_place).
//! 4. **Keep the default fragment size.** Each record has a price, so a small
//!    [`max_fragment_size`](crate::ServerConfig::max_fragment_size) costs throughput. It can reduce
//!    latency: a receiver uses the first byte of a record only after the last one has arrived. The
//!    limit counts the plaintext and the header of 5 bytes. For records that fit into one TCP
//!    segment, set it to the segment's length less 17, which TLS 1.3 adds at the end.
//! 5. **Choose the cipher.** AES-128-GCM is the fastest on processors with AES instructions. It
//!    takes <!--=aes128-1k-->128<!--/--> ns for 1 KiB, AES-256-GCM <!--=aes256-1k-->138<!--/--> and
//!    ChaCha20-Poly1305 <!--=chacha-1k-->520<!--/-->. The last suits processors without them. Both
//!    providers prefer AES-256-GCM by default, as rustls 0.23 does. To change that, reorder
//!    [`CryptoProvider::cipher_suites`](crate::crypto::CryptoProvider::cipher_suites). On a server,
//!    also set [`ignore_client_order`](crate::ServerConfig::ignore_client_order).
//! 6. **Use two threads for both directions** of one connection. A mutex makes them take turns,
//!    which is slower than one thread. [`into_split`](crate::ClientConnection::into_split) gives
//!    each thread its own half and reaches <!--=split-->2.0<!--/--> times the throughput (`bench -- duplex`).
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::CipherSuite;
//! use rustls::crypto::{CryptoProvider, aws_lc_rs};
//!
//! /// Returns a provider that prefers AES-128-GCM and is otherwise the default.
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
//! # Nothing to tune here
//!
//! Records are not allocated, queued or gathered. Buffers are not zeroed again. A full write makes
//! full records. Sending and receiving allocate nothing once a connection runs, and tests count
//! that. The one exception is a `write_vectored` of more than 64 pieces, which allocates their
//! list. The allocator therefore matters little for bulk data, and somewhat for handshakes.
//!
//! # Many connections on many cores
//!
//! A connection belongs to one thread at a time, and writes nothing that others share. Only
//! handshakes touch shared state, behind the configuration:
//!
//! - session stores, each with a lock;
//! - the ticketer, with a lock during the lookup of a key;
//!   [`for_fleet`](crate::crypto::aws_lc_rs::Ticketer::for_fleet) has none;
//! - caches of certificates, which hold no lock during computations.
//!
//! Each thread has a pool of record buffers. A thread with ten thousand connections uses a handful
//! of them, and they stay in its cache. A buffer returns to the pool of the thread that empties it,
//! so connections may move between worker threads.
//!
//! # Measuring
//!
//! ```sh
//! cargo run --release -p bench -- bulk TLS13_AES_128_GCM_SHA256   # in cache, beside the bare AEAD
//! cargo run --release -p bench -- bulk TLS13_AES_128_GCM_SHA256 --plaintext-size 1024
//! cargo run --release -p bench -- bulk TLS13_AES_128_GCM_SHA256 --working-set 64MiB --threads 1..4
//! cargo run --release -p bench -- tcp                           # with the kernel
//! cargo run --release -p bench -- duplex                        # both directions at once
//! ```
//!
//! `-C target-cpu=native` makes no difference to the cipher, which is chosen at run time.
