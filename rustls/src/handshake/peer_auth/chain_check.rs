//! The calls to a verifier for one chain, and the acceptances that can replace full verification.

use pki_types::{CertificateDer, UnixTime};

use super::AuthenticatedChain;
use super::verifier::{HandshakeSignature, PeerVerifier};
use crate::callbacks::{Callbacks, Called};
use crate::certificates::{Acceptance, Basis, PeerChain, VerifiedChains};
use crate::config::verify::Proof;
use crate::error::Error;
use crate::failure::Failure;

/// A verifier with the arguments of one handshake, and the acceptances that it may rely on.
pub(crate) struct ChainCheck<'a, V> {
    verifier: V,
    known: &'a VerifiedChains,
    /// The peer's side and the verifier's rules. `None` if the verifier has no rules, or if no
    /// acceptance may be relied on.
    pub(super) basis: Option<Basis>,
    callbacks: Callbacks,
}

/// The verifier's acceptance of a chain in this handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) verified_at: UnixTime,
    /// The acceptance to keep for later handshakes, if verifiers with equal rules may rely on it.
    pub(super) acceptance: Option<Acceptance>,
    /// The first time at which the verdict may change, if the verifier knows it.
    pub(super) until: Option<UnixTime>,
    /// True if the acceptance from an earlier handshake has replaced full verification.
    pub(super) is_known: bool,
}

impl<'a, V: PeerVerifier> ChainCheck<'a, V> {
    /// Creates a check by `verifier`. `known` holds the acceptances from earlier handshakes.
    pub(crate) fn new(verifier: V, known: &'a VerifiedChains, callbacks: Callbacks) -> Self {
        let rules = known.is_enabled().then(|| verifier.rules()).flatten();
        Self {
            basis: rules.map(|rules| Basis {
                peer: V::PEER,
                rules,
            }),
            verifier,
            known,
            callbacks,
        }
    }

    /// Creates a check by `verifier` that continues an earlier one with this `basis`.
    pub(super) fn continued(
        verifier: V,
        known: &'a VerifiedChains,
        basis: Option<Basis>,
        callbacks: Callbacks,
    ) -> Self {
        Self {
            verifier,
            known,
            basis,
            callbacks,
        }
    }

    /// True if an acceptance may replace full verification.
    pub(super) fn has_rules(&self) -> bool {
        self.basis.is_some()
    }

    /// Calls the verifier to verify the chain in full.
    pub(super) fn verify_in_full(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<Called<Result<Proof, Error>>, Error> {
        let (end_entity, intermediates) = split(chain)?;
        Ok(self
            .verifier
            .verify_chain(end_entity, intermediates, now, self.callbacks))
    }

    /// Returns the verdict that follows from the result of [`verify_in_full`](Self::verify_in_full)
    /// at the time `now`.
    pub(super) fn verdict(
        &self,
        verified: Result<Proof, Error>,
        now: UnixTime,
    ) -> Result<Verdict, Failure> {
        let proof = verified.map_err(Failure::rejected_by_verifier)?;
        Ok(Verdict {
            verified_at: now,
            acceptance: self.acceptance(&proof, now),
            until: self.until(&proof, now),
            is_known: false,
        })
    }

    /// Calls the verifier for the checks that an acceptance does not prove, such as the check of
    /// the server's name. Returns true if a chain that the verifier accepted in an earlier
    /// handshake is still acceptable.
    pub(super) fn still_accepts(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> bool {
        split(chain).is_ok_and(|(end_entity, intermediates)| {
            self.verifier.recheck_chain(end_entity, intermediates, now)
        })
    }

    /// Verifies the chain of a session that is resumed. If the session's `acceptance` holds and the
    /// verifier [still accepts](Self::still_accepts) the chain, that is enough. Otherwise the chain
    /// is verified in full. Returns the acceptance for the next session.
    pub(crate) async fn verify_unless_accepted(
        &self,
        chain: &[CertificateDer<'_>],
        acceptance: Option<Acceptance>,
        now: UnixTime,
    ) -> Result<Option<Acceptance>, Failure> {
        let holds = |acceptance: &Acceptance| {
            self.basis
                .is_some_and(|basis| acceptance.holds_in_session(basis, now))
        };
        if let Some(acceptance) = acceptance.filter(holds) {
            if self.still_accepts(chain, now) {
                return Ok(Some(acceptance));
            }
        }
        let verified = self.verify_in_full(chain, now)?.result().await;
        Ok(self.verdict(verified, now)?.acceptance)
    }

    /// Verifies `signature` with the key of the certificate `end_entity`.
    pub(super) fn verify_signature(
        &self,
        signature: &HandshakeSignature<'_>,
        end_entity: &CertificateDer<'_>,
    ) -> Called<Result<(), Failure>> {
        if let Err(error) = signature.check_scheme(|| self.verifier.supported_schemes()) {
            return Called::Returned(Err(error.into()));
        }
        // RFC 9846 §4.5.2: the signature must be verified
        self.verifier
            .verify_allowed_signature(signature, end_entity, self.callbacks)
            .map(|valid| valid.map(drop).map_err(Failure::rejected_by_verifier))
    }

    /// Looks up the acceptance of `chain` by an earlier handshake. The peer must already have
    /// signed this handshake.
    pub(super) fn find_known(&self, chain: &PeerChain, now: UnixTime) -> Option<Verdict> {
        let acceptance = self.known.find(self.basis?, chain, now)?;
        Some(Verdict {
            verified_at: now,
            acceptance: Some(acceptance),
            until: Some(acceptance.until()),
            is_known: true,
        })
    }

    /// Keeps the acceptance of `peer`, if it has one, for later handshakes.
    pub(super) fn remember(&self, peer: &AuthenticatedChain) {
        if let Some(acceptance) = peer.verdict.acceptance {
            self.known.keep(&peer.chain, acceptance);
        }
    }

    fn acceptance(&self, proof: &Proof, now: UnixTime) -> Option<Acceptance> {
        // a wrapper may pass on the proof of a verifier with different rules
        let basis = self
            .basis
            .filter(|basis| proof.rules() == Some(basis.rules))?;
        Acceptance::new(basis, now, proof.until?)
    }

    /// Returns the first time at which the verdict may change, if the verifier knows it.
    ///
    /// A wrapper without rules may have verified the chain at a time other than the clock's. It
    /// then returns the inner verifier's proof, whose end may be in the past.
    pub(super) fn until(&self, proof: &Proof, now: UnixTime) -> Option<UnixTime> {
        let is_future = |until: &UnixTime| until.as_secs() > now.as_secs();
        let has_rules_of_proof = || {
            let rules = self.verifier.rules();
            rules.is_some() && rules == proof.rules()
        };
        proof
            .until
            .filter(|until| is_future(until) || has_rules_of_proof())
    }
}

/// Returns the end-entity certificate and the other certificates of `chain`.
fn split<'a, 'b>(
    chain: &'a [CertificateDer<'b>],
) -> Result<(&'a CertificateDer<'b>, &'a [CertificateDer<'b>]), Error> {
    chain.split_first().ok_or(Error::NoCertificatesPresented)
}
