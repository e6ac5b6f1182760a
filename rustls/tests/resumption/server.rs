//! Tests of resumption by the server. It matches upstream's server, except where a test states
//! otherwise.

mod authentication;
mod chosen;
mod hashed;
mod openssl;
mod other_servers;
mod peers;
mod tampering;
mod tickets;
mod time;
