//! The binding of a server's sessions to its client authentication.
//!
//! A resumed session skips the client's certificate. So it is resumed only if the server has the
//! same requirements ([`ClientAuthId`]) and would still accept the certificate
//! ([`is_still_accepted`]). Both also work between processes and machines that share tickets or a
//! storage.

use alloc::sync::Arc;

use pki_types::{CertificateDer, UnixTime};

use super::digests::{DIGEST_LEN, Digest, hash, truncated};
use crate::config::server::ServerConfig;
use crate::config::verify::ClientCertVerifier;

/// A digest of a configuration's requirements on clients: whether they must authenticate, how, and
/// by which authorities.
///
/// Two digests are equal if the settings are. The digest cannot distinguish verifiers that have the
/// same settings but different rules. [`is_still_accepted`] asks the verifier itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientAuthId(pub(crate) Digest);

impl ClientAuthId {
    /// Hashes the settings of `verifier`, which is the current verifier of `config`. The digest is
    /// zero if clients are not asked for a certificate.
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
        // the list may be long, so its digest is cached
        hash.update(&(names.len() as u64).to_be_bytes());
        hash.update(
            &config
                .session_digests
                .of_authorities(verifier, names, provider),
        );
        Self(truncated(&hash.finish()))
    }
}

/// True if `verifier` still accepts the session's client certificates at the time `now`.
///
/// An anonymous session is accepted unless certificates are mandatory. The verifier may have begun
/// to require them between the handshake and the creation of the ticket.
///
/// RFC 9846 §4.7.1 recommends to respect the certificate's expiry and revocation. The verifier's
/// roots and rules may have changed as well.
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
