//! WAIT_SH: the ServerHello (RFC 9846 §4.2.3), which decides version, suite and key exchange.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ClientContext;
use super::encrypted_extensions::WaitEncryptedExtensions;
use super::hello::{CompatibilityCcs, Offer};
use super::key_shares::KeyShares;
use crate::conn::HandshakeKind;
use crate::crypto::tls13::OkmBlock;
use crate::enums::{Compression, ExtensionType, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::msgs::client_hello::Random;
use crate::msgs::extensions::{ExtensionContext, allowed_in};
use crate::msgs::server_hello::ServerHello;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};
use crate::tls13::key_schedule::{EarlySecret, HandshakeSecret};
use crate::tls13::traffic::{set_receiving_secret, set_sending_secret};
use crate::tls13::transcript::Transcript;

/// A ClientHello was sent.
pub(super) struct WaitServerHello {
    pub(super) offer: Box<Offer>,
    pub(super) shares: KeyShares,
    /// The last ClientHello, encoded.
    pub(super) client_hello: Vec<u8>,
    pub(super) retry: Option<Retry>,
    pub(super) ccs: CompatibilityCcs,
}

/// What a HelloRetryRequest has fixed already.
pub(super) struct Retry {
    pub(super) suite: &'static Tls13CipherSuite,
    /// From message_hash to the HelloRetryRequest.
    pub(super) transcript: Transcript,
}

impl WaitServerHello {
    pub(super) fn new(offer: Box<Offer>, shares: KeyShares, client_hello: Vec<u8>) -> Self {
        Self {
            offer,
            shares,
            client_hello,
            retry: None,
            ccs: CompatibilityCcs::default(),
        }
    }

    /// Whether a HelloRetryRequest has come.
    pub(super) fn is_retried(&self) -> bool {
        self.retry.is_some()
    }

    pub(super) fn read_server_hello(
        self,
        hello: ServerHello<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<WaitEncryptedExtensions, Error> {
        check_version(&hello)?;
        let suite = self.check_suite(&hello)?;
        self.check_legacy_fields(&hello)?;
        self.check_extensions(&hello.extensions.received)?;
        let server_share = hello
            .extensions
            .key_share
            .ok_or(PeerMisbehaved::MissingKeyShare)?;

        let kind = match self.retry {
            Some(_) => HandshakeKind::FullWithHelloRetryRequest,
            None => HandshakeKind::Full,
        };
        cx.common.negotiated_version = Some(ProtocolVersion::TLSv1_3);
        cx.common.suite = Some(SupportedCipherSuite::Tls13(suite));
        cx.common.kx_group = self.offer.offered_group(server_share.group);
        cx.common.handshake_kind = Some(kind);

        let mut transcript = match self.retry {
            Some(retry) => {
                let mut transcript = retry.transcript;
                transcript.add(&self.client_hello);
                transcript
            }
            None => Transcript::start(suite.common.hash_provider, &self.client_hello),
        };
        transcript.add(encoded);

        let secret = self
            .shares
            .complete(&server_share, EarlySecret::new(suite, None))?;
        let handshake = Handshake::new(self.offer, self.ccs, suite, transcript, secret);
        handshake.install_keys(cx)?;
        Ok(WaitEncryptedExtensions::new(handshake))
    }

    fn check_suite(&self, hello: &ServerHello<'_>) -> Result<&'static Tls13CipherSuite, Error> {
        // RFC 9846 §4.2.3: the suite is one of those offered, which are TLS 1.3's
        let suite = self.offer.suite(hello.cipher_suite)?;
        // RFC 9846 §4.2.4: and the HelloRetryRequest's, if there was one
        match &self.retry {
            Some(retry) if retry.suite != suite => {
                Err(PeerMisbehaved::SelectedDifferentCipherSuiteAfterRetry.into())
            }
            _ => Ok(suite),
        }
    }

    fn check_legacy_fields(&self, hello: &ServerHello<'_>) -> Result<(), Error> {
        // RFC 9846 §4.2.3: null compression, and the session id that was sent
        if hello.compression != Compression::Null {
            return Err(PeerMisbehaved::SelectedUnofferedCompression.into());
        }
        if hello.legacy_session_id_echo != self.offer.session_id {
            // 0.23 has no error for it and goes on; the one for a HelloRetryRequest says the same
            return Err(PeerMisbehaved::IllegalHelloRetryRequestWithWrongSessionId.into());
        }
        Ok(())
    }

    fn check_extensions(&self, received: &[ExtensionType]) -> Result<(), Error> {
        for typ in received {
            // RFC 9846 §4.3: what was not offered is an unsupported_extension
            if !self.offer.offers(*typ) {
                return Err(PeerMisbehaved::UnsolicitedServerHelloExtension.into());
            }
            // RFC 9846 §4.3: and what belongs into another message is refused, too
            if !allowed_in(*typ, ExtensionContext::ServerHello) {
                return Err(PeerMisbehaved::UnexpectedCleartextExtension.into());
            }
        }
        Ok(())
    }
}

/// RFC 9846 §4.3.1: supported_versions decides the version, before anything else is looked at.
fn check_version(hello: &ServerHello<'_>) -> Result<(), Error> {
    match hello.extensions.supported_version {
        Some(ProtocolVersion::TLSv1_3) => check_legacy_version(hello.legacy_version),
        // RFC 9846 §4.3.1: no older version is selected this way
        Some(ProtocolVersion::TLSv1_2) => {
            Err(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension.into())
        }
        // RFC 9846 §4.3.1: nor one that was not offered. The alert is 0.23's
        Some(_) => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
        None => Err(older_version(hello)),
    }
}

/// The legacy_version of a server that has selected TLS 1.3.
pub(super) fn check_legacy_version(version: ProtocolVersion) -> Result<(), Error> {
    // RFC 9846 §4.2.3: anything but 0x0303 is a protocol_version
    match version {
        ProtocolVersion::TLSv1_2 => Ok(()),
        _ => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
    }
}

/// The server chose a version before TLS 1.3, none of which was offered.
fn older_version(hello: &ServerHello<'_>) -> Error {
    // RFC 9846 §4.2.3: a server that knows TLS 1.3 must not be brought to anything older
    if is_downgrade_marker(&hello.random) {
        return PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported.into();
    }
    match hello.legacy_version {
        ProtocolVersion::TLSv1_2 => PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig.into(),
        _ => PeerIncompatible::ServerDoesNotSupportTls12Or13.into(),
    }
}

/// Whether a server's random ends as RFC 9846 §4.2.3 says for TLS 1.2, or for older versions.
fn is_downgrade_marker(random: &Random) -> bool {
    random.0.ends_with(b"DOWNGRD\x01") || random.0.ends_with(b"DOWNGRD\x00")
}

/// What lives from the ServerHello to the end of the handshake.
pub(super) struct Handshake {
    pub(super) offer: Box<Offer>,
    pub(super) ccs: CompatibilityCcs,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) secret: HandshakeSecret,
    pub(super) client_handshake_traffic_secret: OkmBlock,
    pub(super) server_handshake_traffic_secret: OkmBlock,
}

impl Handshake {
    fn new(
        offer: Box<Offer>,
        ccs: CompatibilityCcs,
        suite: &'static Tls13CipherSuite,
        transcript: Transcript,
        secret: HandshakeSecret,
    ) -> Self {
        let hellos = transcript.current();
        Self {
            offer,
            ccs,
            suite,
            transcript,
            client_handshake_traffic_secret: secret.client_handshake_traffic_secret(&hellos),
            server_handshake_traffic_secret: secret.server_handshake_traffic_secret(&hellos),
            secret,
        }
    }

    fn install_keys(&self, cx: &mut ClientContext<'_>) -> Result<(), Error> {
        let client_secret = &self.client_handshake_traffic_secret;
        let server_secret = &self.server_handshake_traffic_secret;
        self.offer
            .log_secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client_secret.as_ref());
        self.offer
            .log_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", server_secret.as_ref());

        set_receiving_secret(self.suite, server_secret, cx.common)?;
        // RFC 9846 §A.1: at once, so that an alert goes out protected
        set_sending_secret(self.suite, client_secret, cx.common);
        Ok(())
    }
}
