//! The client's handshake (RFC 9846 §2 and appendix A.1) once the server has chosen TLS 1.3, and
//! the messages after it.
//!
//! ```text
//!       machine::client: Hello ◄── HelloRetryRequest                        (retry)
//!                                 │ ServerHello                             (server_hello)
//!                                 ▼
//!                         WaitEncryptedExtensions
//!             EncryptedExtensions │  │ EncryptedExtensions, of a resumed session
//!                                 ▼  │                                      (encrypted_extensions)
//!         WaitCertificateOrRequest   │
//!      Certificate │  │ Certificate- │
//!                  │  ▼ Request      │                                      (certificate_request)
//!                  │ WaitCertificate │
//!                  ▼  │ Certificate  │ compressed or not                    (server_auth)
//!           WaitCertificateVerify    │
//!                  │ CertificateVerify                                      (server_auth)
//!                  ▼                 ▼
//!                            WaitFinished
//!                                 │ Finished ──► client's flight            (finished)
//!                                 ▼
//!                             Connected ◄── NewSessionTicket                (connected)
//!                                 ▲──────── KeyUpdate                       (../key_update)
//! ```
//!
//! `Waiting` is the state while an asynchronous callback is pending: one that chooses the client's
//! certificate, verifies the server's chain or signature, or signs for the client.
//!
//! Each of the other states is a struct in the file named at its messages. During the handshake,
//! its methods `read_…` consume it and return the next state. These states pass on an
//! `in_progress::Handshake`.

mod certificate_request;
mod client_auth;
mod connected;
mod encrypted_extensions;
mod extension_checks;
mod finished;
mod in_progress;
pub(crate) mod retry;
mod server_auth;
pub(crate) mod server_hello;

use alloc::boxed::Box;

use rustls_core::codec::Codec;

use self::certificate_request::WaitCertificateOrRequest;
use self::connected::Connected;
use self::encrypted_extensions::{AfterEncryptedExtensions, WaitEncryptedExtensions};
use self::finished::WaitFinished;
use self::server_auth::{WaitCertificate, WaitCertificateVerify};
use super::key_update::read_key_update;
use crate::config::carrier::HandshakeCarrier;
use crate::enums::{HandshakeType, KeyUpdateRequest};
use crate::failure::Failure;
use crate::handshake::client::connection_data::ClientConnectionData;
use crate::handshake::client::sent_hello::SentHello;
use crate::handshake::operation::Operation;
use crate::handshake::{ClientContext, unexpected};
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::compressed_certificate::CompressedCertificate;
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::server_hello::ServerHello;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::msgs::{Finished, HandshakeMessage};

/// The states of RFC 9846 appendix A.1 after TLS 1.3 was chosen, and `Waiting`. They are small,
/// because each message moves them several times.
pub(crate) enum State {
    WaitEncryptedExtensions(WaitEncryptedExtensions),
    WaitCertificateOrRequest(WaitCertificateOrRequest),
    WaitCertificate(WaitCertificate),
    WaitCertificateVerify(Box<WaitCertificateVerify>),
    WaitFinished(WaitFinished),
    /// Waits for an application operation. Messages stay buffered.
    Waiting(Box<Operation<Self, ClientConnectionData>>),
    Connected(Box<Connected>),
}

impl From<Operation<Self, ClientConnectionData>> for State {
    fn from(operation: Operation<Self, ClientConnectionData>) -> Self {
        Self::Waiting(Box::new(operation))
    }
}

impl State {
    /// Starts with a ServerHello that selects TLS 1.3.
    pub(crate) fn start(
        sent: Box<SentHello>,
        hello: &ServerHello<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Failure> {
        server_hello::read_server_hello(sent, hello, encoded, cx).map(Self::WaitEncryptedExtensions)
    }

    /// Dispatches a message to its handler. Decides which message is legal.
    pub(crate) fn read(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Failure> {
        let encoded = message.encoded;
        match (self, message.typ) {
            (Self::WaitEncryptedExtensions(state), HandshakeType::EncryptedExtensions) => state
                .read_encrypted_extensions(message.decode(EncryptedExtensions::read)?, encoded, cx)
                .map(|authentication| match authentication {
                    AfterEncryptedExtensions::Certificates(state) => {
                        Self::WaitCertificateOrRequest(state)
                    }
                    AfterEncryptedExtensions::Resumed(state) => Self::WaitFinished(state),
                }),

            (Self::WaitCertificateOrRequest(state), HandshakeType::CertificateRequest) => {
                let request = message.decode(CertificateRequest::read)?;
                state.read_certificate_request(request, encoded, cx)
            }

            (Self::WaitCertificateOrRequest(state), HandshakeType::Certificate) => state
                .without_request()
                .read_certificate(message.decode(CertificateMsg::read)?, encoded)
                .map(Self::WaitCertificateVerify),

            (Self::WaitCertificate(state), HandshakeType::Certificate) => state
                .read_certificate(message.decode(CertificateMsg::read)?, encoded)
                .map(Self::WaitCertificateVerify),

            // RFC 8879 §4: replaces a Certificate if compression was offered
            (Self::WaitCertificateOrRequest(state), HandshakeType::CompressedCertificate)
                if state.may_be_compressed() =>
            {
                state
                    .without_request()
                    .read_compressed(&message.decode(CompressedCertificate::read)?, encoded)
                    .map(Self::WaitCertificateVerify)
            }

            (Self::WaitCertificate(state), HandshakeType::CompressedCertificate)
                if state.may_be_compressed() =>
            {
                state
                    .read_compressed(&message.decode(CompressedCertificate::read)?, encoded)
                    .map(Self::WaitCertificateVerify)
            }

            (Self::WaitCertificateVerify(state), HandshakeType::CertificateVerify) => state
                .read_certificate_verify(message.decode(DigitallySignedStruct::read)?, encoded, cx),

            (Self::WaitFinished(state), HandshakeType::Finished) => {
                state.read_finished(message.decode(Finished::read)?, encoded, cx)
            }

            (Self::Connected(state), HandshakeType::NewSessionTicket) => state
                .read_new_session_ticket(&message.decode(NewSessionTicket::read)?, cx)
                .map(|()| Self::Connected(state)),

            (Self::Connected(state), HandshakeType::KeyUpdate)
                if cx.transport.carrier().has_key_update() =>
            {
                read_key_update(message.decode(KeyUpdateRequest::read)?, cx)
                    .map(|()| Self::Connected(state))
            }

            // RFC 9846 §4.7.2: an unexpected_message after the handshake, because
            // post_handshake_auth is not offered
            (state @ Self::Connected(_), HandshakeType::CertificateRequest) => {
                let carrier = cx.transport.carrier();
                let unexpected = unexpected(&message, state.expected(carrier));
                Err(carrier.refuse_late_request(unexpected))
            }

            // RFC 9846 §4: any other message is an unexpected_message. This includes a KeyUpdate
            // during the handshake (§4.7.3)
            (state, _) => Err(unexpected(&message, state.expected(cx.transport.carrier()))),
        }
    }

    fn expected(&self, carrier: HandshakeCarrier) -> &'static [HandshakeType] {
        match self {
            Self::WaitEncryptedExtensions(_) => &[HandshakeType::EncryptedExtensions],
            Self::WaitCertificateOrRequest(state) if state.may_be_compressed() => &[
                HandshakeType::Certificate,
                HandshakeType::CertificateRequest,
                HandshakeType::CompressedCertificate,
            ],
            Self::WaitCertificateOrRequest(_) => &[
                HandshakeType::Certificate,
                HandshakeType::CertificateRequest,
            ],
            Self::WaitCertificate(state) if state.may_be_compressed() => &[
                HandshakeType::Certificate,
                HandshakeType::CompressedCertificate,
            ],
            Self::WaitCertificate(_) => &[HandshakeType::Certificate],
            Self::WaitCertificateVerify(_) => &[HandshakeType::CertificateVerify],
            Self::WaitFinished(_) => &[HandshakeType::Finished],
            Self::Waiting(_) => &[],
            Self::Connected(_) if !carrier.has_key_update() => &[HandshakeType::NewSessionTicket],
            Self::Connected(_) => &[HandshakeType::NewSessionTicket, HandshakeType::KeyUpdate],
        }
    }
}
