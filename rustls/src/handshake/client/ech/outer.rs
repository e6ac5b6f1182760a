//! The ClientHelloOuter (RFC 9849 §6.1), which is sent and carries the encrypted ClientHelloInner.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::DnsName;
use rustls_core::crypto::hpke::{HpkePublicKey, HpkeSealer};
use rustls_core::ech_config::HpkeSymmetricCipherSuite;
use rustls_core::provider::CryptoProvider;

use super::grease::GreasePsk;
use super::inner::encode_inner;
use crate::config::ech::EchConfig;
use crate::error::Error;
use crate::handshake::random::random_bytes;
use crate::msgs::client_extensions::{ClientExtensions, Layout};
use crate::msgs::client_hello::{ClientHello, Random};
use crate::msgs::ech::OuterEch;
use crate::msgs::server_name::ServerNamePayload;
use crate::msgs::{EncodeMessage, HANDSHAKE_HEADER_LEN};

/// The ClientHelloOuter of a connection, until it is known whether the server uses the inner or the
/// outer hello.
pub(crate) struct OuterHello {
    pub(super) random: Random,
    pub(super) public_name: DnsName<'static>,
    maximum_name_length: u8,
    cipher_suite: HpkeSymmetricCipherSuite,
    config_id: u8,
    /// The encapsulated key of the HPKE context. Empty once it is in a message.
    enc: Vec<u8>,
    /// The HPKE context. It counts its messages, so the second ClientHello must be opened after the
    /// first (RFC 9849 §6.1.5).
    context: Box<dyn HpkeSealer>,
    pub(super) grease_psk: Option<GreasePsk>,
    /// The latest ClientHelloOuter, header included.
    pub(super) message: Vec<u8>,
    /// The body of the `encrypted_client_hello` extension in `message`.
    pub(super) extension: Vec<u8>,
    /// True once a HelloRetryRequest has confirmed ECH.
    pub(super) is_confirmed: bool,
}

impl OuterHello {
    /// Creates an outer hello without a message yet.
    ///
    /// # Errors
    ///
    /// Returns errors of [`Hpke::setup_sealer`](crate::crypto::hpke::Hpke::setup_sealer), and
    /// [`Error::FailedToGetRandomBytes`].
    pub(super) fn new(config: &EchConfig, provider: &CryptoProvider) -> Result<Self, Error> {
        let contents = config.contents();
        let public_key = HpkePublicKey(contents.key_config.public_key.clone());
        let (enc, context) = config.suite.setup_sealer(config.info(), &public_key)?;
        Ok(Self {
            // RFC 9849 §6.1: not the random of the inner hello
            random: Random(random_bytes(provider)?),
            public_name: contents.public_name.clone(),
            maximum_name_length: contents.maximum_name_length,
            cipher_suite: config.suite.suite().sym,
            config_id: contents.key_config.config_id,
            enc: enc.0,
            context,
            grease_psk: None,
            message: Vec::new(),
            extension: Vec::new(),
            is_confirmed: false,
        })
    }

    /// Encrypts `inner`, whose encoding is `inner_message`, binder included.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the message would be too long, without encrypting anything.
    /// Also returns HPKE errors, and [`Error::FailedToGetRandomBytes`].
    pub(crate) fn seal(
        &mut self,
        inner: ClientHello<'_>,
        inner_message: &[u8],
        provider: &CryptoProvider,
    ) -> Result<(), Error> {
        let (inner, encoded_inner) =
            encode_inner(inner, Some(inner_message), self.maximum_name_length);
        let tag_len = self.cipher_suite.aead_id.tag_len().unwrap_or_default();
        self.grease_psk = match (&inner.extensions.pre_shared_key, self.grease_psk.take()) {
            (Some(_), Some(mut first)) => {
                first.renew(provider)?;
                Some(first)
            }
            (Some(psk), None) => Some(GreasePsk::in_shape_of(psk, provider)?),
            (None, _) => None,
        };

        let mut ech = OuterEch {
            cipher_suite: self.cipher_suite,
            config_id: self.config_id,
            enc: &self.enc,
            payload: &vec![0; encoded_inner.len() + tag_len],
        };
        let extension = ech.encoded();
        let hello = ClientHello {
            random: self.random,
            extensions: ClientExtensions {
                server_name: Some(ServerNamePayload::DnsName(self.public_name.borrow())),
                encrypted_client_hello: Some(&extension),
                pre_shared_key: self.grease_psk.as_ref().map(GreasePsk::extension),
                layout: Layout::Shuffled,
                ..inner.extensions
            },
            ..inner
        };
        // RFC 9849 §5.2: the AAD is the message without its header, with zeros for the payload
        let mut aad = Vec::new();
        hello.encode_part(&mut aad)?;
        let aad = aad.get(HANDSHAKE_HEADER_LEN..).unwrap_or_default();
        let payload = self.context.seal(aad, &encoded_inner)?;
        if payload.len() != ech.payload.len() {
            return Err(Error::General(
                "the provider's HPKE returned a ciphertext of the wrong length".into(),
            ));
        }

        ech.payload = &payload;
        let extension = ech.encoded();
        let hello = ClientHello {
            extensions: ClientExtensions {
                encrypted_client_hello: Some(&extension),
                ..hello.extensions
            },
            ..hello
        };
        let mut message = Vec::with_capacity(aad.len() + HANDSHAKE_HEADER_LEN);
        hello.encode_part(&mut message)?;
        self.message = message;
        self.extension = extension;
        // RFC 9849 §6.1.5: a second ClientHello has an empty enc
        self.enc = Vec::new();
        Ok(())
    }

    /// Returns the latest ClientHelloOuter, header included.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }
}

#[cfg(all(test, feature = "aws_lc_rs", feature = "std"))]
mod tests;
