//! Ticket protection by AES-256-GCM.

use rustls_core::blocks::BulkCipher;

use crate::aead::Key;
use crate::hash::Sha384;
use crate::random::Random;

rustls_core::provider_ticketer!(|key| Key::new(BulkCipher::Aes256Gcm, &key), Sha384, &Random);
