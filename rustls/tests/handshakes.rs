//! Handshakes of TLS 1.3, full, resumed and with early data. They also run with one
//! provider alone.

mod early_data;
mod handshake_client;
mod handshake_server;
mod resumption;
