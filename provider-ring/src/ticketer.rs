//! Ticket protection with AES-256-GCM.

rustls_core::provider_ticketer!(
    |key| crate::aead::Key::new::<rustls_core::blocks::Aes256Gcm>(&key),
    &rustls_core::blocks::Hashing::<crate::hash::Sha384>::NEW,
    &crate::random::Random
);
