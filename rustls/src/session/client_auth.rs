//! What ties a server's sessions to the way in which its configuration authenticates clients.
//!
//! A resumed session skips the client's certificate. So it is only resumed where clients would be asked for
//! the same ([`ClientAuthId`]) and the certificate would still be accepted ([`is_still_accepted`]). Both hold
//! between processes and machines that share tickets or a storage.

use pki_types::{CertificateDer, UnixTime};

use crate::crypto::CryptoProvider;
use crate::verify::ClientCertVerifier;

/// What a configuration asks of clients, in short: whether they must authenticate, how, and by which
/// authorities.
///
/// Two of them are equal if the settings are. Verifiers that say the same of themselves and judge
/// differently are not told apart by it; for that, [`is_still_accepted`] asks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientAuthId(pub(crate) [u8; Self::LEN]);

impl ClientAuthId {
    /// Length in bytes: that of the shortest hash function of TLS 1.3.
    pub(crate) const LEN: usize = 32;

    /// Hashes what `verifier` says of itself with the first hash function of `provider`. Where clients are not
    /// asked there is nothing to hash.
    pub(crate) fn of(verifier: &dyn ClientCertVerifier, provider: &CryptoProvider) -> Self {
        let mut id = Self([0; Self::LEN]);
        if !verifier.offer_client_auth() {
            return id;
        }
        let Some(suite) = provider.cipher_suites.first() else {
            return id;
        };
        let mut hash = suite.common().hash_provider.start();
        hash.update(&[
            verifier.client_auth_mandatory().into(),
            verifier.requires_raw_public_keys().into(),
        ]);
        let schemes = verifier.supported_verify_schemes();
        hash.update(&(schemes.len() as u64).to_be_bytes());
        for scheme in schemes {
            hash.update(&u16::from(scheme).to_be_bytes());
        }
        for name in verifier.root_hint_subjects() {
            let name: &[u8] = name.as_ref();
            hash.update(&(name.len() as u64).to_be_bytes());
            hash.update(name);
        }
        // a longer hash is cut
        for (byte, hashed) in id.0.iter_mut().zip(hash.finish().as_ref()) {
            *byte = *hashed;
        }
        id
    }
}

/// Whether `verifier` accepts at the time `now` the certificates that a session was authenticated with, or that there
/// were none: it may not have demanded any when the session began, and have done so when the ticket was made.
///
/// RFC 9846 §4.7.1 recommends to take the certificate's lifetime and its revocation into account; and a
/// verifier may have other roots or other rules than when the session began.
pub(super) fn is_still_accepted(
    chain: &[CertificateDer<'_>],
    verifier: &dyn ClientCertVerifier,
    now: UnixTime,
) -> bool {
    match chain {
        [] => !(verifier.offer_client_auth() && verifier.client_auth_mandatory()),
        [end_entity, intermediates @ ..] => verifier
            .verify_client_cert(end_entity, intermediates, now)
            .is_ok(),
    }
}
