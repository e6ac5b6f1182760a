//! The client resumes: against the server of rustls 0.23.

mod expiry;
mod upstream;
