//! Tests of resumption by the client, with upstream's server.

mod expiry;
mod upstream;
