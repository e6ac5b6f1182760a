//! The verification of a peer's chain, in full or by an earlier acceptance, and its order with the
//! verification of the handshake's signature.
//!
//! ```text
//!   the verifier states no rules         it states rules
//!
//!     verify the chain in full             verify the signature
//!     verify the signature                   │ valid                 │ invalid
//!                                            ▼                       ▼
//!                                          is the name valid? ─────► verify the chain in full
//!                                            │ yes              no ▲  │
//!                                            ▼                     │  ▼
//!                                          is an acceptance known? ┘ keep its acceptance, if the
//!                                            │ yes              no    signature is valid
//!                                            ▼
//!                                          accepted
//! ```
//!
//! With rules, the signature comes first: a lookup before it would show to anybody who presents a
//! public certificate if its owner is known. For the same reason, a peer that is refused causes the
//! same work whether it is known or not: with an invalid signature, or a valid one for another name
//! (an attacker may relay a handshake to another server), the chain is not looked up, but verified
//! in full. Its error comes before that of the signature, as in the other order.
//!
//! A client's chain that is too long to be remembered is never known. So a server verifies it on
//! arrival, as if the verifier had no rules. Most clients that send a long chain without its key
//! are then rejected, and the server need not hold their chains.

use core::future::Future;

use pki_types::{CertificateDer, ServerName, UnixTime};
use smallvec::SmallVec;

use super::{
    ClientCertVerified, ClientCertVerifier, Proof, ServerCertVerified, ServerCertVerifier,
    VerifierRules,
};
use crate::asking::Asking;
use crate::certificates::{
    Acceptance, Basis, ChainKind, PeerChain, PeerChains, VerifiedChains, WaitingChain,
};
use crate::enums::Side;
use crate::error::Error;
use crate::failure::Failure;

/// The verification of a chain by the verifier of one handshake.
#[derive(Clone)]
pub(crate) struct ChainCheck<V> {
    by: V,
    asking: Asking,
    /// The verifier's side and rules. `None` if it has no rules, or acceptances must not be relied
    /// on.
    basis: Option<Basis>,
    now: UnixTime,
}

/// The certificates of a chain, borrowed from its encoded form. Few chains have more than four.
type Certificates<'a> = SmallVec<[CertificateDer<'a>; 4]>;

/// A verifier with the arguments of one handshake, apart from the chain.
pub(crate) trait VerifiesChain: Send + Sync {
    /// The side of the peer.
    const PEER: Side;

    fn rules(&self) -> Option<VerifierRules>;

    /// Verifies the chain in full.
    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        asking: Asking,
    ) -> impl Future<Output = Result<Proof, Error>> + Send;

    /// Checks what an acceptance of the chain does not prove. False asks for a verification in
    /// full.
    fn recheck(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool;
}

/// The verification of a server by a client.
#[derive(Clone)]
pub(crate) struct OfServer<'a> {
    pub(crate) verifier: &'a dyn ServerCertVerifier,
    pub(crate) server_name: &'a ServerName<'a>,
    pub(crate) ocsp_response: &'a [u8],
}

/// The verification of a client by a server.
#[derive(Clone)]
pub(crate) struct OfClient<'a>(pub(crate) &'a dyn ClientCertVerifier);

/// A peer's chain before its signature.
pub(crate) struct UnprovenChain {
    chain: WaitingChain,
    /// The verdict if the chain was verified before its peer's signature.
    verdict: Option<Verdict>,
}

/// The acceptance of a chain by the verifier of this handshake.
#[derive(Clone, Copy)]
struct Verdict {
    acceptance: Option<Acceptance>,
    until: Option<UnixTime>,
}

/// The chain of a peer that has signed the handshake with its key.
#[derive(Debug)]
pub(crate) struct ProvenChain {
    /// The chain, in memory shared with other connections.
    pub(crate) chain: PeerChain,
    pub(crate) acceptance: Option<Acceptance>,
    /// The first time at which the verdict may change, if the verifier knows it.
    pub(crate) until: Option<UnixTime>,
}

impl<V: VerifiesChain> ChainCheck<V> {
    /// Creates the verification at the time `now`. `known` holds acceptances of earlier handshakes.
    pub(crate) fn new(by: V, known: &VerifiedChains, now: UnixTime, asking: Asking) -> Self {
        let rules = known.is_enabled().then(|| by.rules()).flatten();
        Self {
            basis: rules.map(|rules| Basis {
                peer: V::PEER,
                rules,
            }),
            by,
            asking,
            now,
        }
    }

    async fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<Proof, Failure> {
        let (end_entity, intermediates) = split(chain)?;
        self.by
            .verify(end_entity, intermediates, self.now, self.asking)
            .await
            .map_err(Failure::rejected_by_verifier)
    }

    /// True if the verifier accepts the chain, provided that it has accepted it before.
    fn recheck(&self, chain: &[CertificateDer<'_>]) -> bool {
        let recheck = |(end_entity, intermediates)| {
            let now = self.now;
            self.by.recheck(end_entity, intermediates, now)
        };
        split(chain).is_ok_and(recheck)
    }

    fn verdict(&self, proof: &Proof) -> Verdict {
        Verdict {
            acceptance: self.acceptance(proof),
            until: self.until(proof),
        }
    }

    fn acceptance(&self, proof: &Proof) -> Option<Acceptance> {
        // a wrapper may pass on the proof of a verifier with other rules
        let basis = self
            .basis
            .filter(|basis| proof.rules() == Some(basis.rules))?;
        Acceptance::new(basis, self.now, proof.until?)
    }

    /// Returns the first time at which the verdict may change, if the verifier knows it.
    ///
    /// A wrapper without rules may have verified at a time other than the clock's. Its proof is
    /// that of the inner verifier, whose end may be past.
    fn until(&self, proof: &Proof) -> Option<UnixTime> {
        let is_future = |until: &UnixTime| until.as_secs() > self.now.as_secs();
        let is_own = || {
            let own = self.by.rules();
            own.is_some() && own == proof.rules()
        };
        proof.until.filter(|until| is_future(until) || is_own())
    }

    /// Verifies the chain of a session that contains `acceptance`. Returns the acceptance for the
    /// next session.
    pub(crate) async fn verify_again(
        &self,
        chain: &[CertificateDer<'_>],
        acceptance: Option<Acceptance>,
    ) -> Result<Option<Acceptance>, Failure> {
        let holds = |acceptance: &Acceptance| {
            let by_us = |basis| acceptance.holds_in_session(basis, self.now);
            self.basis.is_some_and(by_us)
        };
        if let Some(acceptance) = acceptance.filter(holds) {
            if self.recheck(chain) {
                return Ok(Some(acceptance));
            }
        }
        let proof = self.verify(chain).await?;
        Ok(self.acceptance(&proof))
    }
}

impl UnprovenChain {
    /// Copies the chain of a message, end entity first. It is not verified yet.
    pub(crate) fn copy<'a>(
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Self {
        Self {
            chain: WaitingChain::copy(kind, certificates),
            verdict: None,
        }
    }

    /// True if an earlier handshake may have put the chain into `known`.
    pub(crate) fn may_be_in(&self, known: &VerifiedChains) -> bool {
        known.may_know(self.chain.der())
    }

    /// Verifies the chain before the signature.
    pub(crate) async fn verify<V: VerifiesChain>(
        self,
        check: &ChainCheck<V>,
    ) -> Result<Self, Failure> {
        let certificates: Certificates<'_> = self.chain.der().map(CertificateDer::from).collect();
        let proof = check.verify(&certificates).await?;
        let verdict = Some(check.verdict(&proof));
        drop(certificates);
        Ok(Self { verdict, ..self })
    }

    /// Returns the certificate whose key signs the handshake.
    pub(crate) fn end_entity(&self) -> Result<CertificateDer<'_>, Error> {
        self.chain
            .end_entity()
            .ok_or(Error::NoCertificatesPresented)
    }

    /// Verifies the signature with `verify_signature`, and the chain by `new_check` if that has not
    /// happened yet.
    ///
    /// `chains` shares the chain once it is proven. `known` provides and receives acceptances.
    pub(crate) async fn prove<V: VerifiesChain>(
        &self,
        new_check: impl Fn() -> Result<ChainCheck<V>, Error>,
        chains: &PeerChains,
        known: &VerifiedChains,
        verify_signature: impl Future<Output = Result<(), Failure>>,
    ) -> Result<ProvenChain, Failure> {
        self.end_entity()?;
        if let Some(verdict) = self.verdict {
            verify_signature.await?;
            return Ok(verdict.of(chains.share(self.chain.to_chain())));
        }
        let mut check = new_check()?;
        if check.basis.is_none() {
            let chain = self.chain.to_chain();
            let proof = check.verify(&chain).await?;
            verify_signature.await?;
            return Ok(check.verdict(&proof).of(chains.share(chain)));
        }
        let signature = verify_signature.await;
        let chain = self.chain.to_chain();
        if check.asking == Asking::MayWait {
            // the signature may have taken time
            check = new_check()?;
        }
        if signature.is_ok() && check.recheck(&chain) {
            let find = |basis| known.find(basis, &chain, check.now);
            if let Some(acceptance) = check.basis.and_then(find) {
                let verdict = Verdict {
                    acceptance: Some(acceptance),
                    until: Some(acceptance.until()),
                };
                return Ok(verdict.of(chains.share(chain)));
            }
        }
        let proof = check.verify(&chain).await?;
        signature?;
        let chain = chains.share(chain);
        let verdict = check.verdict(&proof);
        if let Some(acceptance) = verdict.acceptance {
            known.keep(&chain, acceptance);
        }
        Ok(verdict.of(chain))
    }
}

impl Verdict {
    /// Returns the result for `chain`, once its peer's signature is verified.
    fn of(self, chain: PeerChain) -> ProvenChain {
        ProvenChain {
            chain,
            acceptance: self.acceptance,
            until: self.until,
        }
    }
}

impl VerifiesChain for OfServer<'_> {
    const PEER: Side = Side::Server;

    fn rules(&self) -> Option<VerifierRules> {
        self.verifier.rules()
    }

    async fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        asking: Asking,
    ) -> Result<Proof, Error> {
        let Self {
            verifier,
            server_name,
            ocsp_response,
        } = *self;
        let ServerCertVerified(proof) = asking
            .ask(
                || {
                    verifier.verify_server_cert_async(
                        end_entity,
                        intermediates,
                        server_name,
                        ocsp_response,
                        now,
                    )
                },
                || {
                    verifier.verify_server_cert(
                        end_entity,
                        intermediates,
                        server_name,
                        ocsp_response,
                        now,
                    )
                },
            )
            .await?;
        Ok(proof)
    }

    fn recheck(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool {
        self.verifier.recheck_server_cert(
            end_entity,
            intermediates,
            self.server_name,
            self.ocsp_response,
            now,
        )
    }
}

impl VerifiesChain for OfClient<'_> {
    const PEER: Side = Side::Client;

    fn rules(&self) -> Option<VerifierRules> {
        self.0.rules()
    }

    async fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        asking: Asking,
    ) -> Result<Proof, Error> {
        let Self(verifier) = self;
        let ClientCertVerified(proof) = asking
            .ask(
                || verifier.verify_client_cert_async(end_entity, intermediates, now),
                || verifier.verify_client_cert(end_entity, intermediates, now),
            )
            .await?;
        Ok(proof)
    }

    fn recheck(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool {
        self.0.recheck_client_cert(end_entity, intermediates, now)
    }
}

/// Returns the end-entity certificate and the others.
fn split<'a, 'b>(
    chain: &'a [CertificateDer<'b>],
) -> Result<(&'a CertificateDer<'b>, &'a [CertificateDer<'b>]), Error> {
    chain.split_first().ok_or(Error::NoCertificatesPresented)
}

#[cfg(test)]
mod tests;
