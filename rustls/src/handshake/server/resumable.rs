//! The conditions that both versions share for resuming a session on a server.
//!
//! A resumption skips both certificates. So the session must fit the handshake ([`check_fit`]), and
//! the client must still be accepted ([`accept_client`]).
//!
//! [`check_fit`]: SessionFacts::check_fit
//! [`accept_client`]: SessionFacts::accept_client

use pki_types::{CertificateDer, DnsName, UnixTime};
use smallvec::SmallVec;

use crate::callbacks::Callbacks;
use crate::certificates::EncodedChain;
use crate::config::observer::handshake::NotResumed;
use crate::config::session::client_auth::AcceptedClient;
use crate::config::session::server_auth::ServerAuth;
use crate::config::session::value::{ClientChain, SessionFacts};
use crate::config::session::{Lifetime, MAX_TICKET_LIFETIME};
use crate::config::settings::ServerSettings;
use crate::config::verify::ClientCertVerifier;
use crate::handshake::peer_auth::{ChainCheck, ClientVerifier};

impl SessionFacts<'_> {
    /// Checks that a client that requests `server_name` may resume the session at the time `now`.
    /// `server` is the server's current certificate, and `lifetime` is the lifetime of such
    /// sessions. Does not check the client's certificates.
    ///
    /// # Errors
    ///
    /// Returns the reason if it may not.
    pub(crate) fn check_fit(
        &self,
        config: &ServerSettings,
        server: &ServerAuth<'_>,
        server_name: Option<&DnsName<'_>>,
        lifetime: Lifetime,
        now: UnixTime,
    ) -> Result<(), NotResumed> {
        let age = now.as_secs().abs_diff(self.issued_at);
        let total_age = now.as_secs().abs_diff(self.authenticated_at);
        // RFC 9846 §4.7.1: a ticket is valid for its lifetime at most. If the clock was set back,
        // the issue time may be in the future, which counts as an age, too
        let at_most = |secs: u32| Lifetime {
            promised: secs.min(MAX_TICKET_LIFETIME),
            ..lifetime
        };
        if !at_most(lifetime.promised).allows(age) {
            return Err(NotResumed::Expired);
        }
        // RFC 9846 §4.7.1: renewed tickets should not prolong a session forever
        if !at_most(MAX_TICKET_LIFETIME).allows(total_age) {
            return Err(NotResumed::TooLongAgo);
        }
        // RFC 6066 §3: a session belongs to its server name
        if self.server_name != server_name.map(AsRef::as_ref) {
            return Err(NotResumed::OtherServerName);
        }
        if self.client_auth != config.client_auth() {
            return Err(NotResumed::OtherPolicy);
        }
        if !server.allows_resumption(self.server_auth, server_name) {
            return Err(NotResumed::OtherCertificate);
        }
        Ok(())
    }

    /// Returns the client if its certificates, or their absence, are still accepted at the time
    /// `now`. The verifier may be slow, so callers do this last.
    pub(crate) async fn accept_client(
        &self,
        config: &ServerSettings,
        now: UnixTime,
        callbacks: Callbacks,
    ) -> Option<AcceptedClient> {
        match self.client_chain {
            ClientChain::Encoded(EncodedChain::EMPTY) => accept_anonymous(config.verifier()),
            ClientChain::Shared(chain) => self.accept_chain(chain, config, now, callbacks).await,
            ClientChain::Encoded(chain) => {
                // few chains are longer
                let chain: SmallVec<[CertificateDer<'_>; 4]> =
                    chain.map(CertificateDer::from).collect();
                self.accept_chain(&chain, config, now, callbacks).await
            }
        }
    }

    /// Verifies the client's certificates again, unless the session has an acceptance that holds.
    /// RFC 9846 §4.7.1 recommends respecting their expiry and revocation, and the verifier's roots
    /// and rules may have changed as well.
    async fn accept_chain(
        &self,
        chain: &[CertificateDer<'_>],
        config: &ServerSettings,
        now: UnixTime,
        callbacks: Callbacks,
    ) -> Option<AcceptedClient> {
        let client = ClientVerifier(config.verifier());
        ChainCheck::new(client, &config.verified_chains, callbacks)
            .verify_unless_accepted(chain, self.client_acceptance, now)
            .await
            .ok()
            .map(|acceptance| AcceptedClient { acceptance })
    }
}

/// Accepts an anonymous client unless `verifier` requires a certificate. This does not rely on the
/// comparison of the requirements in [`SessionFacts::check_fit`].
fn accept_anonymous(verifier: &dyn ClientCertVerifier) -> Option<AcceptedClient> {
    let is_mandatory = verifier.offer_client_auth() && verifier.client_auth_mandatory();
    (!is_mandatory).then_some(AcceptedClient { acceptance: None })
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests {
    use alloc::sync::Arc;
    use core::pin::pin;

    use super::*;
    use crate::callbacks::run_sync;
    use crate::config::carrier::HandshakeCarrier;
    use crate::config::session::client_auth::tests::{Settings, config, settings};
    use crate::config::session::value::tests::{facts, no_facts};

    #[test]
    fn an_anonymous_session_is_accepted_unless_clients_must_authenticate() {
        for (offers, is_mandatory, is_accepted) in [
            (true, true, false),
            (true, false, true),
            (false, false, true),
            // clients are not asked for a certificate
            (false, true, true),
        ] {
            let verifier = Settings {
                offers,
                is_mandatory,
                ..settings()
            };
            let config = config(Arc::new(verifier));
            let config = ServerSettings::now(Arc::new(config), HandshakeCarrier::Records).unwrap();
            let now = UnixTime::since_unix_epoch(core::time::Duration::ZERO);
            let accept = |facts: &SessionFacts<'_>| {
                run_sync(pin!(facts.accept_client(&config, now, Callbacks::Sync))).unwrap()
            };
            let client = accept(&no_facts());
            assert_eq!(client.is_some(), is_accepted);
            // the acceptance of an anonymous session is ignored
            let anonymous = SessionFacts {
                client_acceptance: facts().client_acceptance,
                ..no_facts()
            };
            assert!(anonymous.client_acceptance.is_some());
            let client = accept(&anonymous);
            assert_eq!(client.is_some(), is_accepted);
            assert!(client.is_none_or(|client| client.acceptance.is_none()));
            // a chain that the verifier rejects is not accepted
            assert!(accept(&facts()).is_none());
        }
    }
}
