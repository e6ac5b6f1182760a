//! The client's change_cipher_spec and Finished (RFC 5246 §7.1, §7.4.9): the end of the handshake.

use alloc::boxed::Box;

use super::handshake::Handshake;
use super::hello::Kind;
use crate::enums::Side;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::established::Established;
use crate::handshake::finished::check_finished;
use crate::keys::tls12::{KeyBlock, MasterSecret};
use crate::msgs::Finished;

/// Waits for the client's change_cipher_spec.
pub(crate) struct WaitChangeCipherSpec {
    pub(super) handshake: Handshake,
    pub(super) master_secret: MasterSecret,
    pub(super) keys: KeyBlock,
    pub(super) kind: Kind,
}

impl WaitChangeCipherSpec {
    pub(super) fn read_change_cipher_spec(
        self,
        cx: &mut ServerContext<'_>,
    ) -> Result<Box<WaitFinished>, Failure> {
        cx.transport
            .change_receiving_cipher(&self.keys, Side::Client)?;
        Ok(Box::new(WaitFinished(self)))
    }
}

/// Waits for the client's Finished, the first message under its new keys.
pub(crate) struct WaitFinished(WaitChangeCipherSpec);

impl WaitFinished {
    pub(super) fn read_finished(
        self,
        finished: &Finished<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Failure> {
        let WaitChangeCipherSpec {
            mut handshake,
            master_secret,
            keys,
            kind,
        } = self.0;
        let transcript = handshake.transcript.current();
        check_finished(
            &master_secret.verify_data(Side::Client, transcript),
            finished,
        )?;
        cx.transport.check_aligned()?;
        cx.negotiated.prove_peer();

        match kind {
            Kind::Full => {
                handshake.transcript.add(encoded);
                handshake.store_session(&master_secret, cx);
                handshake.send_finished(&master_secret, &keys, cx)?;
            }
            Kind::Abbreviated => cx.negotiated.share_peer(&handshake.config.peer_chains),
        }
        *cx.established = Some(Established::Tls12(Box::new(master_secret)));
        cx.transport.start_receiving();
        cx.transport.start_sending();
        *cx.session = handshake.into_stored_session();
        Ok(())
    }
}
