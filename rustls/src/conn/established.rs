//! The secrets that outlive a handshake, version by version: replacing keys (RFC 9846 §4.7.3), exporting
//! (RFC 9846 §7.5, RFC 5705), and handing the keys themselves out.
//!
//! They are kept next to the sender, so that a write that wears out a key need not call the handshake. The
//! handshake makes them, and installs the first keys itself.
//!
//! Each half of a split connection ([`super::split`]) has those of its own direction.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::split::Link;
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
///
/// Applications move connections about, in and out of memory of their own: of what is behind a pointer no copy is left
/// where one was. All of it is, so that there is no room beside a pointer either, in which a move would take along what
/// happened to be on the stack.
pub(crate) enum Established {
    Tls13(Box<Tls13Secrets>),
    /// Of a connection over QUIC, whose traffic secrets others have.
    Tls13Exporter(Box<ExporterSecret>),
    /// Of a connection's sending half.
    Tls13Sending(Box<SendingSecrets>),
    /// Of a connection's receiving half.
    Tls13Receiving(Box<ReceivingSecrets>, Arc<Link>),
    #[cfg(feature = "tls12")]
    Tls12(Box<MasterSecret>),
    /// Of a connection's sending half, which nothing can be derived for. The receiving half is [`Self::Tls12`].
    #[cfg(feature = "tls12")]
    Tls12Sending,
}

impl Established {
    /// Keeps what the receiving half needs, and returns what the sending half needs; `None` when these are those of
    /// a half. `link` joins the two.
    pub(super) fn split(&mut self, link: &Arc<Link>) -> Option<Self> {
        match self {
            Self::Tls13(secrets) => {
                let (sending, receiving) = secrets.split(link);
                *self = Self::Tls13Receiving(Box::new(receiving), link.clone());
                Some(Self::Tls13Sending(Box::new(sending)))
            }
            Self::Tls13Exporter(_) | Self::Tls13Sending(_) | Self::Tls13Receiving(..) => None,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) => Some(Self::Tls12Sending),
            #[cfg(feature = "tls12")]
            Self::Tls12Sending => None,
        }
    }

    /// Whether keys can be replaced. TLS 1.2 would have to renegotiate.
    pub(crate) fn can_refresh(&self) -> bool {
        match self {
            Self::Tls13(_) | Self::Tls13Sending(_) => true,
            Self::Tls13Exporter(_) | Self::Tls13Receiving(..) => false,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => false,
        }
    }

    /// The secrets of the direction that a KeyUpdate of ours replaces, if [`Self::can_refresh`].
    pub(crate) fn refreshable(&mut self) -> Option<&mut SendingSecrets> {
        match self {
            Self::Tls13(secrets) => Some(&mut secrets.sending),
            Self::Tls13Sending(sending) => Some(sending),
            Self::Tls13Exporter(_) | Self::Tls13Receiving(..) => None,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => None,
        }
    }

    /// What a KeyUpdate of the peer concerns; `None` where there can be none.
    pub(crate) fn updatable(&mut self) -> Option<(&mut ReceivingSecrets, AnsweredBy<'_>)> {
        match self {
            Self::Tls13(secrets) => Some((
                &mut secrets.receiving,
                AnsweredBy::This(&mut secrets.sending),
            )),
            Self::Tls13Receiving(receiving, link) => Some((receiving, AnsweredBy::Sender(link))),
            Self::Tls13Exporter(_) | Self::Tls13Sending(_) => None,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => None,
        }
    }

    /// Drops the traffic secrets of TLS 1.3. No KeyUpdate is sent or taken any more.
    pub(super) fn keep_exporter_secret(&mut self) {
        if let Self::Tls13(secrets) = self {
            *self = Self::Tls13Exporter(Box::new(secrets.receiving.exporter.clone()));
        }
    }

    /// The secrets of TLS 1.3, of a whole connection.
    pub(super) fn tls13(&self) -> Option<&Tls13Secrets> {
        match self {
            Self::Tls13(secrets) => Some(secrets),
            _ => None,
        }
    }

    /// True when the peer has requested a KeyUpdate and waits for it. It goes out ahead of whatever is sent
    /// next.
    pub(crate) fn owes_update(&self) -> bool {
        match self {
            Self::Tls13(secrets) => secrets.sending.owes_update,
            Self::Tls13Sending(sending) => sending.owes_update,
            Self::Tls13Exporter(_) | Self::Tls13Receiving(..) => false,
            #[cfg(feature = "tls12")]
            Self::Tls12(_) | Self::Tls12Sending => false,
        }
    }

    /// Sends the KeyUpdate that [`Self::owes_update`], if any.
    ///
    /// # Errors
    ///
    /// As for [`Transport::send_handshake`].
    pub(crate) fn settle(&mut self, transport: &mut dyn Transport) -> Result<(), Error> {
        match self.refreshable() {
            Some(secrets) => secrets.settle(transport),
            None => Ok(()),
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
            Self::Tls13(secrets) => Ok((secrets.sending.extract()?, secrets.receiving.extract()?)),
            #[cfg(feature = "tls12")]
            Self::Tls12(secret) => {
                let keys = secret.key_block();
                Ok((keys.extract_sending(side)?, keys.extract_receiving(side)?))
            }
            Self::Tls13Exporter(_) | Self::Tls13Sending(_) | Self::Tls13Receiving(..) => {
                Err(half_has_not_all())
            }
            #[cfg(feature = "tls12")]
            Self::Tls12Sending => Err(half_has_not_all()),
        }
    }

    /// Switches to the next sending keys without telling the peer, and returns them.
    ///
    /// # Errors
    ///
    /// [`Error::General`] in TLS 1.2, and when there can be no more updates; as for [`Self::extract`].
    pub(crate) fn update_extracted_sending(&mut self) -> Result<ConnectionTrafficSecrets, Error> {
        let secrets = self.refreshable().ok_or_else(no_updates)?;
        // RFC 9846 §4.7.3: the number of updates is limited
        if secrets.updates >= MAX_SENDING_UPDATES {
            return Err(Error::General(
                "the keys have reached the limit of updates".into(),
            ));
        }
        secrets.next();
        secrets.extract()
    }

    /// Switches to the peer's next keys, and returns them.
    ///
    /// # Errors
    ///
    /// [`Error::General`] in TLS 1.2; as for [`Self::extract`].
    pub(crate) fn update_extracted_receiving(&mut self) -> Result<ConnectionTrafficSecrets, Error> {
        let (secrets, _) = self.updatable().ok_or_else(no_updates)?;
        secrets.next();
        secrets.extract()
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
                "export_keying_material with zero-length output".into(),
            ));
        }
        match self {
            Self::Tls13(secrets) => secrets.receiving.exporter.export(output, label, context),
            Self::Tls13Receiving(secrets, _) => secrets.exporter.export(output, label, context),
            Self::Tls13Exporter(exporter) => exporter.export(output, label, context),
            #[cfg(feature = "tls12")]
            Self::Tls12(secret) => secret.export(output, label, context),
            Self::Tls13Sending(_) => Err(half_has_not_all()),
            #[cfg(feature = "tls12")]
            Self::Tls12Sending => Err(half_has_not_all()),
        }
    }
}

fn no_updates() -> Error {
    Error::General("TLS 1.2 connections do not support traffic secret updates".into())
}

fn half_has_not_all() -> Error {
    Error::General("this half of the connection does not have the secrets for that".into())
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
    pub(super) sending: SendingSecrets,
    pub(super) receiving: ReceivingSecrets,
}

impl Tls13Secrets {
    /// `sending` and `receiving` are the `application_traffic_secret_0` of either direction. All are copied to their
    /// places, so that their owner zeroizes them where they are.
    pub(crate) fn new(
        suite: &'static Tls13CipherSuite,
        sending: &OkmBlock,
        receiving: &OkmBlock,
        exporter_secret: &OkmBlock,
    ) -> Box<Self> {
        let empty = || OkmBlock::new(&[]);
        let mut secrets = Box::new(Self {
            sending: SendingSecrets {
                suite,
                secret: empty(),
                updates: 0,
                link: None,
                awaits_update: false,
                owes_update: false,
            },
            receiving: ReceivingSecrets {
                suite,
                secret: empty(),
                exporter: ExporterSecret {
                    suite,
                    secret: empty(),
                },
            },
        });
        secrets.sending.secret.clone_from(sending);
        secrets.receiving.secret.clone_from(receiving);
        secrets
            .receiving
            .exporter
            .secret
            .clone_from(exporter_secret);
        secrets
    }

    /// Protects what is sent with the keys of the current secret.
    pub(crate) fn install_sending(&self, transport: &mut dyn Transport) {
        self.sending.install(transport);
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
        self.receiving.install(transport)
    }

    /// Moves the secrets out: none is left behind where they were.
    fn split(&mut self, link: &Arc<Link>) -> (SendingSecrets, ReceivingSecrets) {
        let take = |secret: &mut OkmBlock| core::mem::replace(secret, OkmBlock::new(&[]));
        if self.sending.awaits_update {
            link.await_update();
        }
        let sending = SendingSecrets {
            suite: self.sending.suite,
            secret: take(&mut self.sending.secret),
            updates: self.sending.updates,
            link: Some(link.clone()),
            awaits_update: false,
            owes_update: self.sending.owes_update,
        };
        let receiving = ReceivingSecrets {
            suite: self.receiving.suite,
            secret: take(&mut self.receiving.secret),
            exporter: ExporterSecret {
                suite: self.receiving.suite,
                secret: take(&mut self.receiving.exporter.secret),
            },
        };
        (sending, receiving)
    }
}

/// What replaces the sending key.
pub(crate) struct SendingSecrets {
    pub(super) suite: &'static Tls13CipherSuite,
    /// The present `application_traffic_secret_N`.
    pub(super) secret: OkmBlock,
    /// N.
    updates: u64,
    /// The receiving half of a split connection, which sees what is awaited.
    link: Option<Arc<Link>>,
    /// We requested a KeyUpdate, and none came since. The link knows if there is one.
    awaits_update: bool,
    /// The peer has requested a KeyUpdate, and none was sent since.
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

    /// Sees to it that the next application data comes behind a KeyUpdate that answers the peer's.
    pub(crate) fn answer_update(&mut self, transport: &mut dyn Transport) {
        // RFC 9846 §4.7.3: a request is ignored when there can be no more updates
        if self.updates < MAX_SENDING_UPDATES {
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
        if self.updates != 0 && !transport.has_used_sending_key() {
            return Ok(());
        }
        // RFC 9846 §4.7.3: no second request until a KeyUpdate has come
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
        // of a split connection the answer may have come since: nothing is awaited then
        if is_sent && !is_awaited {
            match &self.link {
                Some(link) => link.await_update(),
                None => self.awaits_update = true,
            }
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
        self.secret = key_schedule::next_application_traffic_secret(self.suite, &self.secret);
    }
}

/// Where a KeyUpdate of the peer is answered, if it requests an answer.
pub(crate) enum AnsweredBy<'a> {
    /// Here: both directions are together.
    This(&'a mut SendingSecrets),
    /// By the sending half of a split connection.
    Sender(&'a Link),
}

impl AnsweredBy<'_> {
    /// The peer's KeyUpdate has come. Returns whether it was asked for.
    pub(crate) fn take_awaited_update(&mut self) -> bool {
        match self {
            Self::This(sending) => core::mem::take(&mut sending.awaits_update),
            Self::Sender(link) => link.take_awaited_update(),
        }
    }

    /// Sees to it that the next application data comes behind a KeyUpdate that answers the peer's.
    pub(crate) fn answer_update(&mut self, transport: &mut dyn Transport) {
        match self {
            Self::This(sending) => sending.answer_update(transport),
            Self::Sender(link) => link.owe_update(),
        }
    }
}

/// What replaces the receiving key, and what is exported.
pub(crate) struct ReceivingSecrets {
    suite: &'static Tls13CipherSuite,
    /// The present `application_traffic_secret_N`.
    pub(super) secret: OkmBlock,
    exporter: ExporterSecret,
}

/// `exporter_secret`.
#[derive(Clone)]
pub(crate) struct ExporterSecret {
    suite: &'static Tls13CipherSuite,
    secret: OkmBlock,
}

impl ExporterSecret {
    fn export(&self, output: &mut [u8], label: &[u8], context: Option<&[u8]>) -> Result<(), Error> {
        key_schedule::exporter(self.suite, &self.secret, label, context, output)
            .map_err(|_| Error::General("exporting too much".into()))
    }
}

impl ReceivingSecrets {
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
    /// As for [`Transport::set_receiving_secret`].
    pub(crate) fn update(&mut self, transport: &mut dyn Transport) -> Result<(), PeerMisbehaved> {
        self.next();
        self.install(transport)
    }

    fn next(&mut self) {
        self.secret = key_schedule::next_application_traffic_secret(self.suite, &self.secret);
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
