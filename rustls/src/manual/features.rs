//! Features of the crate: the effect and the cost of each.
//!
//! The names are those of rustls 0.23. `native-certs`, `webpki-roots` and `x509` are new.
//!
//! | feature | default | effect | cost |
//! |---|---|---|---|
//! | `aws_lc_rs`, `aws-lc-rs` | yes | the provider over aws-lc-rs: the fastest, ML-KEM, HPKE, all suites and curves | a C compiler, a minute of a core to build, 2 MB more of code than ring |
//! | `prefer-post-quantum` | yes | X25519MLKEM768 is the first group; turns on `aws_lc_rs` | 1.2 kB more in a ClientHello, 1.1 kB in a ServerHello, a sixth of a client's handshake and a quarter of a server's; no code outside the provider |
//! | `fips` | | aws-lc-rs in its [FIPS-validated form](#fips); turns on `aws_lc_rs` | CMake and Go to build; no ChaCha20-Poly1305 and no plain X25519 |
//! | `ring` | | the provider over ring | no ML-KEM, P-521 or HPKE; one copy of the plaintext when sending, except in place |
//! | `custom-provider` | | no provider becomes the default of the process automatically | – |
//! | `std` | yes | buffered connections, the clock, files, `Stream` | the standard library; without it, the unbuffered API remains, on `alloc` |
//! | `tls12` | yes | TLS 1.2 | 150 kB; the risk of an old protocol. A configuration can also disable it |
//! | `logging`, `log` | yes | messages through the `log` crate | 25 kB; nothing per record |
//! | `zlib` | | compressed certificates (RFC 8879) | 130 kB; each chain is compressed once, chains of peers are decompressed within limits |
//! | `brotli` | | the same with Brotli, the algorithm that browsers offer | 1.2 MB, mostly Brotli's dictionary |
//! | `x509` | | [properties of certificates](crate::certificates), reloading of certificates and keys | 13 crates (RustCrypto's x509-cert); code only for what is used |
//! | `native-certs` | | the platform's root certificates as a source | one crate |
//! | `webpki-roots` | | Mozilla's root certificates as a source | one crate; 250 kB of certificates if used |
//! | `hashbrown` | | session caches without `std` | one crate |
//! | `read_buf` | | reading into uninitialized memory | a nightly compiler; no effect on others |
//!
//! `brotli`, `native-certs`, `webpki-roots` and `read_buf` turn on `std`.
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
//! On aws-lc-rs, the record layer encrypts from the plaintext's place to the record's final place.
//! It copies only plaintext that several slices contribute to one record. ring is smaller and
//! builds on more platforms. The bench compares each with its own bare AEAD.
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
