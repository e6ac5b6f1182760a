//! WAIT_EE: EncryptedExtensions (RFC 9846 §4.4.1).

use alloc::boxed::Box;

use super::certificate_request::WaitCertificateOrRequest;
use super::in_progress::Handshake;
use crate::enums::ExtensionType;
use crate::error::PeerMisbehaved;
use crate::handshake::{ClientContext, Failure};
use crate::logging::debug;
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::extensions::{ExtensionContext, ProtocolName, allowed_in};

/// The ServerHello was accepted.
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
    ) -> Result<WaitCertificateOrRequest, Failure> {
        debug!("extensions of the server: {:?}", extensions.received);
        self.check_extensions(&extensions.received)?;
        if let Some(selected) = extensions.selected_protocol {
            self.check_protocol(selected)?;
            debug!("application protocol {}", selected.0.escape_ascii());
            cx.negotiated.alpn_protocol = Some(selected.0.to_vec());
        }

        self.0.transcript.add(encoded);
        Ok(WaitCertificateOrRequest::new(self.0))
    }

    fn check_extensions(&self, received: &[ExtensionType]) -> Result<(), PeerMisbehaved> {
        for typ in received {
            // RFC 9846 §4.3: what was not offered is an unsupported_extension
            if !self.0.offered.contains(*typ) {
                return Err(PeerMisbehaved::UnsolicitedEncryptedExtension);
            }
            // RFC 9846 §4.4.1: and what is forbidden here is refused, too
            if !allowed_in(*typ, ExtensionContext::EncryptedExtensions) {
                return Err(PeerMisbehaved::DisallowedEncryptedExtension);
            }
        }
        Ok(())
    }

    fn check_protocol(&self, selected: ProtocolName<'_>) -> Result<(), PeerMisbehaved> {
        let offer = &self.0.offer;
        let offered = || offer.alpn_protocols.iter().any(|name| name == selected.0);
        // RFC 7301 §3.1: the server selects one of the protocols offered
        if offer.config.check_selected_alpn && !offered() {
            return Err(PeerMisbehaved::SelectedUnofferedApplicationProtocol);
        }
        Ok(())
    }
}
