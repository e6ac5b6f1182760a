//! The secrets that outlive a handshake, version by version: replacing keys (RFC 9846 §4.7.3), exporting
//! (RFC 9846 §7.5, RFC 5705), and handing the keys themselves out.
//!
//! They are kept next to the sender, so that a write that wears out a key need not call the handshake. The
//! handshake makes them, and installs the first keys itself.

use alloc::vec::Vec;

use super::transport::{Level, Transport};
use crate::crypto::tls13::OkmBlock;
use crate::enums::{KeyUpdateRequest, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::EncodeMessage;
use crate::suites::{ConnectionTrafficSecrets, Tls13CipherSuite};
#[cfg(feature = "tls12")]
use crate::tls12::key_schedule::MasterSecret;
use crate::tls13::key_schedule::{self, TrafficSecret};

/// RFC 9846 §4.7.3: how many times a sender may update its keys.
const MAX_SENDING_UPDATES: u64 = (1 << 48) - 1;

/// Length in bytes of a KeyUpdate message.
pub(crate) const KEY_UPDATE_LEN: usize = 5;

/// What is left of the key schedule once the handshake is complete.
pub(crate) enum Established {
    Tls13(Tls13Secrets),
    #[cfg(feature = "tls12")]
    Tls12(MasterSecret),
}

impl Established {
    /// Whether keys can be replaced. TLS 1.2 would have to renegotiate.
    pub(crate) fn can_refresh(&self) -> bool {
        match self {
            Self::Tls13(_) => true,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => false,
        }
    }

    /// The secrets that a KeyUpdate replaces, if [`Self::can_refresh`].
    pub(crate) fn refreshable(&mut self) -> Option<&mut Tls13Secrets> {
        match self {
            Self::Tls13(secrets) => Some(secrets),
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => None,
        }
    }

    /// The secrets of TLS 1.3.
    pub(super) fn tls13(&self) -> Option<&Tls13Secrets> {
        match self {
            Self::Tls13(secrets) => Some(secrets),
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => None,
        }
    }

    /// True when the peer has requested a KeyUpdate and waits for it. It goes out ahead of whatever is sent
    /// next.
    pub(crate) fn owes_update(&self) -> bool {
        match self {
            Self::Tls13(secrets) => secrets.owes_update,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => false,
        }
    }

    /// Sends the KeyUpdate that [`Self::owes_update`], if any.
    ///
    /// # Errors
    ///
    /// As for [`Transport::send_handshake`].
    pub(crate) fn settle(&mut self, transport: &mut dyn Transport) -> Result<(), Error> {
        match self {
            Self::Tls13(secrets) => secrets.settle(transport),
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => Ok(()),
        }
    }

    /// The keys with which `side` sends and receives.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when the crypto provider does not hand out keys.
    pub(crate) fn extract(
        &self,
        #[cfg_attr(not(feature = "tls12"), allow(unused_variables))]
        // its secrets are by direction
        side: Side,
    ) -> Result<(ConnectionTrafficSecrets, ConnectionTrafficSecrets), Error> {
        match self {
            Self::Tls13(secrets) => {
                let extract = |secret| extract_tls13(secrets.suite, secret);
                Ok((extract(&secrets.sending)?, extract(&secrets.receiving)?))
            }
            #[cfg(feature = "tls12")]
            Self::Tls12(secret) => {
                let keys = secret.key_block();
                Ok((keys.extract_sending(side)?, keys.extract_receiving(side)?))
            }
        }
    }

    /// Switches to the next sending keys without telling the peer, and returns them.
    ///
    /// # Errors
    ///
    /// [`Error::General`] in TLS 1.2, and when there can be no more updates; as for [`Self::extract`].
    pub(crate) fn update_extracted_sending(&mut self) -> Result<ConnectionTrafficSecrets, Error> {
        let secrets = self.tls13_secrets()?;
        // RFC 9846 §4.7.3: the number of updates is limited
        if secrets.sending_updates >= MAX_SENDING_UPDATES {
            return Err(Error::General("the keys can be updated no more".into()));
        }
        secrets.sending_updates += 1;
        secrets.sending =
            key_schedule::next_application_traffic_secret(secrets.suite, &secrets.sending);
        extract_tls13(secrets.suite, &secrets.sending)
    }

    /// Switches to the peer's next keys, and returns them.
    ///
    /// # Errors
    ///
    /// [`Error::General`] in TLS 1.2; as for [`Self::extract`].
    pub(crate) fn update_extracted_receiving(&mut self) -> Result<ConnectionTrafficSecrets, Error> {
        let secrets = self.tls13_secrets()?;
        secrets.receiving =
            key_schedule::next_application_traffic_secret(secrets.suite, &secrets.receiving);
        extract_tls13(secrets.suite, &secrets.receiving)
    }

    fn tls13_secrets(&mut self) -> Result<&mut Tls13Secrets, Error> {
        self.refreshable().ok_or_else(|| {
            Error::General("TLS 1.2 connections do not support traffic secret updates".into())
        })
    }

    /// Fills `output` with keying material.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `output` is empty or too long, or `label` is; in TLS 1.2, when `context` is,
    /// or the peer does not support the extended master secret.
    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        if output.is_empty() {
            return Err(Error::General(
                "no keying material is asked for: the output is empty".into(),
            ));
        }
        match self {
            Self::Tls13(secrets) => secrets.export_keying_material(output, label, context),
            #[cfg(feature = "tls12")]
            Self::Tls12(secret) => secret.export(output, label, context),
        }
    }
}

fn extract_tls13(
    suite: &'static Tls13CipherSuite,
    secret: &OkmBlock,
) -> Result<ConnectionTrafficSecrets, Error> {
    let (key, iv) = TrafficSecret::with(suite, secret, |secret| secret.key());
    Ok(suite.aead_alg.extract_keys(key, iv)?)
}

/// The secrets of a TLS 1.3 connection.
pub(crate) struct Tls13Secrets {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) sending: OkmBlock,
    pub(super) receiving: OkmBlock,
    exporter_secret: OkmBlock,
    /// N of the sending `application_traffic_secret_N`.
    sending_updates: u64,
    /// We requested a KeyUpdate, and none came since.
    awaits_update: bool,
    /// The peer has requested a KeyUpdate, and none was sent since.
    owes_update: bool,
}

impl Tls13Secrets {
    /// `sending` and `receiving` are the `application_traffic_secret_0` of either direction.
    pub(crate) fn new(
        suite: &'static Tls13CipherSuite,
        sending: OkmBlock,
        receiving: OkmBlock,
        exporter_secret: OkmBlock,
    ) -> Self {
        Self {
            suite,
            sending,
            receiving,
            exporter_secret,
            sending_updates: 0,
            awaits_update: false,
            owes_update: false,
        }
    }

    /// Protects what is sent with the keys of the current secret.
    pub(crate) fn install_sending(&self, transport: &mut dyn Transport) {
        TrafficSecret::with(self.suite, &self.sending, |secret| {
            transport.set_sending_secret(Level::Application, secret);
        });
    }

    /// Opens what is received with the keys of the current secret.
    ///
    /// # Errors
    ///
    /// As for [`Transport::set_receiving_secret`].
    pub(crate) fn install_receiving(
        &self,
        transport: &mut dyn Transport,
    ) -> Result<(), PeerMisbehaved> {
        TrafficSecret::with(self.suite, &self.receiving, |secret| {
            transport.set_receiving_secret(Level::Application, secret)
        })
    }

    /// The peer's KeyUpdate has come. Returns whether it was asked for.
    pub(crate) fn take_awaited_update(&mut self) -> bool {
        core::mem::take(&mut self.awaits_update)
    }

    /// Switches to the peer's next keys.
    ///
    /// # Errors
    ///
    /// As for [`Transport::set_receiving_secret`].
    pub(crate) fn update_receiving(
        &mut self,
        transport: &mut dyn Transport,
    ) -> Result<(), PeerMisbehaved> {
        self.receiving = key_schedule::next_application_traffic_secret(self.suite, &self.receiving);
        self.install_receiving(transport)
    }

    /// Sees to it that the next application data comes behind a KeyUpdate that answers the peer's.
    pub(crate) fn answer_update(&mut self, transport: &mut dyn Transport) {
        // RFC 9846 §4.7.3: a request is ignored when there can be no more updates
        if self.sending_updates < MAX_SENDING_UPDATES {
            self.owes_update = true;
            transport.retire_sending_key();
        }
    }

    /// Sends a KeyUpdate and switches to new sending keys. It requests one in return, unless it is the one
    /// that [`Established::owes_update`].
    ///
    /// # Errors
    ///
    /// As for [`Transport::send_handshake`].
    pub(crate) fn refresh(&mut self, transport: &mut dyn Transport) -> Result<(), Error> {
        if self.owes_update {
            return self.settle(transport);
        }
        // a key that follows an update and has protected nothing need not be replaced
        if self.sending_updates != 0 && !transport.has_used_sending_key() {
            return Ok(());
        }
        // RFC 9846 §4.7.3: no second request until a KeyUpdate has come
        let request = if self.awaits_update {
            KeyUpdateRequest::UpdateNotRequested
        } else {
            KeyUpdateRequest::UpdateRequested
        };
        if self.send_key_update(request, transport)? {
            self.awaits_update = true;
        }
        Ok(())
    }

    fn settle(&mut self, transport: &mut dyn Transport) -> Result<(), Error> {
        // RFC 9846 §4.7.3: the answer requests none. It answers all requests that came before it
        if core::mem::take(&mut self.owes_update) {
            self.send_key_update(KeyUpdateRequest::UpdateNotRequested, transport)?;
        }
        Ok(())
    }

    /// Returns whether it was sent.
    fn send_key_update(
        &mut self,
        request: KeyUpdateRequest,
        transport: &mut dyn Transport,
    ) -> Result<bool, Error> {
        // RFC 9846 §4.7.3: the number of updates is limited, requested or not. §6.1: nothing is sent
        // after close_notify
        if self.sending_updates >= MAX_SENDING_UPDATES || transport.is_closed() {
            return Ok(false);
        }
        self.sending_updates += 1;

        // RFC 9846 §4.7.3: a KeyUpdate is encrypted with the old keys
        let mut message = Vec::with_capacity(KEY_UPDATE_LEN);
        request.encode_message(&mut message)?;
        transport.send_handshake(&message)?;

        self.sending = key_schedule::next_application_traffic_secret(self.suite, &self.sending);
        self.install_sending(transport);
        Ok(true)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        key_schedule::exporter(self.suite, &self.exporter_secret, label, context, output)
            .map_err(|_| Error::General("the exporter's output or label is too long".into()))
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
