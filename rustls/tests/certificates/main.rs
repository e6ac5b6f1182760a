//! What sides authenticate with: certificates compressed and not, raw public keys, and who chooses them.

mod compression;
mod kit;
mod raw_keys;
