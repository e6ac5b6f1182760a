//! The client's change_cipher_spec and Finished (RFC 5246 §7.1, §7.4.9): the end of the handshake.

use alloc::boxed::Box;

use super::State;
use super::handshake::Handshake;
use super::hello::Kind;
use crate::config::settings::ServerSettings;
use crate::enums::Side;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::established::Established;
use crate::handshake::finished::check_finished;
use crate::handshake::wait::Opens;
use crate::keys::tls12::{KeyBlock, MasterSecret};
use crate::msgs::Finished;

pub(crate) struct WaitChangeCipherSpec {
    pub(super) handshake: Handshake,
    pub(super) master_secret: MasterSecret,
    pub(super) keys: KeyBlock,
    pub(super) kind: Kind,
}

impl AsRef<ServerSettings> for WaitChangeCipherSpec {
    fn as_ref(&self) -> &ServerSettings {
        &self.handshake.config
    }
}

impl WaitChangeCipherSpec {
    pub(super) fn read_change_cipher_spec(
        self: Box<Self>,
        cx: &mut ServerContext<'_>,
    ) -> Result<WaitFinished, Failure> {
        cx.transport
            .change_receiving_cipher(&self.keys, Side::Client)?;
        Ok(WaitFinished(self))
    }
}

/// Waits for the client's Finished, the first message under its new keys.
pub(crate) struct WaitFinished(Box<WaitChangeCipherSpec>);

impl WaitFinished {
    pub(super) fn read_finished(
        self,
        finished: &Finished<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self(mut last) = self;
        let WaitChangeCipherSpec {
            handshake,
            master_secret,
            keys,
            kind,
        } = &mut *last;
        let transcript = handshake.transcript.current();
        let expected = keys.received_verify_data(Side::Client, transcript);
        check_finished(&expected, finished)?;
        cx.transport.check_aligned()?;
        cx.negotiated.prove_peer();
        *cx.session = handshake.stored_session();

        match kind {
            Kind::Full => {
                handshake.transcript.add(encoded);
                let session = handshake.session_to_store(master_secret, cx);
                last.finish(session, Opens::Nothing, Self::connect, cx)
            }
            Kind::Abbreviated => {
                cx.negotiated.share_peer(&handshake.config.peer_chains);
                Self::connect(last, cx)
            }
        }
    }

    fn connect(
        last: Box<WaitChangeCipherSpec>,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        *cx.established = Some(Established::Tls12(Box::new(last.master_secret)));
        cx.transport.start_receiving();
        cx.transport.start_sending();
        Ok(State::Connected)
    }
}
