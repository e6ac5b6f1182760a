//! Tests of handshakes with TLS 1.2, over QUIC and with ECH, and of those that wait for the
//! application.

mod ech;
mod operations;
mod quic_handshake;
mod tls12;
