//! The secrets that outlive a handshake, for each version: used to replace keys (RFC 9846 §4.7.3),
//! to export keying material (RFC 9846 §7.5, RFC 5705), and to extract keys.
//!
//! They are stored next to the sender, so that a write can replace a worn-out key without the
//! handshake. The handshake creates them, and installs the first keys itself.
//!
//! Each half of a split connection (`conn::split`) has only the secrets that it needs.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rustls_core::crypto::tls13::OkmBlock;

use crate::enums::{KeyUpdateRequest, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::Link;
use crate::handshake::transport::{Level, Transport};
#[cfg(feature = "tls12")]
use crate::keys::tls12::MasterSecret;
use crate::keys::tls13::{TrafficSecret, exporter, next_application_traffic_secret};
use crate::msgs::EncodeMessage;
use crate::suites::{ConnectionTrafficSecrets, Tls13CipherSuite};

/// The maximum number of key updates by a sender (RFC 9846 §4.7.3).
const MAX_SENDING_UPDATES: u64 = (1 << 48) - 1;

/// The length of a KeyUpdate message in bytes.
pub(crate) const KEY_UPDATE_LEN: usize = 5;

/// The secrets that remain once the handshake is complete.
///
/// All secrets are boxed so that moving a connection leaves none behind. The variants hold only
/// pointers, because a move also copies the unused bytes of smaller variants, which may contain old
/// stack data.
pub(crate) enum Established {
    Tls13(Box<Tls13Secrets>),
    /// The exporter of a QUIC connection, whose traffic secrets were handed to the QUIC
    /// implementation.
    Tls13Exporter(Box<ExporterSecret>),
    /// The secrets in a sending half.
    Tls13Sending(Box<SendingSecrets>),
    /// The secrets in a receiving half.
    Tls13Receiving(Box<ReceivingSecrets>, Arc<Link>),
    #[cfg(feature = "tls12")]
    Tls12(Box<MasterSecret>),
    /// A TLS 1.2 sending half, which needs no secrets. The receiving half is [`Self::Tls12`].
    #[cfg(feature = "tls12")]
    Tls12Sending,
}

impl Established {
    /// Keeps the secrets of the receiving half, and returns those of the sending half. Returns
    /// `None` if this is an exporter, a TLS 1.3 half, or a sending half. `link` connects the
    /// halves.
    pub(crate) fn split(&mut self, link: &Arc<Link>) -> Option<Self> {
        match self {
            Self::Tls13(secrets) => {
                let (sending, receiving) = secrets.split(link);
                *self = Self::Tls13Receiving(receiving, link.clone());
                Some(Self::Tls13Sending(sending))
            }
            Self::Tls13Exporter(_) | Self::Tls13Sending(_) | Self::Tls13Receiving(..) => None,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => Some(Self::Tls12Sending),
            #[cfg(feature = "tls12")]
            Self::Tls12Sending => None,
        }
    }

    /// True if the sending keys can be replaced. TLS 1.2 would have to renegotiate.
    pub(crate) fn can_refresh(&self) -> bool {
        match self {
            Self::Tls13(_) | Self::Tls13Sending(_) => true,
            Self::Tls13Exporter(_) | Self::Tls13Receiving(..) => false,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => false,
        }
    }

    /// Returns the secrets for sending, if [`Self::can_refresh`].
    pub(crate) fn refreshable(&mut self) -> Option<&mut SendingSecrets> {
        match self {
            Self::Tls13(secrets) => Some(&mut secrets.sending),
            Self::Tls13Sending(sending) => Some(sending),
            Self::Tls13Exporter(_) | Self::Tls13Receiving(..) => None,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => None,
        }
    }

    /// Returns the secrets that a KeyUpdate from the peer replaces, and the sender of the reply.
    /// Returns `None` if this does not handle KeyUpdates.
    pub(crate) fn updatable(&mut self) -> Option<(&mut ReceivingSecrets, UpdateAnswerer<'_>)> {
        match self {
            Self::Tls13(secrets) => Some((
                &mut secrets.receiving,
                UpdateAnswerer::SameConnection(&mut secrets.sending),
            )),
            Self::Tls13Receiving(receiving, link) => {
                Some((receiving, UpdateAnswerer::SendingHalf(link)))
            }
            Self::Tls13Exporter(_) | Self::Tls13Sending(_) => None,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => None,
        }
    }

    /// Drops the TLS 1.3 traffic secrets. No KeyUpdate is sent or accepted after this.
    pub(crate) fn keep_exporter_secret(&mut self) {
        if let Self::Tls13(secrets) = self {
            *self = Self::Tls13Exporter(secrets.receiving.exporter.boxed());
        }
    }

    /// Returns the TLS 1.3 secrets of an unsplit connection.
    pub(crate) fn tls13(&self) -> Option<&Tls13Secrets> {
        match self {
            Self::Tls13(secrets) => Some(secrets),
            _ => None,
        }
    }

    /// True if a KeyUpdate that the peer requested must be sent before the next application data.
    /// Requests that are still in the [`Link`] do not count.
    pub(crate) fn owes_update(&self) -> bool {
        match self {
            Self::Tls13(secrets) => secrets.sending.owes_update,
            Self::Tls13Sending(sending) => sending.owes_update,
            Self::Tls13Exporter(_) | Self::Tls13Receiving(..) => false,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => false,
        }
    }

    /// Sends the KeyUpdate that the peer requested, if any. Returns true if it was sent.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Transport::send_handshake`].
    pub(crate) fn send_owed_update(
        &mut self,
        transport: &mut dyn Transport,
    ) -> Result<bool, Error> {
        match self.refreshable() {
            Some(secrets) => secrets.send_owed_update(transport),
            None => Ok(false),
        }
    }

    /// Returns the keys that `side` sends and receives with.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the crypto provider does not export keys, or if these are not
    /// the secrets of both directions.
    pub(crate) fn extract(
        &self,
        #[cfg_attr(not(feature = "tls12"), allow(unused_variables))]
        // TLS 1.3 stores its secrets by direction, so it does not use `side`
        side: Side,
    ) -> Result<(ConnectionTrafficSecrets, ConnectionTrafficSecrets), Error> {
        match self {
            Self::Tls13(secrets) => Ok((secrets.sending.extract()?, secrets.receiving.extract()?)),
            #[cfg(feature = "tls12")]
            Self::Tls12(secret) => {
                let keys = secret.key_block();
                Ok((keys.extract_sending(side)?, keys.extract_receiving(side)?))
            }
            Self::Tls13Exporter(_) | Self::Tls13Sending(_) | Self::Tls13Receiving(..) => {
                Err(missing_in_half())
            }
            #[cfg(feature = "tls12")]
            Self::Tls12Sending => Err(missing_in_half()),
        }
    }

    /// Switches to the next sending keys without sending a KeyUpdate, and returns them. On error,
    /// nothing changes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] unless [`Self::can_refresh`], and if no more updates are allowed.
    /// Also returns the errors of [`Self::extract`].
    pub(crate) fn update_extracted_sending(&mut self) -> Result<ConnectionTrafficSecrets, Error> {
        let secrets = self.refreshable().ok_or_else(no_updates)?;
        // RFC 9846 §4.7.3: the number of updates is limited
        if secrets.updates >= MAX_SENDING_UPDATES {
            return Err(Error::General(
                "the keys have reached the limit of updates".into(),
            ));
        }
        let keys = extract_next(secrets.suite, &mut secrets.secret)?;
        secrets.updates += 1;
        Ok(keys)
    }

    /// Switches to the peer's next keys, and returns them. On error, nothing changes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if there is no secret that a KeyUpdate replaces, such as in TLS
    /// 1.2, and the errors of [`Self::extract`].
    pub(crate) fn update_extracted_receiving(&mut self) -> Result<ConnectionTrafficSecrets, Error> {
        let (secrets, _) = self.updatable().ok_or_else(no_updates)?;
        extract_next(secrets.suite, &mut secrets.secret)
    }

    /// Fills `output` with keying material.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if `output` is empty, or if this is a sending half. In TLS 1.3,
    /// also if `output` or `label` is too long. In TLS 1.2, also if `context` is too long, or the
    /// peer does not support the extended master secret.
    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        if output.is_empty() {
            return Err(Error::General(
                "export_keying_material with zero-length output".into(),
            ));
        }
        match self {
            Self::Tls13(secrets) => secrets.receiving.exporter.export(output, label, context),
            Self::Tls13Receiving(secrets, _) => secrets.exporter.export(output, label, context),
            Self::Tls13Exporter(exporter) => exporter.export(output, label, context),
            #[cfg(feature = "tls12")]
            Self::Tls12(secret) => secret.export(output, label, context),
            Self::Tls13Sending(_) => Err(missing_in_half()),
            #[cfg(feature = "tls12")]
            Self::Tls12Sending => Err(missing_in_half()),
        }
    }
}

fn no_updates() -> Error {
    Error::General("TLS 1.2 connections do not support traffic secret updates".into())
}

fn missing_in_half() -> Error {
    Error::General("this half of the connection does not have the secrets for that".into())
}

fn extract_tls13(
    suite: &'static Tls13CipherSuite,
    secret: &OkmBlock,
) -> Result<ConnectionTrafficSecrets, Error> {
    // these are returned by value, because the application gets them that way
    let extracted = TrafficSecret::with(suite, secret, |secret| {
        secret.with_key(|key, iv| suite.aead_alg.extract_keys(key, iv))
    });
    Ok(extracted?)
}

/// Replaces `secret` with the next one, and returns the keys derived from it. If they cannot be
/// extracted, nothing changes, because a skipped key could never be extracted.
fn extract_next(
    suite: &'static Tls13CipherSuite,
    secret: &mut OkmBlock,
) -> Result<ConnectionTrafficSecrets, Error> {
    let mut next = OkmBlock::new(&[]);
    next_application_traffic_secret(suite, secret, &mut next);
    let keys = extract_tls13(suite, &next)?;
    secret.clone_from(&next);
    Ok(keys)
}

/// The secrets of a TLS 1.3 connection.
pub(crate) struct Tls13Secrets {
    pub(crate) sending: SendingSecrets,
    pub(crate) receiving: ReceivingSecrets,
}

impl Tls13Secrets {
    /// Creates the secrets. `derive` writes them into its arguments: first the
    /// `application_traffic_secret_0` for sending and receiving, then the exporter secret.
    pub(crate) fn derive(
        suite: &'static Tls13CipherSuite,
        derive: impl FnOnce(&mut OkmBlock, &mut OkmBlock, &mut OkmBlock),
    ) -> Box<Self> {
        let mut secrets = Box::new(Self {
            sending: SendingSecrets {
                suite,
                secret: OkmBlock::new(&[]),
                updates: 0,
                link: None,
                awaits_update: false,
                owes_update: false,
            },
            receiving: ReceivingSecrets::empty(suite),
        });
        let Self { sending, receiving } = &mut *secrets;
        derive(
            &mut sending.secret,
            &mut receiving.secret,
            &mut receiving.exporter.secret,
        );
        secrets
    }

    /// Switches output to the keys of the current secret.
    pub(crate) fn install_sending(&self, transport: &mut dyn Transport) {
        self.sending.install(transport);
    }

    /// Switches input to the keys of the current secret.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Transport::set_receiving_secret`].
    pub(crate) fn install_receiving(
        &self,
        transport: &mut dyn Transport,
    ) -> Result<(), PeerMisbehaved> {
        self.receiving.install(transport)
    }

    /// Copies the secrets for the sending half and for the receiving half, which `link` connects.
    fn split(&self, link: &Arc<Link>) -> (Box<SendingSecrets>, Box<ReceivingSecrets>) {
        if self.sending.awaits_update {
            link.await_update();
        }
        let mut sending = Box::new(SendingSecrets {
            suite: self.sending.suite,
            secret: OkmBlock::new(&[]),
            updates: self.sending.updates,
            link: Some(link.clone()),
            awaits_update: false,
            owes_update: self.sending.owes_update,
        });
        sending.secret.clone_from(&self.sending.secret);
        let mut receiving = Box::new(ReceivingSecrets::empty(self.receiving.suite));
        receiving.secret.clone_from(&self.receiving.secret);
        let exporter_secret = &self.receiving.exporter.secret;
        receiving.exporter.secret.clone_from(exporter_secret);
        (sending, receiving)
    }
}

/// The secret from which the next sending key is derived, and the state of the key updates.
pub(crate) struct SendingSecrets {
    pub(crate) suite: &'static Tls13CipherSuite,
    /// The current `application_traffic_secret_N`.
    pub(crate) secret: OkmBlock,
    /// The number N of `application_traffic_secret_N`.
    updates: u64,
    /// The link to the receiving half of a split connection, which receives the requested
    /// KeyUpdate.
    link: Option<Arc<Link>>,
    /// True if this side requested a KeyUpdate and none has arrived since. If there is a link, the
    /// link stores this.
    awaits_update: bool,
    /// True if a KeyUpdate that the peer requested must be sent.
    owes_update: bool,
}

impl SendingSecrets {
    fn install(&self, transport: &mut dyn Transport) {
        TrafficSecret::with(self.suite, &self.secret, |secret| {
            transport.set_sending_secret(Level::Application, secret);
        });
    }

    fn extract(&self) -> Result<ConnectionTrafficSecrets, Error> {
        extract_tls13(self.suite, &self.secret)
    }

    /// Schedules a KeyUpdate in reply to the peer's request. It is sent before the next application
    /// data. Ignores the request if no more updates are allowed.
    pub(crate) fn answer_update(&mut self, transport: &mut dyn Transport) {
        // RFC 9846 §4.7.3: ignore a request if no more updates are allowed
        if self.updates < MAX_SENDING_UPDATES {
            self.owes_update = true;
            transport.retire_sending_key();
        }
    }

    /// Sends a KeyUpdate and switches to new sending keys. The message requests one in return,
    /// unless it is the reply to the peer's request, or an earlier request has not been answered
    /// yet. Returns false if nothing was sent: the current key has been updated and not used, no
    /// more updates are allowed, or nothing more may be sent.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Transport::send_handshake`].
    pub(crate) fn refresh(&mut self, transport: &mut dyn Transport) -> Result<bool, Error> {
        if self.owes_update {
            return self.send_owed_update(transport);
        }
        // an updated key that has protected nothing need not be replaced
        if self.updates != 0 && !transport.has_used_sending_key() {
            return Ok(false);
        }
        // RFC 9846 §4.7.3: no second request until a KeyUpdate has arrived
        let is_awaited = match &self.link {
            Some(link) => link.awaits_update(),
            None => self.awaits_update,
        };
        let request = if is_awaited {
            KeyUpdateRequest::UpdateNotRequested
        } else {
            KeyUpdateRequest::UpdateRequested
        };
        let is_sent = self.send_key_update(request, transport)?;
        // set it only for a new request: in a split connection, the reply to an earlier one may
        // just have arrived
        if is_sent && !is_awaited {
            match &self.link {
                Some(link) => link.await_update(),
                None => self.awaits_update = true,
            }
        }
        Ok(is_sent)
    }

    fn send_owed_update(&mut self, transport: &mut dyn Transport) -> Result<bool, Error> {
        // RFC 9846 §4.7.3: a reply requests no KeyUpdate, and satisfies all earlier requests
        if core::mem::take(&mut self.owes_update) {
            return self.send_key_update(KeyUpdateRequest::UpdateNotRequested, transport);
        }
        Ok(false)
    }

    /// Sends a KeyUpdate, if that is allowed. Returns true if it was sent.
    fn send_key_update(
        &mut self,
        request: KeyUpdateRequest,
        transport: &mut dyn Transport,
    ) -> Result<bool, Error> {
        // RFC 9846 §4.7.3: the number of updates is limited, requested or not. §6.1: nothing is
        // sent after a close_notify
        if self.updates >= MAX_SENDING_UPDATES || transport.is_closed() {
            return Ok(false);
        }

        // RFC 9846 §4.7.3: a KeyUpdate is encrypted with the old keys
        let mut message = Vec::with_capacity(KEY_UPDATE_LEN);
        request.encode_message(&mut message)?;
        transport.send_handshake(&message)?;

        self.next();
        self.install(transport);
        Ok(true)
    }

    fn next(&mut self) {
        self.updates += 1;
        advance(self.suite, &mut self.secret);
    }
}

/// The sender of the reply to the peer's KeyUpdate.
pub(crate) enum UpdateAnswerer<'a> {
    /// The same connection, which has both directions.
    SameConnection(&'a mut SendingSecrets),
    /// The sending half of a split connection.
    SendingHalf(&'a Link),
}

impl UpdateAnswerer<'_> {
    /// Returns true if the KeyUpdate that just arrived was requested, and resets the request.
    pub(crate) fn take_awaited_update(&mut self) -> bool {
        match self {
            Self::SameConnection(sending) => core::mem::take(&mut sending.awaits_update),
            Self::SendingHalf(link) => link.take_awaited_update(),
        }
    }

    /// Asks the sender to reply to the peer's request with a KeyUpdate before the next application
    /// data.
    pub(crate) fn answer_update(&mut self, transport: &mut dyn Transport) {
        match self {
            Self::SameConnection(sending) => sending.answer_update(transport),
            Self::SendingHalf(link) => link.owe_update(),
        }
    }
}

/// The secret from which the next receiving key is derived, and the exporter secret.
pub(crate) struct ReceivingSecrets {
    suite: &'static Tls13CipherSuite,
    /// The current `application_traffic_secret_N`.
    pub(crate) secret: OkmBlock,
    exporter: ExporterSecret,
}

/// The `exporter_secret` of TLS 1.3.
pub(crate) struct ExporterSecret {
    suite: &'static Tls13CipherSuite,
    secret: OkmBlock,
}

impl ExporterSecret {
    /// Returns a boxed copy. The secret is copied directly into the box.
    fn boxed(&self) -> Box<Self> {
        let mut copy = Box::new(Self {
            suite: self.suite,
            secret: OkmBlock::new(&[]),
        });
        copy.secret.clone_from(&self.secret);
        copy
    }

    fn export(&self, output: &mut [u8], label: &[u8], context: Option<&[u8]>) -> Result<(), Error> {
        exporter(self.suite, &self.secret, label, context, output)
            .map_err(|_| Error::General("exporting too much".into()))
    }
}

impl ReceivingSecrets {
    /// Creates the struct with empty secrets.
    fn empty(suite: &'static Tls13CipherSuite) -> Self {
        Self {
            suite,
            secret: OkmBlock::new(&[]),
            exporter: ExporterSecret {
                suite,
                secret: OkmBlock::new(&[]),
            },
        }
    }

    fn install(&self, transport: &mut dyn Transport) -> Result<(), PeerMisbehaved> {
        TrafficSecret::with(self.suite, &self.secret, |secret| {
            transport.set_receiving_secret(Level::Application, secret)
        })
    }

    fn extract(&self) -> Result<ConnectionTrafficSecrets, Error> {
        extract_tls13(self.suite, &self.secret)
    }

    /// Switches to the peer's next keys.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Transport::set_receiving_secret`].
    pub(crate) fn update(&mut self, transport: &mut dyn Transport) -> Result<(), PeerMisbehaved> {
        self.next();
        self.install(transport)
    }

    fn next(&mut self) {
        advance(self.suite, &mut self.secret);
    }
}

/// Replaces `secret` with the next one.
fn advance(suite: &'static Tls13CipherSuite, secret: &mut OkmBlock) {
    let mut next = OkmBlock::new(&[]);
    next_application_traffic_secret(suite, secret, &mut next);
    secret.clone_from(&next);
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
