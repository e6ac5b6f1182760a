//! A provider's `Ticketer`, which is the same type for each of them over other cryptography.

/// Declares `Ticketer`, the recommended way of a crypto provider to protect session tickets: by AES-256-GCM, under
/// keys of its own or of a fleet.
///
/// It takes the provider's parts: a function from [`AeadKey`](crate::crypto::cipher::AeadKey) to an
/// [`Aead`](crate::blocks::Aead) that is AES-256-GCM, a [`HashFunction`](crate::blocks::HashFunction) that is
/// SHA-384, and a reference to a [`SecureRandom`](crate::crypto::SecureRandom). The crate that uses it says
/// `extern crate alloc`, and depends on rustls-pki-types as `pki_types`.
///
/// Without this crate's feature `std` it declares nothing. A provider therefore needs no such feature of its own, and
/// names what it passes by paths.
#[cfg(feature = "std")]
#[macro_export]
macro_rules! provider_ticketer {
    ($new_aes_256_gcm:expr, $sha384:ty, $random:expr) => {
        /// The recommended way to protect session tickets.
        pub struct Ticketer {}

        impl Ticketer {
            /// Makes tickets that nobody but this object can read, under random keys that are changed every
            /// six hours and destroyed after twelve.
            ///
            /// Tickets are encrypted with AES-256-GCM.
            ///
            /// # Errors
            ///
            /// [`Error::FailedToGetRandomBytes`](rustls_core::error::Error::FailedToGetRandomBytes) when there is no
            /// randomness for the first key.
            // The name and the return type are 0.23's.
            #[allow(clippy::new_ret_no_self)]
            pub fn new() -> Result<
                alloc::sync::Arc<dyn $crate::ticketer::ProducesTickets>,
                $crate::error::Error,
            > {
                $crate::blocks::make_rotating_ticketer(|| {
                    $crate::blocks::make_ticketer($new_aes_256_gcm, $random)
                })
            }

            /// Makes tickets that every machine can read which was given the same `secret` and `epoch_secs`,
            /// whichever of this library's providers it uses. See
            /// [`FleetTicketer`](rustls_core::blocks::FleetTicketer).
            ///
            /// The secret is random, of at least 32 bytes. `epoch_secs` is how many seconds an epoch takes, some
            /// hours as a rule: a ticket made in one epoch can be used until the next one ends.
            ///
            /// Tickets are encrypted with AES-256-GCM under keys derived with HKDF-SHA-384.
            ///
            /// # Errors
            ///
            /// Those of [`FleetTicketer::new`](rustls_core::blocks::FleetTicketer::new): the secret is too short, or
            /// the epoch too short or too long.
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

            /// As [`for_fleet`](Self::for_fleet), by another clock than the system's.
            ///
            /// # Errors
            ///
            /// Those of [`FleetTicketer::new`](rustls_core::blocks::FleetTicketer::new).
            pub fn for_fleet_with_clock(
                secret: &[u8],
                epoch_secs: u32,
                clock: impl Fn() -> Option<pki_types::UnixTime> + Send + Sync + 'static,
            ) -> Result<
                alloc::sync::Arc<dyn $crate::ticketer::ProducesTickets>,
                $crate::error::Error,
            > {
                let crypto = $crate::blocks::FleetCrypto {
                    hkdf: &$crate::blocks::Hashing::<$sha384>::NEW,
                    new_aead: $new_aes_256_gcm,
                    random: $random,
                };
                let ticketer = $crate::blocks::FleetTicketer::new(secret, epoch_secs, crypto, clock)?;
                Ok(alloc::sync::Arc::new(ticketer))
            }
        }
    };
}

/// Declares nothing, since a `Ticketer` needs the feature `std`.
#[cfg(not(feature = "std"))]
#[macro_export]
macro_rules! provider_ticketer {
    ($new_aes_256_gcm:expr, $sha384:ty, $random:expr) => {};
}
