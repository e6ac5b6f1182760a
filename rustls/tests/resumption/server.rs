//! The server resumes, as the server of rustls 0.23 does but for what its tests name.

mod authentication;
mod chosen;
mod hashed;
mod openssl;
mod other_servers;
mod peers;
mod tampering;
mod tickets;
mod time;
