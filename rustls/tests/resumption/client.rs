//! Resumption by the client, against upstream's server.

mod expiry;
mod upstream;
