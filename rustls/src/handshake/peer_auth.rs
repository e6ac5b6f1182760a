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
//! With rules, the signature comes first: if known chains were looked up before the signature is
//! verified, anybody could present a public certificate and measure whether its owner is known. For
//! the same reason, a rejected peer causes the same work whether its chain is known or not. If the
//! signature is invalid, or the chain is for the wrong name (an attacker may relay a handshake to
//! another server), the chain is not looked up but verified in full. If both the chain and the
//! signature are wrong, the chain's error is returned, as it would be if the chain were verified
//! first.
//!
//! The map of known chains never holds long chains. So a server verifies a long client chain on
//! arrival, as if the verifier had no rules. Most clients that send a long chain without having its
//! key are then rejected, and the server need not hold their chains.
//!
//! - [`verifier`]: one interface to the verifiers of both sides.
//! - [`chain_check`]: the calls to a verifier for one chain, and the later use of its verdict.

mod chain_check;
mod verifier;

use core::future::Future;

use pki_types::{CertificateDer, ServerName, UnixTime};
use smallvec::SmallVec;

pub(crate) use self::chain_check::ChainCheck;
use self::chain_check::Verdict;
use self::verifier::PeerVerifier;
pub(crate) use self::verifier::{ClientVerifier, HandshakeSignature, SchemeRules, ServerVerifier};
use crate::callbacks::Callbacks;
use crate::certificates::{
    Acceptance, ChainKind, PeerChain, PeerChains, ValidityPeriod, WaitingChain,
};
use crate::config::session::client::Verification;
use crate::config::settings::{ClientSettings, ServerSettings};
use crate::error::Error;
use crate::failure::Failure;

/// The certificates of a chain, borrowed from its encoded form. Few chains have more than four.
type Certificates<'a> = SmallVec<[CertificateDer<'a>; 4]>;

/// The chain of a peer that has not signed the handshake yet.
pub(crate) struct ReceivedChain {
    chain: WaitingChain,
    /// The verdict on the chain, if it was verified when it arrived.
    verdict: Option<Verdict>,
}

/// The chain of a peer that signed the handshake with the chain's key. The verifier accepts the
/// chain.
#[derive(Debug)]
pub(crate) struct AuthenticatedChain {
    /// The chain, in memory that other connections share.
    pub(crate) chain: PeerChain,
    verdict: Verdict,
}

/// A server that the client has authenticated.
pub(crate) struct AuthenticatedServer {
    /// The server's chain, in memory that other connections share.
    pub(crate) chain: PeerChain,
    /// The time during which sessions may rely on this authentication, if any.
    pub(crate) verification: Option<Verification>,
}

/// Authenticates the server `server_name` by its chain, its stapled `ocsp_response` (empty if there
/// is none), and its `signature`.
pub(crate) async fn authenticate_server(
    chain: &ReceivedChain,
    ocsp_response: &[u8],
    signature: &HandshakeSignature<'_>,
    server_name: &ServerName<'_>,
    config: &ClientSettings,
    callbacks: Callbacks,
) -> Result<AuthenticatedServer, Failure> {
    let verifier = &**config.verifier();
    let server = ServerVerifier {
        verifier,
        server_name,
        ocsp_response,
    };
    let check = ChainCheck::new(server, &config.verified_chains, callbacks);
    let now = || config.current_time();
    let end_entity = chain.end_entity()?;
    let verify_signature = check.verify_signature(signature, &end_entity);
    let AuthenticatedChain { chain, verdict } = chain
        .authenticate(&check, verify_signature, &config.peer_chains, now)
        .await?;
    let verified_at = verdict.verified_at;
    let until = match verdict.until {
        Some(until) => Some(until),
        None if verifier.requires_raw_public_keys() => None,
        // a verifier that accepts expired certificates ignores the time
        None => end_of_validity(&chain).filter(|end| end.as_secs() > verified_at.as_secs()),
    };
    Ok(AuthenticatedServer {
        verification: Verification::new(verified_at, until),
        chain,
    })
}

/// Verifies a client's chain on arrival, unless the verifier has rules and the chain may be known.
/// In that case, the signature is verified first.
///
/// So a client can make the server hold an unverified chain only if the chain is short enough to be
/// known.
pub(crate) async fn receive_client(
    chain: ReceivedChain,
    config: &ServerSettings,
    callbacks: Callbacks,
) -> Result<ReceivedChain, Failure> {
    let may_be_known = config.verified_chains.may_know(chain.chain.der());
    if may_be_known && config.verifier().rules().is_some() {
        return Ok(chain);
    }
    let client = ClientVerifier(config.verifier());
    let check = ChainCheck::new(client, &config.verified_chains, callbacks);
    chain
        .verify_on_arrival(&check, config.current_time()?)
        .await
}

/// Authenticates a client by its `signature`, and by its chain unless [`receive_client`] has
/// already verified it.
pub(crate) async fn authenticate_client(
    chain: &ReceivedChain,
    signature: &HandshakeSignature<'_>,
    config: &ServerSettings,
    callbacks: Callbacks,
) -> Result<AuthenticatedChain, Failure> {
    let client = ClientVerifier(config.verifier());
    let check = ChainCheck::new(client, &config.verified_chains, callbacks);
    let now = || config.current_time();
    let end_entity = chain.end_entity()?;
    let verify_signature = check.verify_signature(signature, &end_entity);
    chain
        .authenticate(&check, verify_signature, &config.peer_chains, now)
        .await
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

    /// Returns the certificate whose key signs the handshake.
    fn end_entity(&self) -> Result<CertificateDer<'_>, Error> {
        self.chain
            .end_entity()
            .ok_or(Error::NoCertificatesPresented)
    }

    /// Verifies the chain when it arrives, before the signature has arrived.
    async fn verify_on_arrival<V: PeerVerifier>(
        self,
        check: &ChainCheck<'_, V>,
        now: UnixTime,
    ) -> Result<Self, Failure> {
        let verdict = {
            let certificates: Certificates<'_> =
                self.chain.der().map(CertificateDer::from).collect();
            check.verify_in_full(&certificates, now).await?
        };
        Ok(Self {
            verdict: Some(verdict),
            ..self
        })
    }

    /// Awaits `verify_signature`, and verifies the chain with `check` unless the chain was verified
    /// when it arrived. `now` reads the clock. `chains` is the map of shared chains.
    async fn authenticate<V: PeerVerifier>(
        &self,
        check: &ChainCheck<'_, V>,
        verify_signature: impl Future<Output = Result<(), Failure>>,
        chains: &PeerChains,
        now: impl Fn() -> Result<UnixTime, Error>,
    ) -> Result<AuthenticatedChain, Failure> {
        let authenticated = |chain, verdict| AuthenticatedChain {
            chain: chains.share(chain),
            verdict,
        };
        if let Some(verdict) = self.verdict {
            verify_signature.await?;
            return Ok(authenticated(self.chain.to_chain(), verdict));
        }
        let time = now()?;
        if !check.has_rules() {
            let chain = self.chain.to_chain();
            let verdict = check.verify_in_full(&chain, time).await?;
            verify_signature.await?;
            return Ok(authenticated(chain, verdict));
        }
        let signature = verify_signature.await;
        let chain = self.chain.to_chain();
        let time = match check.callbacks {
            Callbacks::Sync => time,
            // time may have passed while the signature was verified
            Callbacks::Async => now()?,
        };
        if signature.is_ok() && check.still_accepts(&chain, time) {
            if let Some(verdict) = check.find_known(&chain, time) {
                return Ok(authenticated(chain, verdict));
            }
        }
        let verdict = check.verify_in_full(&chain, time).await?;
        signature?;
        let authenticated = authenticated(chain, verdict);
        check.remember(&authenticated);
        Ok(authenticated)
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
