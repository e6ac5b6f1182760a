//! What the crate's features give, and what they cost.
//!
//! The names are those of rustls 0.23; `native-certs`, `webpki-roots` and `x509` are new.
//!
//! | feature | default | what it gives | what it costs |
//! |---|---|---|---|
//! | `aws_lc_rs`, `aws-lc-rs` | yes | the provider over aws-lc-rs: the fastest, ML-KEM, HPKE, all suites and curves | a C compiler to build, a minute of a core, 2 MB more of code than ring |
//! | `prefer-post-quantum` | yes | X25519MLKEM768 comes first among the groups; turns on `aws_lc_rs` | 1.2 kB more in a ClientHello, 1.1 kB in a ServerHello, a sixth of a client's handshake and a quarter of a server's; no code but the provider's |
//! | `fips` | | aws-lc-rs in its [FIPS-validated form](#fips); turns on `aws_lc_rs` | CMake and Go to build; ChaCha20-Poly1305 and plain X25519 |
//! | `ring` | | the provider over ring | neither ML-KEM nor P-521 nor HPKE; one copy of the plaintext when sending, but in place |
//! | `custom-provider` | | no provider becomes the process's default by itself | – |
//! | `std` | yes | buffered connections, the clock, files, `Stream` | the standard library; without it, the unbuffered API remains, on `alloc` |
//! | `tls12` | yes | TLS 1.2 | 150 kB; the risk of an old protocol. Configurations can leave it out, too |
//! | `logging`, `log` | yes | messages through the `log` crate | 25 kB; nothing per record |
//! | `zlib` | | compressed certificates (RFC 8879) | 130 kB; each chain is compressed once, those of peers are decompressed within bounds |
//! | `brotli` | | the same with Brotli, the algorithm that browsers offer | 1.2 MB, most of it Brotli's dictionary |
//! | `x509` | | [properties of certificates](crate::certificates), reloading of certificates and keys | 13 crates (RustCrypto's x509-cert); code only for what is used |
//! | `native-certs` | | the platform's root certificates as a source | one crate |
//! | `webpki-roots` | | Mozilla's root certificates as a source | one crate; 250 kB of certificates where it is used |
//! | `hashbrown` | | session caches without `std` | one crate |
//! | `read_buf` | | reading into memory that need not be initialized | a nightly compiler; nothing on others |
//!
//! `brotli`, `native-certs`, `webpki-roots` and `read_buf` turn on `std`.
//!
//! Sizes are those of a stripped release build of a program with one client and one server connection, on x86-64 Linux,
//! with the feature and without: 1.85 MB with `ring,std` and 3.9 MB with `aws_lc_rs,std`, all of the program included.
//!
//! # Which provider
//!
//! A program that has exactly one of `aws_lc_rs` and `ring` need not say which: it becomes the process's default at the
//! first use. Features unify over a dependency tree, so a library should turn on neither, and a program may end up with
//! both; then it says which:
//!
//! ```
//! // first thing in `main`; does nothing if somebody was faster
//! let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
//! ```
//!
//! or gives it to each configuration with
//! [`builder_with_provider`](crate::ClientConfig::builder_with_provider), which is what a library should do that lets its
//! users choose.
//!
//! On aws-lc-rs the record layer encrypts from where the plaintext lies to where the record goes; it copies only what
//! comes in several pieces for one record. ring is smaller and builds everywhere; the bench shows both,
//! each against its own bare AEAD.
//!
//! # FIPS
//!
//! With the feature `fips`, aws-lc-rs is built over the module of aws-lc that is validated for FIPS 140-3, and its
//! provider offers what is approved and nothing else: no ChaCha20-Poly1305, and X25519 within X25519MLKEM768 alone. Three
//! things make a program use it:
//!
//! 1. the feature;
//! 2. `rustls::crypto::default_fips_provider().install_default()`, first thing in `main`, or that provider for
//!    each configuration;
//! 3. `assert!(config.fips())`, once the configuration is as it will be used: it is false when something in it is not
//!    approved. [`require_ems`](crate::ClientConfig::require_ems) is true by default then, and has to stay so: peers of
//!    TLS 1.2 without the extended master secret are refused.
//!
//! What it does not cover is said [where it is asked](crate::ServerConfig::fips); that the machine is one that the
//! module's certificate names is the operator's to see to. A dependency that turns on `ring` as well changes nothing,
//! where the process has its default provider before the first configuration is made.
//!
//! # The smallest build
//!
//! `default-features = false, features = ["ring"]` is `no_std` with the unbuffered API of TLS 1.3 only. It needs an
//! allocator, a clock ([`TimeProvider`](crate::time_provider::TimeProvider)) and, for ring's randomness, a target that
//! ring supports.
