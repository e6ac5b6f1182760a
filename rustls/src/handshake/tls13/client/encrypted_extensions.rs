//! WAIT_EE: EncryptedExtensions (RFC 9846 §4.4.1).

use alloc::boxed::Box;

use super::certificate_request::WaitCertificateOrRequest;
use super::finished::WaitFinished;
use super::in_progress::{EarlyDataState, Handshake};
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::{EarlyData, EarlyDataRejected};
use crate::enums::{AlertDescription, ExtensionType};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::raw_public_key::CertificateTypes;
use crate::logging::debug;
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::extensions::{ExtensionContext, ProtocolName, allowed_in};

/// The next state, which depends on how the server authenticates.
pub(super) enum AfterEncryptedExtensions {
    Certificates(WaitCertificateOrRequest),
    Resumed(WaitFinished),
}

/// Waits for EncryptedExtensions. The ServerHello was accepted.
pub(crate) struct WaitEncryptedExtensions(Box<Handshake>);

impl WaitEncryptedExtensions {
    pub(super) fn new(handshake: Box<Handshake>) -> Self {
        Self(handshake)
    }

    pub(super) fn read_encrypted_extensions(
        mut self,
        extensions: EncryptedExtensions<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<AfterEncryptedExtensions, Failure> {
        // only offered extensions pass this, so the log line is short
        self.check_extensions(&extensions.received)?;
        debug!("extensions of the server: {:?}", extensions.received);
        let ech = extensions.encrypted_client_hello;
        self.0.offer.ech.read_encrypted_extensions(ech)?;
        // a resumed session involves no certificate, and belongs to the same verifier and resolver
        let may_be_asked = self.0.session.is_none() && self.check_certificate_types(&extensions)?;
        self.0.offer.check_protocol(extensions.selected_protocol)?;
        if let Some(selected) = extensions.selected_protocol {
            debug!("application protocol {}", selected.0.escape_ascii());
            if !self.0.offer.ech.is_rejected() {
                cx.negotiated.alpn_protocol = Some(selected.0.to_vec());
            }
        }
        cx.transport
            .set_peer_parameters(&extensions.transport_parameters)?;
        let kind = &mut cx.negotiated.handshake_kind;
        match &self.0.session {
            Some(_) => *kind = Some(HandshakeKind::Resumed),
            None => {
                kind.get_or_insert(HandshakeKind::Full);
            }
        }
        if extensions.early_data_ack {
            self.accept_early_data(extensions.selected_protocol)?;
            cx.negotiated.facts.early_data = EarlyData::Accepted;
        } else if self.0.early_data == EarlyDataState::Offered {
            // the server skips the early data, and the application may send it again
            debug!("the server rejects early data");
            cx.negotiated.facts.early_data = EarlyData::Rejected(EarlyDataRejected::ByServer);
            self.0.early_data = EarlyDataState::No;
            self.0.end_early_data(cx.transport);
        }

        self.0.transcript.add(encoded);
        Ok(match &self.0.session {
            // RFC 9846 §2.2: the PSK of a resumed session authenticates the server
            Some(session) => {
                self.0.offer.verification = Some(session.common.verification());
                let server_chain = session.common.server_chain().clone();
                cx.negotiated
                    .set_peer(server_chain, &self.0.offer.config.provider);
                AfterEncryptedExtensions::Resumed(WaitFinished::new(self.0, None))
            }
            None => AfterEncryptedExtensions::Certificates(WaitCertificateOrRequest::new(
                self.0,
                may_be_asked,
            )),
        })
    }

    /// Handles the server's acceptance of early data. RFC 9846 §4.3.10, §4.3.11: the server must
    /// resume the session that the early data belongs to, with the same suite and protocol.
    fn accept_early_data(&mut self, selected: Option<ProtocolName<'_>>) -> Result<(), Failure> {
        let Some(session) = &self.0.session else {
            return Err(PeerMisbehaved::EarlyDataExtensionWithoutResumption.into());
        };
        if self.0.early_data != EarlyDataState::Offered {
            return Err(PeerMisbehaved::EarlyDataOfferedWithVariedCipherSuite.into());
        }
        if session.alpn_protocol() != selected.map(|name| name.0) {
            // no specific error exists for this
            return Err(Failure::new(
                Error::General("early data was accepted under another application protocol".into()),
                AlertDescription::IllegalParameter,
            ));
        }
        self.0.early_data = EarlyDataState::Accepted;
        Ok(())
    }

    fn check_extensions(&self, received: &[ExtensionType]) -> Result<(), PeerMisbehaved> {
        for typ in received {
            // RFC 9846 §4.3: an unoffered extension is an unsupported_extension
            if !self.0.offered.contains(*typ) {
                return Err(PeerMisbehaved::UnsolicitedEncryptedExtension);
            }
            // RFC 9846 §4.4.1: extensions that belong in other messages are rejected, too
            if !allowed_in(*typ, ExtensionContext::EncryptedExtensions) {
                return Err(PeerMisbehaved::DisallowedEncryptedExtension);
            }
        }
        Ok(())
    }

    /// Checks the certificate types that the server selects. An extension that was not offered has
    /// already been rejected. Returns true if the client may be asked for a certificate.
    fn check_certificate_types(
        &self,
        extensions: &EncryptedExtensions<'_>,
    ) -> Result<bool, PeerIncompatible> {
        let config = &self.0.offer.config;
        let client_is_raw = config.client_auth().only_raw_public_keys();
        let server_is_raw = config.verifier().requires_raw_public_keys();
        CertificateTypes::check_answer(extensions, client_is_raw, server_is_raw)
    }
}
