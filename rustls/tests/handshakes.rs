//! Tests of TLS 1.3 handshakes: full, resumed and with early data. They can also be built with only
//! one provider.

mod early_data;
mod handshake_client;
mod handshake_server;
mod resumption;
