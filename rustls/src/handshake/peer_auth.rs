//! The authentication of a peer by its certificates and its signature: the order of the checks, and
//! when the application's verifier is called.
//!
//! ```text
//!   the verifier states no rules         it states rules
//!
//!     verify the chain in full             verify the signature
//!     verify the signature                   │ valid                   │ invalid
//!                                            ▼                         │
//!                                  does the verifier still accept      │
//!                                  the chain, for example its name? ───┤
//!                                            │ yes               no    │
//!                                            ▼                         │
//!                                  is an acceptance known? ────────────┤
//!                                            │ yes               no    ▼
//!                                            ▼              verify the chain in full;
//!                                        accepted           keep its acceptance if the
//!                                                           signature is valid
//! ```
//!
//! With rules, the signature comes first, unless the map of known chains is disabled: if known
//! chains were looked up before the signature is verified, anybody could present a public
//! certificate and measure whether its owner is known. For the same reason, a rejected peer causes
//! the same work whether its chain is known or not. If the signature is invalid, or the chain is
//! for the wrong name (an attacker may relay a handshake to another server), the chain is not
//! looked up but verified in full. If both the chain and the signature are wrong, the chain's error
//! is returned, as it would be if the chain were verified first.
//!
//! The map of known chains never holds long chains. So a server verifies a long client chain on
//! arrival, as if the verifier had no rules, and does not hold a long chain that the verifier
//! rejects.
//!
//! A resumption has no signature to verify. A server that resumes a session
//! (`server/resumable.rs`) calls only [`ChainCheck::verify_unless_accepted`], for the client's
//! chain.
//!
//! - [`verifier`]: one interface to the verifiers of both sides.
//! - [`chain_check`]: the calls to a verifier for one chain, and the acceptances that can replace
//!   them.

mod chain_check;
mod verifier;

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use smallvec::SmallVec;

pub(crate) use self::chain_check::ChainCheck;
use self::chain_check::Verdict;
use self::verifier::PeerVerifier;
pub(crate) use self::verifier::{ClientVerifier, HandshakeSignature, SchemeRules, ServerVerifier};
use crate::callbacks::{Callbacks, Called};
use crate::certificates::{
    Acceptance, Basis, ChainKind, PeerChain, PeerChains, ValidityPeriod, VerifiedChains,
    WaitingChain,
};
use crate::config::observer::handshake::{ClientCertificate, PeerChainCheck};
use crate::config::session::client::Verification;
use crate::config::settings::{ClientSettings, ServerSettings};
use crate::config::verify::Proof;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::Context;
use crate::handshake::client::offer::Offer;
use crate::handshake::operation::{self, Operation};
use crate::handshake::wait::{Call, Wait};
use crate::msgs::certificate_verify::DigitallySignedStruct;

/// The certificates of a chain, borrowed from its encoded form. Few chains have more than four.
type Certificates<'a> = SmallVec<[CertificateDer<'a>; 4]>;

/// The chain of a peer that has not been authenticated yet.
pub(crate) struct ReceivedChain {
    chain: WaitingChain,
    /// The verdict on the chain, if it was verified when it arrived.
    verdict: Option<Verdict>,
}

/// The chain of a peer that signed the handshake with the chain's key. The verifier accepts the
/// chain.
#[derive(Debug)]
pub(crate) struct AuthenticatedChain {
    /// The chain, in memory that other connections may share.
    pub(crate) chain: PeerChain,
    verdict: Verdict,
}

/// A server that the client has authenticated.
pub(crate) struct AuthenticatedServer {
    /// The server's chain, in memory that other connections may share.
    pub(crate) chain: PeerChain,
    /// The time during which sessions may rely on this authentication, if any.
    pub(crate) verification: Option<Verification>,
}

/// A peer's signature in the handshake, with the signed bytes.
pub(crate) struct Signature<C> {
    pub(crate) signed: DigitallySignedStruct,
    /// The signed bytes, not yet hashed.
    pub(crate) content: C,
    pub(crate) rules: SchemeRules,
}

impl<C: AsRef<[u8]>> Signature<C> {
    fn borrow(&self) -> HandshakeSignature<'_> {
        HandshakeSignature {
            signed: &self.signed,
            content: self.content.as_ref(),
            rules: self.rules,
        }
    }
}

/// A server that has sent its signature.
pub(crate) struct SignedServer<H, C> {
    /// The client's handshake.
    pub(crate) handshake: Box<H>,
    pub(crate) chain: ReceivedChain,
    /// The stapled OCSP response; empty if there is none.
    pub(crate) ocsp_response: Vec<u8>,
    pub(crate) signature: Signature<C>,
}

/// A client that has sent its signature.
pub(crate) struct SignedClient<H, C> {
    /// The server's handshake.
    pub(crate) handshake: Box<H>,
    pub(crate) chain: ReceivedChain,
    pub(crate) signature: Signature<C>,
}

/// Authenticates a server by its chain, its OCSP response and its signature, and continues with
/// `next`.
pub(crate) fn authenticate_server<H, C, S, Data>(
    server: SignedServer<H, C>,
    cx: &mut Context<'_, Data>,
    next: impl FnOnce(Box<H>, AuthenticatedServer, &mut Context<'_, Data>) -> Result<S, Failure>
    + Send
    + 'static,
) -> Result<S, Failure>
where
    H: AsRef<Offer> + Send + 'static,
    C: AsRef<[u8]> + Send + 'static,
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
{
    authenticate(server, cx, |server, authenticated, cx| {
        cx.negotiated.facts.server_signature = Some(server.signature.signed.scheme);
        let AuthenticatedChain { chain, verdict } = authenticated;
        let verifier = server.config().verifier();
        let verified_at = verdict.verified_at;
        let until = match verdict.until {
            Some(until) => Some(until),
            None if verifier.requires_raw_public_keys() => None,
            // a verifier that accepts expired certificates ignores the time
            None => end_of_validity(&chain).filter(|end| end.as_secs() > verified_at.as_secs()),
        };
        let authenticated = AuthenticatedServer {
            verification: Verification::new(verified_at, until),
            chain,
        };
        next(server.handshake, authenticated, cx)
    })
}

/// Verifies a client's chain on arrival, and continues with `next`. If the verifier has rules and
/// the chain may be known, only continues, because the signature is then verified first.
///
/// So the server waits for the signature with an unverified chain only if the chain is short enough
/// to be known.
pub(crate) fn receive_client<H, S, Data>(
    handshake: Box<H>,
    chain: ReceivedChain,
    cx: &mut Context<'_, Data>,
    next: impl FnOnce(Box<H>, ReceivedChain, &mut Context<'_, Data>) -> Result<S, Failure>
    + Send
    + 'static,
) -> Result<S, Failure>
where
    H: AsRef<ServerSettings> + Send + 'static,
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
{
    cx.negotiated.facts.client_certificate = ClientCertificate::Sent;
    let config = (*handshake).as_ref();
    let may_be_known = config.verified_chains.may_know(chain.chain.der());
    if may_be_known && config.verifier().rules().is_some() {
        return next(handshake, chain, cx);
    }
    let now = config.current_time()?;
    let (callbacks, known) = (cx.callbacks, &config.verified_chains);
    let check = ChainCheck::new(ClientVerifier(config.verifier()), known, callbacks);
    let (called, basis) = (chain.verify_on_arrival(&check, now)?, check.basis);
    let wait = Wait::before_finished(Call::Verification);
    operation::after(called, wait, cx, move |verified, cx| {
        let config = (*handshake).as_ref();
        let (verifier, known) = (ClientVerifier(config.verifier()), &config.verified_chains);
        let check = ChainCheck::continued(verifier, known, basis, callbacks);
        let chain = ReceivedChain {
            verdict: Some(check.verdict(verified, now)?),
            ..chain
        };
        next(handshake, chain, cx)
    })
}

/// Authenticates a client by its signature, and by its chain unless [`receive_client`] has already
/// verified it. Continues with `next`.
pub(crate) fn authenticate_client<H, C, S, Data>(
    client: SignedClient<H, C>,
    cx: &mut Context<'_, Data>,
    next: impl FnOnce(Box<H>, AuthenticatedChain, &mut Context<'_, Data>) -> Result<S, Failure>
    + Send
    + 'static,
) -> Result<S, Failure>
where
    H: AsRef<ServerSettings> + Send + 'static,
    C: AsRef<[u8]> + Send + 'static,
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
{
    authenticate(client, cx, |client, authenticated, cx| {
        cx.negotiated.facts.client_signature = Some(client.signature.signed.scheme);
        next(client.handshake, authenticated, cx)
    })
}

/// A peer that has sent its signature. It owns what the verifier borrows.
trait SignedPeer {
    fn chain(&self) -> &ReceivedChain;

    fn verifier(&self) -> impl PeerVerifier;

    /// Returns the map of known chains.
    fn known(&self) -> &VerifiedChains;

    fn signature(&self) -> HandshakeSignature<'_>;

    /// Reads the clock.
    fn now(&self) -> Result<UnixTime, Error>;

    /// Returns the map of shared chains.
    fn chains(&self) -> &PeerChains;

    /// Calls the verifier to verify the signature with the chain's key.
    fn verify_signature(
        &self,
        check: &ChainCheck<'_, impl PeerVerifier>,
    ) -> Called<Result<(), Failure>> {
        match self.chain().end_entity() {
            Ok(end_entity) => check.verify_signature(&self.signature(), &end_entity),
            Err(error) => Called::Returned(Err(error.into())),
        }
    }
}

impl<H: AsRef<Offer>, C> SignedServer<H, C> {
    fn config(&self) -> &ClientSettings {
        &(*self.handshake).as_ref().config
    }
}

impl<H, C> SignedPeer for SignedServer<H, C>
where
    H: AsRef<Offer>,
    C: AsRef<[u8]>,
{
    fn chain(&self) -> &ReceivedChain {
        &self.chain
    }

    fn verifier(&self) -> impl PeerVerifier {
        ServerVerifier {
            verifier: &**self.config().verifier(),
            server_name: &(*self.handshake).as_ref().server_name,
            ocsp_response: &self.ocsp_response,
        }
    }

    fn known(&self) -> &VerifiedChains {
        &self.config().verified_chains
    }

    fn signature(&self) -> HandshakeSignature<'_> {
        self.signature.borrow()
    }

    fn now(&self) -> Result<UnixTime, Error> {
        self.config().current_time()
    }

    fn chains(&self) -> &PeerChains {
        &self.config().peer_chains
    }
}

impl<H, C> SignedPeer for SignedClient<H, C>
where
    H: AsRef<ServerSettings>,
    C: AsRef<[u8]>,
{
    fn chain(&self) -> &ReceivedChain {
        &self.chain
    }

    fn verifier(&self) -> impl PeerVerifier {
        ClientVerifier((*self.handshake).as_ref().verifier())
    }

    fn known(&self) -> &VerifiedChains {
        &(*self.handshake).as_ref().verified_chains
    }

    fn signature(&self) -> HandshakeSignature<'_> {
        self.signature.borrow()
    }

    fn now(&self) -> Result<UnixTime, Error> {
        (*self.handshake).as_ref().current_time()
    }

    fn chains(&self) -> &PeerChains {
        &(*self.handshake).as_ref().peer_chains
    }
}

/// Authenticates `peer`, and continues with `next`.
fn authenticate<P, S, Data>(
    peer: P,
    cx: &mut Context<'_, Data>,
    next: impl FnOnce(P, AuthenticatedChain, &mut Context<'_, Data>) -> Result<S, Failure>
    + Send
    + 'static,
) -> Result<S, Failure>
where
    P: SignedPeer + Send + 'static,
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
{
    let callbacks = cx.callbacks;
    let step = Step::first(&peer, callbacks)?;
    proceed(peer, step, callbacks, cx, next)
}

/// Waits for the verifier call of `step`, and makes the calls of all steps after it.
fn proceed<P, S, Data>(
    peer: P,
    step: Step,
    callbacks: Callbacks,
    cx: &mut Context<'_, Data>,
    next: impl FnOnce(P, AuthenticatedChain, &mut Context<'_, Data>) -> Result<S, Failure>
    + Send
    + 'static,
) -> Result<S, Failure>
where
    P: SignedPeer + Send + 'static,
    S: From<Operation<S, Data>> + 'static,
    Data: 'static,
{
    let wait = Wait::before_finished(Call::Verification);
    match step {
        Step::Chain(called, then) => operation::after(called, wait, cx, move |verified, cx| {
            let step = then.step(verified, &peer, callbacks)?;
            proceed(peer, step, callbacks, cx, next)
        }),
        Step::Signature(called, then) => operation::after(called, wait, cx, move |valid, cx| {
            let step = then.step(valid, &peer, callbacks)?;
            proceed(peer, step, callbacks, cx, next)
        }),
        Step::Authenticated(chain) => {
            cx.negotiated.facts.peer_chain = match chain.verdict.is_known {
                true => PeerChainCheck::Known,
                false => PeerChainCheck::Verified,
            };
            next(peer, chain, cx)
        }
    }
}

/// The next call of the verifier, and the work that follows it. Once no call is left, the
/// authenticated chain.
enum Step {
    Chain(Called<Result<Proof, Error>>, AfterChain),
    Signature(Called<Result<(), Failure>>, AfterSignature),
    Authenticated(AuthenticatedChain),
}

/// The work that follows the verification of the chain.
struct AfterChain {
    basis: Option<Basis>,
    chain: PeerChain,
    now: UnixTime,
    /// The result of the verification of the signature, if it came first.
    signature: Option<Result<(), Failure>>,
}

/// The work that follows the verification of the signature.
enum AfterSignature {
    /// The chain has not been verified. The clock is read again if the call was pending.
    First {
        basis: Option<Basis>,
        now: Option<UnixTime>,
    },
    /// The chain has been verified, possibly when it arrived.
    Last {
        chain: Option<PeerChain>,
        verdict: Verdict,
    },
}

impl Step {
    fn first(peer: &impl SignedPeer, callbacks: Callbacks) -> Result<Self, Failure> {
        let check = ChainCheck::new(peer.verifier(), peer.known(), callbacks);
        if let Some(verdict) = peer.chain().verdict {
            let called = peer.verify_signature(&check);
            let chain = None;
            return Ok(Self::Signature(
                called,
                AfterSignature::Last { chain, verdict },
            ));
        }
        let now = peer.now()?;
        if check.has_rules() {
            let called = peer.verify_signature(&check);
            let now = matches!(called, Called::Returned(_)).then_some(now);
            return Ok(Self::Signature(
                called,
                AfterSignature::First {
                    basis: check.basis,
                    now,
                },
            ));
        }
        let chain = peer.chain().chain.to_chain();
        Self::verify_chain(chain, now, None, &check)
    }

    /// Calls the verifier to verify the chain in full.
    fn verify_chain(
        chain: PeerChain,
        now: UnixTime,
        signature: Option<Result<(), Failure>>,
        check: &ChainCheck<'_, impl PeerVerifier>,
    ) -> Result<Self, Failure> {
        let called = check.verify_in_full(&chain, now)?;
        let then = AfterChain {
            basis: check.basis,
            chain,
            now,
            signature,
        };
        Ok(Self::Chain(called, then))
    }
}

impl AfterChain {
    fn step(
        self,
        verified: Result<Proof, Error>,
        peer: &impl SignedPeer,
        callbacks: Callbacks,
    ) -> Result<Step, Failure> {
        let Self {
            basis,
            chain,
            now,
            signature,
        } = self;
        let check = ChainCheck::continued(peer.verifier(), peer.known(), basis, callbacks);
        let verdict = check.verdict(verified, now)?;
        let Some(signature) = signature else {
            let called = peer.verify_signature(&check);
            let chain = Some(chain);
            return Ok(Step::Signature(
                called,
                AfterSignature::Last { chain, verdict },
            ));
        };
        signature?;
        let chain = peer.chains().share(chain);
        let authenticated = AuthenticatedChain { chain, verdict };
        check.remember(&authenticated);
        Ok(Step::Authenticated(authenticated))
    }
}

impl AfterSignature {
    fn step(
        self,
        signature: Result<(), Failure>,
        peer: &impl SignedPeer,
        callbacks: Callbacks,
    ) -> Result<Step, Failure> {
        let to_chain = || peer.chain().chain.to_chain();
        let (basis, now) = match self {
            Self::First { basis, now } => (basis, now),
            Self::Last { chain, verdict } => {
                signature?;
                let chain = peer.chains().share(chain.unwrap_or_else(to_chain));
                return Ok(Step::Authenticated(AuthenticatedChain { chain, verdict }));
            }
        };
        let check = ChainCheck::continued(peer.verifier(), peer.known(), basis, callbacks);
        let chain = to_chain();
        let now = match now {
            Some(now) => now,
            // time may have passed while the signature was verified
            None => peer.now()?,
        };
        if signature.is_ok() && check.still_accepts(&chain, now) {
            if let Some(verdict) = check.find_known(&chain, now) {
                let chain = peer.chains().share(chain);
                return Ok(Step::Authenticated(AuthenticatedChain { chain, verdict }));
            }
        }
        Step::verify_chain(chain, now, Some(signature), &check)
    }
}

impl ReceivedChain {
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

    /// Calls the verifier to verify the chain when it arrives, before the signature has arrived.
    fn verify_on_arrival(
        &self,
        check: &ChainCheck<'_, impl PeerVerifier>,
        now: UnixTime,
    ) -> Result<Called<Result<Proof, Error>>, Error> {
        let certificates: Certificates<'_> = self.chain.der().map(CertificateDer::from).collect();
        check.verify_in_full(&certificates, now)
    }

    /// Returns the certificate whose key signs the handshake.
    fn end_entity(&self) -> Result<CertificateDer<'_>, Error> {
        self.chain
            .end_entity()
            .ok_or(Error::NoCertificatesPresented)
    }
}

impl AuthenticatedChain {
    /// Returns the acceptance of the chain, on which this connection's sessions rely.
    pub(crate) fn acceptance(&self) -> Option<Acceptance> {
        self.verdict.acceptance
    }
}

/// Returns the first second after the validity of the end-entity certificate.
fn end_of_validity(chain: &PeerChain) -> Option<UnixTime> {
    Some(ValidityPeriod::read(chain.first()?)?.end())
}

#[cfg(test)]
mod tests;
