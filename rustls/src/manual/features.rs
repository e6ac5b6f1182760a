//! Features of the crate: the effect and the cost of each.
//!
//! The names are those of rustls 0.23. `x509` is new.
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `aws_lc_rs`, `aws-lc-rs` | yes | the provider on aws-lc-rs: fastest, ML-KEM, HPKE, P-521 |
//! | `prefer-post-quantum` | yes | X25519MLKEM768 is the first group; turns on `aws_lc_rs` |
//! | `fips` | | aws-lc-rs in its [FIPS-validated form](#fips); turns on `aws_lc_rs` |
//! | `ring` | | the provider on ring |
//! | `custom-provider` | | no provider becomes the process default automatically |
//! | `std` | yes | buffered connections, the clock, files, `Stream` |
//! | `tls12` | yes | TLS 1.2 |
//! | `logging`, `log` | yes | messages through the `log` crate |
//! | `zlib` | | compressed certificates (RFC 8879) |
//! | `brotli` | | the same with Brotli, the algorithm that browsers offer |
//! | `x509` | | [properties of certificates](crate::certificates) |
//! | `hashbrown` | | session caches without `std` |
//! | `read_buf` | | reads into uninitialized memory |
//!
//! Their costs:
//!
//! - **`aws_lc_rs`**: a C compiler, one minute of CPU time to build, and 2 MB more code than ring.
//! - **`prefer-post-quantum`**: 1.2 kB more in a ClientHello and 1.1 kB in a ServerHello. The key
//!   exchange takes a client <!--=mlkem-client-us-->48<!--/--> µs and a server
//!   <!--=mlkem-server-us-->34<!--/-->, where X25519 takes <!--=x25519-us-->21<!--/-->. No code outside
//!   the provider.
//! - **`fips`**: CMake and Go to build; no ChaCha20-Poly1305 and no plain X25519.
//! - **`ring`**: no ML-KEM, P-521 or HPKE; one copy of the plaintext when sending, except in place.
//! - **`std`**: the standard library. Without it, the unbuffered API remains, on `alloc`.
//! - **`tls12`**: 150 kB, and the risk of an old protocol. A configuration can also disable it.
//! - **`logging`**: 25 kB; nothing per record.
//! - **`zlib`**: 130 kB. Each chain is compressed once; peers' chains are decompressed within
//!   limits.
//! - **`brotli`**: 1.2 MB, mostly Brotli's dictionary.
//! - **`x509`**: 13 crates (RustCrypto's x509-cert). Only the code in use is linked.
//! - **`hashbrown`**: one crate.
//! - **`read_buf`**: a nightly compiler; no effect with others.
//!
//! `brotli` and `read_buf` turn on `std`.
//!
//! Sizes are those of a stripped release build of a program with one client and one server
//! connection, on x86-64 Linux, with and without the feature. The whole program has 1.85 MB with
//! `ring,std`, and 3.9 MB with `aws_lc_rs,std`.
//!
//! # The provider
//!
//! If exactly one of `aws_lc_rs` and `ring` is enabled, it becomes the default of the process on
//! first use. Cargo unifies features over a dependency tree, so a library should enable neither. A
//! program with both must choose one:
//!
//! ```
//! // at the start of `main`; fails if a default is already installed, and that is fine here
//! let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
//! ```
//!
//! It can also give the provider to each configuration with
//! [`builder_with_provider`](crate::ClientConfig::builder_with_provider). Libraries that let their
//! users choose should do the same.
//!
//! On aws-lc-rs, the record layer encrypts straight from the plaintext's buffer into the record. It
//! copies plaintext only if several slices share a record. ring is smaller and builds on more
//! platforms. The bench compares each with its own bare AEAD.
//!
//! # FIPS
//!
//! With the feature `fips`, aws-lc-rs uses the module of aws-lc that is validated for FIPS 140-3.
//! Its provider offers approved algorithms only: no ChaCha20-Poly1305, and X25519 only inside
//! X25519MLKEM768. A program needs three steps:
//!
//! 1. Enable the feature.
//! 2. Call `rustls::crypto::default_fips_provider().install_default()` at the start of `main`, or
//!    pass that provider to each configuration.
//! 3. Call `assert!(config.fips())` on each finished configuration. It is false if any part is not
//!    approved. [`require_ems`](crate::ClientConfig::require_ems) is then true by default and must
//!    stay so: TLS 1.2 peers without the extended master secret are rejected.
//!
//! [`ServerConfig::fips`](crate::ServerConfig::fips) documents what this does not cover. The
//! operator must run the program on a machine that the module's certificate names. A dependency
//! that also enables `ring` changes nothing, if the default provider is installed before the first
//! configuration is built.
//!
//! # The smallest build
//!
//! `default-features = false, features = ["ring"]` is `no_std` and has the unbuffered API of TLS
//! 1.3 only. It needs an allocator, a clock ([`TimeProvider`](crate::time_provider::TimeProvider))
//! and a target with a source of randomness that ring supports.
