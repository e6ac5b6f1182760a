//! Configurations, and the certificates and keys in them.

mod certificates;
mod configuration;
mod fastest;
mod peer_chains;
