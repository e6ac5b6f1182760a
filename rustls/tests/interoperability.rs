//! Tests of every feature with rustls 0.23 as the peer, and with OpenSSL, GnuTLS and NSS.

mod matrix;
mod openssl;
mod other_stacks;
mod quic_matrix;
