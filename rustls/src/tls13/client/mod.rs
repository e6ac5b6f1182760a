//! The client's handshake (RFC 9846 §2 and appendix A.1), and what follows it.
//!
//! ```text
//!   start ── ClientHello ──► WaitServerHello ◄──┐
//!                                 │  └──────────┘ HelloRetryRequest, once      (retry)
//!                                 │ ServerHello                                (server_hello)
//!                                 ▼
//!                         WaitEncryptedExtensions
//!                                 │ EncryptedExtensions                        (encrypted_extensions)
//!                                 ▼
//!                        WaitCertificateOrRequest
//!                     Certificate │  │ CertificateRequest                      (client_auth)
//!                                 │  ▼
//!                                 │ WaitCertificate
//!                                 ▼  │ Certificate                             (server_auth)
//!                          WaitCertificateVerify
//!                                 │ CertificateVerify                          (server_auth)
//!                                 ▼
//!                            WaitFinished
//!                                 │ Finished ──► client's flight               (finished)
//!                                 ▼
//!                             Connected ◄── NewSessionTicket, KeyUpdate        (connected)
//! ```
//!
//! Each state is a struct in the file named beside it, with a `read_<message>` for each message it takes:
//! that consumes the state and returns the next. The ClientHello is built in `hello`.

mod client_auth;
mod connected;
mod encrypted_extensions;
mod finished;
mod hello;
mod key_shares;
mod retry;
mod server_auth;
mod server_hello;
#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;

use alloc::vec;
use alloc::vec::Vec;

use self::client_auth::WaitCertificateOrRequest;
use self::connected::Connected;
use self::encrypted_extensions::WaitEncryptedExtensions;
use self::finished::WaitFinished;
pub(crate) use self::hello::start;
use self::server_auth::{WaitCertificate, WaitCertificateVerify};
use self::server_hello::WaitServerHello;
use crate::client::ClientConnectionData;
use crate::conn::CommonState;
use crate::conn::machine::{Context, Machine};
use crate::enums::{ExtensionType, HandshakeType};
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::extensions::{ExtensionContext, allowed_in};
use crate::msgs::{HandshakeMessage, HandshakePayload};

/// What a client's handlers may touch of their connection.
type ClientContext<'a> = Context<'a, ClientConnectionData>;

/// Checks the extensions of a message to which the client need not have offered them.
///
/// # Errors
///
/// [`PeerMisbehaved::DisallowedEncryptedExtension`].
fn check_extensions(
    received: &[ExtensionType],
    message: ExtensionContext,
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3: what is known to belong into another message is an illegal_parameter
    match received.iter().all(|typ| allowed_in(*typ, message)) {
        true => Ok(()),
        false => Err(PeerMisbehaved::DisallowedEncryptedExtension),
    }
}

/// The client's side of one connection.
pub(crate) struct ClientMachine {
    /// `None` once a handler has failed.
    state: Option<ClientState>,
}

/// The states of RFC 9846 appendix A.1.
enum ClientState {
    WaitServerHello(WaitServerHello),
    WaitEncryptedExtensions(WaitEncryptedExtensions),
    WaitCertificateOrRequest(WaitCertificateOrRequest),
    WaitCertificate(WaitCertificate),
    WaitCertificateVerify(WaitCertificateVerify),
    WaitFinished(WaitFinished),
    Connected(Connected),
}

impl ClientState {
    /// Which message is legal when.
    fn read(
        self,
        message: HandshakeMessage<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Error> {
        use HandshakePayload as Got;
        let HandshakeMessage {
            typ,
            encoded,
            payload,
        } = message;

        match (self, payload) {
            (Self::WaitServerHello(state), Got::ServerHello(hello)) => state
                .read_server_hello(hello, encoded, cx)
                .map(Self::WaitEncryptedExtensions),

            // RFC 9846 §4.2.4: a second HelloRetryRequest is an unexpected_message
            (Self::WaitServerHello(state), Got::HelloRetryRequest(request))
                if !state.is_retried() =>
            {
                state
                    .read_hello_retry_request(request, encoded, cx)
                    .map(Self::WaitServerHello)
            }

            (Self::WaitEncryptedExtensions(state), Got::EncryptedExtensions(extensions)) => state
                .read_encrypted_extensions(extensions, encoded, cx)
                .map(Self::WaitCertificateOrRequest),

            (Self::WaitCertificateOrRequest(state), Got::CertificateRequest(request)) => state
                .read_certificate_request(request, encoded)
                .map(Self::WaitCertificate),

            (Self::WaitCertificateOrRequest(state), Got::Certificate(certificate)) => state
                .without_request()
                .read_certificate(certificate, encoded, cx)
                .map(Self::WaitCertificateVerify),

            (Self::WaitCertificate(state), Got::Certificate(certificate)) => state
                .read_certificate(certificate, encoded, cx)
                .map(Self::WaitCertificateVerify),

            (Self::WaitCertificateVerify(state), Got::CertificateVerify(verify)) => state
                .read_certificate_verify(verify, encoded, cx)
                .map(Self::WaitFinished),

            (Self::WaitFinished(state), Got::Finished(verify_data)) => state
                .read_finished(verify_data, encoded, cx)
                .map(Self::Connected),

            (Self::Connected(state), Got::NewSessionTicket(ticket)) => state
                .read_new_session_ticket(ticket, cx)
                .map(Self::Connected),

            (Self::Connected(state), Got::KeyUpdate(request)) => {
                state.read_key_update(request, cx).map(Self::Connected)
            }

            // RFC 9846 §4: anything else is an unexpected_message. Of these, §4.7.2 names a
            // CertificateRequest after the handshake, and §4.7.3 a KeyUpdate before its end.
            (state, payload) => Err(Error::InappropriateHandshakeMessage {
                expect_types: state.expected_types(),
                got_type: match payload {
                    Got::HelloRetryRequest(_) => HandshakeType::HelloRetryRequest,
                    _ => typ,
                },
            }),
        }
    }

    fn expected_types(&self) -> Vec<HandshakeType> {
        match self {
            Self::WaitServerHello(state) if state.is_retried() => vec![HandshakeType::ServerHello],
            Self::WaitServerHello(_) => {
                vec![HandshakeType::ServerHello, HandshakeType::HelloRetryRequest]
            }
            Self::WaitEncryptedExtensions(_) => vec![HandshakeType::EncryptedExtensions],
            Self::WaitCertificateOrRequest(_) => {
                vec![
                    HandshakeType::Certificate,
                    HandshakeType::CertificateRequest,
                ]
            }
            Self::WaitCertificate(_) => vec![HandshakeType::Certificate],
            Self::WaitCertificateVerify(_) => vec![HandshakeType::CertificateVerify],
            Self::WaitFinished(_) => vec![HandshakeType::Finished],
            Self::Connected(_) => vec![HandshakeType::NewSessionTicket, HandshakeType::KeyUpdate],
        }
    }
}

impl Machine<ClientConnectionData> for ClientMachine {
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<(), Error> {
        let state = self.state.take().ok_or(Error::HandshakeNotComplete)?;
        self.state = Some(state.read(message, cx)?);
        Ok(())
    }

    fn refresh_traffic_keys(&mut self, common: &mut CommonState) -> Result<(), Error> {
        match &mut self.state {
            Some(ClientState::Connected(state)) => {
                state.traffic_mut().refresh(common);
                Ok(())
            }
            _ => Err(Error::HandshakeNotComplete),
        }
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        match &self.state {
            Some(ClientState::Connected(state)) => state
                .traffic()
                .export_keying_material(output, label, context),
            _ => Err(Error::HandshakeNotComplete),
        }
    }
}
