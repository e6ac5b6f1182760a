//! The crypto-provider interface: what a provider of cryptography brings, and what is built on it.
//!
//! This file owns [`CryptoProvider`], key exchange, randomness, private-key loading and the list of
//! signature verification algorithms. Hashing, key derivation, bulk encryption and HPKE each have
//! their own module below. No cryptography is implemented here.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{PrivateKeyDer, SignatureVerificationAlgorithm};
use zeroize::Zeroize;

pub use crate::enums::KeyExchangeAlgorithm;
use crate::enums::{NamedGroup, ProtocolVersion, SignatureScheme};
use crate::error::Error;
use crate::ffdhe_groups::{self, FfdheGroup};
use crate::sign::SigningKey;
pub use crate::suites::CipherSuiteCommon;
use crate::suites::SupportedCipherSuite;
use crate::versions::SupportedProtocolVersion;

pub mod aead;
pub mod cipher;
pub mod hash;
pub mod hmac;
pub mod hpke;
pub mod tls12;
pub mod tls13;

/// The cryptography that a configuration uses: cipher suites, key exchange groups, signature
/// verification, randomness and private-key loading.
///
/// Each field stands alone, so a provider is customised by changing fields of an existing one: drop
/// cipher suites, reorder groups, keep private keys in hardware.
///
/// # The process-wide default
///
/// A configuration built without naming a provider takes the one given to
/// [`install_default`](Self::install_default). Only an application should install one: it can be
/// done once in a process, and a library that does it takes the choice away from its user.
#[derive(Clone, Debug)]
pub struct CryptoProvider {
    /// The supported cipher suites, most preferred first.
    ///
    /// Both protocol versions share this list. A configuration without a suite for a version that it
    /// enables is refused when it is built.
    pub cipher_suites: Vec<SupportedCipherSuite>,

    /// The supported key exchange groups, most preferred first.
    ///
    /// The first one usable for TLS 1.3 is the one a client guesses in its first ClientHello
    /// (RFC 9846 §4.3.8). A group that is named twice counts once.
    pub kx_groups: Vec<&'static dyn SupportedKxGroup>,

    /// The signature algorithms for verifying certificates and handshake signatures.
    pub signature_verification_algorithms: WebPkiSupportedAlgorithms,

    /// The source of randomness.
    pub secure_random: &'static dyn SecureRandom,

    /// Turns encoded private keys into [`SigningKey`]s.
    pub key_provider: &'static dyn KeyProvider,
}

impl CryptoProvider {
    /// Makes this the provider of every later configuration that names none.
    ///
    /// # Errors
    ///
    /// A default is in place already; it stays, and the error holds the provider that was refused.
    pub fn install_default(self) -> Result<(), Arc<Self>> {
        process_default::install(Arc::new(self))
    }

    /// The process-wide default provider, or `None` while none is installed.
    pub fn get_default() -> Option<&'static Arc<Self>> {
        process_default::get()
    }

    /// True when every part of this provider runs in FIPS-approved mode.
    ///
    /// That covers the cryptography only. Whether a configuration as a whole is approved also depends
    /// on protocol settings; the `fips` method of the configuration answers that.
    pub fn fips(&self) -> bool {
        self.cipher_suites.iter().all(SupportedCipherSuite::fips)
            && self.kx_groups.iter().all(|group| group.fips())
            && self.signature_verification_algorithms.fips()
            && self.secure_random.fips()
            && self.key_provider.fips()
    }
}

#[cfg(feature = "std")]
mod process_default {
    use alloc::sync::Arc;
    use std::sync::OnceLock;

    use super::CryptoProvider;

    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();

    pub(super) fn install(provider: Arc<CryptoProvider>) -> Result<(), Arc<CryptoProvider>> {
        PROVIDER.set(provider)
    }

    pub(super) fn get() -> Option<&'static Arc<CryptoProvider>> {
        PROVIDER.get()
    }
}

#[cfg(not(feature = "std"))]
mod process_default {
    use alloc::boxed::Box;
    use alloc::sync::Arc;

    use once_cell::race::OnceBox;

    use super::CryptoProvider;

    static PROVIDER: OnceBox<Arc<CryptoProvider>> = OnceBox::new();

    pub(super) fn install(provider: Arc<CryptoProvider>) -> Result<(), Arc<CryptoProvider>> {
        PROVIDER.set(Box::new(provider)).map_err(|refused| *refused)
    }

    pub(super) fn get() -> Option<&'static Arc<CryptoProvider>> {
        PROVIDER.get()
    }
}

/// A cryptographically secure source of random bytes.
pub trait SecureRandom: Send + Sync + fmt::Debug {
    /// Fills `buf` with random bytes, all of it.
    ///
    /// # Errors
    ///
    /// [`GetRandomFailed`] when the source has none to give; the content of `buf` must then not be
    /// used.
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed>;

    /// True when this source is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// The source of randomness failed.
#[derive(Debug)]
pub struct GetRandomFailed;

impl From<GetRandomFailed> for Error {
    fn from(_: GetRandomFailed) -> Self {
        Self::FailedToGetRandomBytes
    }
}

/// Turns an encoded private key into one that can sign.
pub trait KeyProvider: Send + Sync + fmt::Debug {
    /// Decodes and checks `key_der`.
    ///
    /// # Errors
    ///
    /// [`Error::General`] or another error of the provider's choice when the encoding is wrong or the
    /// kind of key is not supported.
    fn load_private_key(
        &self,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, Error>;

    /// True when every key that this loads signs in FIPS-approved mode. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// A key exchange group, from which one exchange after another can be started.
///
/// A group that works by encapsulation (a KEM) implements [`start`](Self::start) for clients and
/// [`start_and_complete`](Self::start_and_complete) for servers.
pub trait SupportedKxGroup: Send + Sync + fmt::Debug {
    /// Starts an exchange: makes a fresh ephemeral key.
    ///
    /// # Errors
    ///
    /// Key generation may fail, typically with [`Error::FailedToGetRandomBytes`].
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error>;

    /// Does the whole exchange at once, given the peer's share. This is the server's side of TLS 1.3.
    ///
    /// Unless overridden it is [`start`](Self::start) followed by [`ActiveKeyExchange::complete`].
    ///
    /// # Errors
    ///
    /// Those of `start` and of `complete`.
    fn start_and_complete(&self, peer_pub_key: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let ours = self.start()?;
        let group = ours.group();
        let pub_key = ours.pub_key().to_vec();
        Ok(CompletedKeyExchange {
            group,
            pub_key,
            secret: ours.complete(peer_pub_key)?,
        })
    }

    /// The parameters of this group when it is a finite-field group, `None` for all others.
    ///
    /// The default finds them by [`name`](Self::name) among those of RFC 7919. Override it to keep
    /// the primes of unused groups out of the binary.
    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        ffdhe_groups::by_name(self.name())
    }

    /// The group's code point.
    fn name(&self) -> NamedGroup;

    /// True when this group is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }

    /// True when this group may be negotiated in `version`. True for all unless overridden.
    fn usable_for_version(&self, _version: ProtocolVersion) -> bool {
        true
    }
}

/// A key exchange of which our half is done: there is an ephemeral key, and its public part is known.
pub trait ActiveKeyExchange: Send + Sync {
    /// Computes the shared secret from the peer's share.
    ///
    /// It consumes the exchange, so an ephemeral key is used once.
    ///
    /// # Errors
    ///
    /// `PeerMisbehaved::InvalidKeyShare` when the share has the wrong length or is not a valid
    /// element of the group. An all-zero X25519 result is one such case (RFC 9846 §7.4.2).
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error>;

    /// Computes the shared secret in the form that `tls_version` wants.
    ///
    /// The versions differ for finite-field groups only: TLS 1.2 strips leading zero bytes
    /// (RFC 5246 §8.1.2), TLS 1.3 keeps the length of the prime (RFC 9846 §7.4.1).
    ///
    /// # Errors
    ///
    /// Those of [`complete`](Self::complete).
    fn complete_for_tls_version(
        self: Box<Self>,
        peer_pub_key: &[u8],
        tls_version: &SupportedProtocolVersion,
    ) -> Result<SharedSecret, Error> {
        let finite_field = self.ffdhe_group().is_some();
        let secret = self.complete(peer_pub_key)?;
        Ok(match (tls_version.version, finite_field) {
            (ProtocolVersion::TLSv1_2, true) => secret.without_leading_zeros(),
            _ => secret,
        })
    }

    /// For a hybrid exchange whose classical part may also be used alone: that part's group and share.
    ///
    /// A client then offers this share too, at no cost of a second key. `None` unless overridden.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        None
    }

    /// Completes the classical part alone, when the server chose the group that
    /// [`hybrid_component`](Self::hybrid_component) named.
    ///
    /// # Errors
    ///
    /// Those of [`complete`](Self::complete); also, and always unless overridden, [`Error::General`]:
    /// an exchange that names no component has none to complete.
    fn complete_hybrid_component(
        self: Box<Self>,
        _peer_pub_key: &[u8],
    ) -> Result<SharedSecret, Error> {
        Err(Error::General(
            "this key exchange has no component to complete alone".into(),
        ))
    }

    /// Our share, in the encoding that goes on the wire (RFC 9846 §4.3.8).
    fn pub_key(&self) -> &[u8];

    /// The parameters when this is a finite-field exchange, `None` for all others.
    ///
    /// The default finds them by [`group`](Self::group) among those of RFC 7919.
    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        ffdhe_groups::by_name(self.group())
    }

    /// The group of this exchange.
    fn group(&self) -> NamedGroup;
}

/// What [`SupportedKxGroup::start_and_complete`] returns: our share and the shared secret.
pub struct CompletedKeyExchange {
    /// The group that was used.
    pub group: NamedGroup,

    /// Our share, to be sent to the peer.
    pub pub_key: Vec<u8>,

    /// The secret that both sides now know.
    pub secret: SharedSecret,
}

/// The result of a key exchange. Zeroized on drop.
pub struct SharedSecret(Vec<u8>);

impl SharedSecret {
    /// The secret itself.
    pub fn secret_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same number without leading zero bytes, as TLS 1.2 wants it (RFC 5246 §8.1.2).
    ///
    /// How many there were shows in the timing. RFC 5246 brings that about, as the length of the
    /// PRF's key depends on it in any case.
    fn without_leading_zeros(mut self) -> Self {
        let zeros = self.0.iter().take_while(|byte| **byte == 0).count();
        // The bytes freed at the end stay within the capacity, all of which is zeroized on drop.
        self.0.drain(..zeros);
        self
    }
}

impl Drop for SharedSecret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl From<&[u8]> for SharedSecret {
    fn from(secret: &[u8]) -> Self {
        Self(secret.to_vec())
    }
}

impl From<Vec<u8>> for SharedSecret {
    fn from(secret: Vec<u8>) -> Self {
        Self(secret)
    }
}

/// The signature algorithms for verification, and which of them serve which TLS scheme.
#[derive(Clone, Copy)]
pub struct WebPkiSupportedAlgorithms {
    /// All algorithms allowed for the signatures of certificates and revocation lists.
    ///
    /// Those take their algorithm from X.509, so this list need not follow `mapping`.
    pub all: &'static [&'static dyn SignatureVerificationAlgorithm],

    /// For each TLS signature scheme, most preferred first, the algorithms that can verify it.
    ///
    /// One scheme may have several, since TLS 1.2 does not bind an ECDSA scheme to a curve. In
    /// TLS 1.3 only the first of them counts (RFC 9846 §4.3.3).
    pub mapping: &'static [(
        SignatureScheme,
        &'static [&'static dyn SignatureVerificationAlgorithm],
    )],
}

impl WebPkiSupportedAlgorithms {
    /// The schemes of `mapping` in its order, as sent in `signature_algorithms`.
    pub fn supported_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes().collect()
    }

    /// True when every algorithm in either list is FIPS-approved.
    pub fn fips(&self) -> bool {
        let mapped = self.mapping.iter().flat_map(|(_, algorithms)| *algorithms);
        self.all
            .iter()
            .chain(mapped)
            .all(|algorithm| algorithm.fips())
    }

    fn schemes(&self) -> impl Iterator<Item = SignatureScheme> {
        self.mapping.iter().map(|(scheme, _)| *scheme)
    }
}

impl fmt::Debug for WebPkiSupportedAlgorithms {
    /// Names the schemes; the algorithms have no names to print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Schemes<'a>(&'a WebPkiSupportedAlgorithms);

        impl fmt::Debug for Schemes<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.0.schemes()).finish()
            }
        }

        f.debug_struct("WebPkiSupportedAlgorithms")
            .field("all", &format_args!("[ .. ]"))
            .field("mapping", &Schemes(self))
            .finish()
    }
}

#[cfg(test)]
pub(crate) mod toy;

#[cfg(test)]
mod tests;
