//! Resumption by the server. It matches upstream's server except where a test says otherwise.

mod authentication;
mod chosen;
mod hashed;
mod openssl;
mod other_servers;
mod peers;
mod tampering;
mod tickets;
mod time;
