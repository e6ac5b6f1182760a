//! The client's half of the key exchange (RFC 5246 §7.4.7, RFC 8422 §5.7), and the master secret.

use alloc::boxed::Box;

use rustls_core::crypto::{ActiveKeyExchange, SupportedKxGroup};

use super::State;
use super::finished::WaitChangeCipherSpec;
use super::handshake::Handshake;
use super::hello::Kind;
use crate::config::settings::ServerSettings;
use crate::enums::KeyExchangeAlgorithm;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::ffdhe::check_public_value;
use crate::handshake::peer_auth::ReceivedChain;
use crate::keys::tls12::MasterSecret;
use crate::msgs::tls12::key_exchange::ClientKeyExchange;

pub(crate) struct WaitClientKeyExchange {
    pub(super) handshake: Handshake,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The server's half of the exchange.
    pub(super) kx: Box<dyn ActiveKeyExchange>,
    /// The client's chain, not empty. The client has not proven possession of its key yet.
    pub(super) peer_chain: Option<ReceivedChain>,
}

impl AsRef<ServerSettings> for WaitClientKeyExchange {
    fn as_ref(&self) -> &ServerSettings {
        &self.handshake.config
    }
}

impl WaitClientKeyExchange {
    /// Returns the key exchange algorithm, which determines the format of the message.
    pub(super) fn algorithm(&self) -> KeyExchangeAlgorithm {
        self.handshake.suite.kx
    }

    pub(super) fn read_client_key_exchange(
        self,
        exchange: &ClientKeyExchange<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            mut handshake,
            group,
            kx,
            peer_chain,
        } = self;
        if let Some(finite) = kx.ffdhe_group() {
            check_public_value(&finite, exchange.public)?;
        }
        handshake.transcript.add(encoded);
        // RFC 7627 §3: the session hash ends with the ClientKeyExchange
        let session_hash = handshake
            .is_extended
            .then(|| handshake.transcript.current());
        let master_secret = MasterSecret::new(
            handshake.suite,
            kx,
            exchange.public,
            handshake.randoms,
            session_hash,
        )?;
        handshake.log(&master_secret);

        // RFC 5246 §7.4.7: the client uses the group only now
        cx.negotiated.kx_group = Some(group);

        let next = Box::new(WaitChangeCipherSpec {
            handshake,
            keys: master_secret.key_block(),
            master_secret,
            kind: Kind::Full,
        });
        Ok(match peer_chain {
            Some(peer_chain) => State::wait_certificate_verify(next, peer_chain),
            None => State::WaitChangeCipherSpec(next),
        })
    }
}
