//! The client's reply to a CertificateRequest (RFC 9846 §4.5.1).

use crate::config::compress::CertCompressor;
use crate::config::settings::ClientSettings;
use crate::handshake::client::client_auth::CertificateChoice;
use crate::handshake::flight::Flight;
use crate::handshake::raw_public_key::sent_chain;
use crate::handshake::tls13::certificate_compression::add_certificate;
use crate::msgs::certificate::CertificateMsg;

/// The client's reply to a CertificateRequest.
pub(super) struct ClientAuth {
    pub(super) choice: CertificateChoice,
    /// The compressor for the client's Certificate, if the server supports its algorithm.
    pub(super) compressor: Option<&'static dyn CertCompressor>,
}

impl ClientAuth {
    /// Adds the Certificate, which may be empty.
    pub(super) fn add_certificate(&self, flight: &mut Flight<'_>, config: &ClientSettings) {
        let chain = match &self.choice {
            CertificateChoice::Certificate(certified_key, _) => {
                let is_raw = config.client_auth().only_raw_public_keys();
                sent_chain(certified_key, is_raw)
            }
            // RFC 9846 §4.5.1: without a certificate, an empty message is sent
            CertificateChoice::Empty => &[],
        };
        // compressing an empty Certificate gains nothing
        let compressor = self.compressor.filter(|_| !chain.is_empty());
        let cache = &config.cert_compression_cache;
        add_certificate(
            &CertificateMsg::new(&[], chain, None),
            compressor,
            cache,
            flight,
        );
    }
}
