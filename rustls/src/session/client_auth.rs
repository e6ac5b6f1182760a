//! What ties a server's sessions to the way in which its configuration authenticates clients.
//!
//! A resumed session skips the client's certificate. So it is only resumed where clients would be asked for
//! the same ([`ClientAuthId`]) and the certificate would still be accepted ([`is_still_accepted`]). Both hold
//! between processes and machines that share tickets or a storage.

use alloc::sync::Arc;

use pki_types::{CertificateDer, UnixTime};

use super::digests::{DIGEST_LEN, Digest, cut, hash};
use crate::server::ServerConfig;
use crate::verify::ClientCertVerifier;

/// What a configuration asks of clients, in short: whether they must authenticate, how, and by which
/// authorities.
///
/// Two of them are equal if the settings are. Verifiers that say the same of themselves and judge
/// differently are not told apart by it; for that, [`is_still_accepted`] asks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientAuthId(pub(crate) Digest);

impl ClientAuthId {
    /// Hashes the answers of `verifier`, which a handshake under `config` goes by. Where clients are not asked there is
    /// nothing to hash.
    pub(crate) fn of(verifier: &Arc<dyn ClientCertVerifier>, config: &ServerConfig) -> Self {
        let provider = &config.provider;
        let none = Self([0; DIGEST_LEN]);
        if !verifier.offer_client_auth() {
            return none;
        }
        let Some(hash) = hash(provider) else {
            return none;
        };
        let mut hash = hash.start();
        hash.update(&[
            verifier.client_auth_mandatory().into(),
            verifier.requires_raw_public_keys().into(),
        ]);
        let schemes = verifier.supported_verify_schemes();
        hash.update(&(schemes.len() as u64).to_be_bytes());
        for scheme in schemes {
            hash.update(&u16::from(scheme).to_be_bytes());
        }
        let names = verifier.root_hint_subjects();
        // there may be many: their digest is kept
        hash.update(&(names.len() as u64).to_be_bytes());
        hash.update(
            &config
                .session_digests
                .of_authorities(verifier, names, provider),
        );
        Self(cut(&hash.finish()))
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
