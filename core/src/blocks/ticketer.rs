//! A provider's `Ticketer`: the same code on each provider's cryptography.

/// Declares `Ticketer`, a crypto provider's recommended session ticket protection: AES-256-GCM,
/// with random keys or with a fleet's keys.
///
/// The arguments are the provider's parts: a function from
/// [`AeadKey`](crate::crypto::cipher::AeadKey) to an AES-256-GCM [`Aead`](crate::blocks::Aead),
/// [`Hkdf`](crate::crypto::tls13::Hkdf) with SHA-384, and a
/// [`SecureRandom`](crate::crypto::SecureRandom), the last two as references. The invoking crate
/// must declare `extern crate alloc` and depend on rustls-pki-types as `pki_types`.
///
/// If this crate's feature `std` is disabled, the macro declares nothing, so a provider does not
/// need a `std` feature for it. Pass the arguments as full paths, because without `std` an import
/// would be unused.
#[cfg(feature = "std")]
#[macro_export]
macro_rules! provider_ticketer {
    ($new_aes_256_gcm:expr, $hkdf:expr, $random:expr) => {
        /// The recommended ticket protection.
        pub struct Ticketer {}

        impl Ticketer {
            /// Returns a ticketer whose tickets only it can read. Its random keys are rotated every
            /// six hours and destroyed after twelve, at the next use of the ticketer.
            ///
            /// Tickets are encrypted with AES-256-GCM.
            ///
            /// # Errors
            ///
            /// Returns
            /// [`Error::FailedToGetRandomBytes`](rustls_core::error::Error::FailedToGetRandomBytes)
            /// if there is no randomness for the first key.
            // The public API of rustls 0.23 has this name and return type.
            #[allow(clippy::new_ret_no_self)]
            pub fn new() -> Result<
                alloc::sync::Arc<dyn $crate::ticketer::ProducesTickets>,
                $crate::error::Error,
            > {
                $crate::blocks::make_rotating_ticketer(|| {
                    $crate::blocks::make_ticketer($new_aes_256_gcm, $random)
                })
            }

            /// Returns a ticketer whose tickets every machine with the same `secret` and
            /// `epoch_secs` can read, with any of this library's providers. See
            /// [`FleetTicketer`](rustls_core::blocks::FleetTicketer).
            ///
            /// The secret must be random and at least 32 bytes long. `epoch_secs` is the length of
            /// an epoch in seconds, usually a few hours. A ticket created in one epoch is valid
            /// until the end of the next epoch.
            ///
            /// Tickets are encrypted with AES-256-GCM under keys derived with HKDF-SHA-384.
            ///
            /// # Errors
            ///
            /// Returns the errors of
            /// [`FleetTicketer::new`](rustls_core::blocks::FleetTicketer::new): the secret is too
            /// short, or the epoch is too short or too long.
            pub fn for_fleet(
                secret: &[u8],
                epoch_secs: u32,
            ) -> Result<
                alloc::sync::Arc<dyn $crate::ticketer::ProducesTickets>,
                $crate::error::Error,
            > {
                Self::for_fleet_with_clock(secret, epoch_secs, || {
                    Some(pki_types::UnixTime::now())
                })
            }

            /// Like [`for_fleet`](Self::for_fleet), with the given clock instead of the system's.
            ///
            /// # Errors
            ///
            /// Returns the errors of
            /// [`FleetTicketer::new`](rustls_core::blocks::FleetTicketer::new).
            pub fn for_fleet_with_clock(
                secret: &[u8],
                epoch_secs: u32,
                clock: impl Fn() -> Option<pki_types::UnixTime> + Send + Sync + 'static,
            ) -> Result<
                alloc::sync::Arc<dyn $crate::ticketer::ProducesTickets>,
                $crate::error::Error,
            > {
                let crypto = $crate::blocks::FleetCrypto {
                    hkdf: $hkdf,
                    new_aead: $new_aes_256_gcm,
                    random: $random,
                };
                let ticketer = $crate::blocks::FleetTicketer::new(secret, epoch_secs, crypto, clock)?;
                Ok(alloc::sync::Arc::new(ticketer))
            }
        }
    };
}

/// Declares nothing: a `Ticketer` needs the feature `std`.
#[cfg(not(feature = "std"))]
#[macro_export]
macro_rules! provider_ticketer {
    ($new_aes_256_gcm:expr, $hkdf:expr, $random:expr) => {};
}
