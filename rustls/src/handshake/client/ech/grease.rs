//! GREASE for Encrypted ClientHello: the extension sent by a client that does not have the server's
//! keys (RFC 9849 §6.2.1), and the fake session in a ClientHelloOuter (§6.1.2).

use alloc::vec;
use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize};
use rustls_core::provider::CryptoProvider;

use super::inner::encode_inner;
use crate::config::ech::EchGreaseConfig;
use crate::error::Error;
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered_session::OfferedSession;
use crate::handshake::random::random_bytes;
use crate::msgs::ech::{INNER, OuterEch};
use crate::msgs::pre_shared_key::{OfferedPsks, PskBinderEntry, PskIdentity};
use crate::suites::Tls13CipherSuite;

/// The tag length of the AEADs in RFC 9180 §7.3.
const TAG_LEN: usize = 16;

/// An inner hello of at most this many bytes always fits into a ClientHello, together with its
/// session.
const SURELY_FITS: usize = 2048;

/// The number of bytes to reserve for the rest of the extension: its header, a KEM public key, and
/// a tag.
const AROUND_INNER: usize = 512;

/// Creates a fake body of the `encrypted_client_hello` extension, as long as if the hello of
/// `offer` were encrypted in it.
///
/// # Errors
///
/// Returns HPKE errors, for example if the placeholder key is malformed, and
/// [`Error::FailedToGetRandomBytes`].
pub(super) fn extension(
    config: &EchGreaseConfig,
    offer: &Offer,
    shares: Option<&KeyShares>,
    session: Option<&OfferedSession>,
) -> Result<Vec<u8>, Error> {
    let suite = config.suite.suite();
    let mut inner_len = encoded_inner_len(offer, shares, session);
    if inner_len > SURELY_FITS && !fits_beside(inner_len, offer, shares, session) {
        // like real ECH, which omits the session if the hellos do not fit with it
        inner_len = encoded_inner_len(offer, shares, None);
    }
    let tag_len = suite.sym.aead_id.tag_len().unwrap_or(TAG_LEN);
    let mut payload = vec![0; inner_len + tag_len];
    let provider = &offer.config.provider;
    provider.secure_random.fill(&mut payload)?;
    // a fresh key of the KEM
    let (enc, _) = config.suite.setup_sealer(&[], &config.placeholder_key)?;

    let [config_id] = random_bytes(provider)?;
    Ok(OuterEch {
        cipher_suite: suite.sym,
        config_id,
        enc: &enc.0,
        payload: &payload,
    }
    .encoded())
}

/// Returns the length that a real EncodedClientHelloInner would have if the server's
/// `maximum_name_length` were 0.
fn encoded_inner_len(
    offer: &Offer,
    shares: Option<&KeyShares>,
    session: Option<&OfferedSession>,
) -> usize {
    let mut inner = offer.hello(shares, None, session);
    inner.extensions.encrypted_client_hello = Some(INNER);
    encode_inner(inner, None, 0).1.len()
}

/// True if a hello has room for both `session` and an extension with an inner hello of `inner_len`
/// bytes.
fn fits_beside(
    inner_len: usize,
    offer: &Offer,
    shares: Option<&KeyShares>,
    session: Option<&OfferedSession>,
) -> bool {
    let hello = offer.hello(shares, None, session).get_encoding();
    hello.len() + inner_len + AROUND_INNER <= LengthSize::U16.max_len()
}

/// A fake session, offered by a ClientHelloOuter whose ClientHelloInner offers a real one.
pub(super) struct GreasePsk {
    identity: Vec<u8>,
    obfuscated_ticket_age: u32,
    binder: Vec<u8>,
}

impl GreasePsk {
    /// Creates a fake with the lengths of `psk`, which has one identity.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetRandomBytes`].
    pub(super) fn in_shape_of(
        psk: &OfferedPsks<'_>,
        provider: &CryptoProvider,
    ) -> Result<Self, Error> {
        let identity_len = psk.identities.first().map_or(0, |it| it.identity.len());
        let binder_len = psk.binders.first().map_or(0, |it| it.0.len());
        let mut identity = vec![0; identity_len];
        provider.secure_random.fill(&mut identity)?;
        let mut psk = Self {
            identity,
            obfuscated_ticket_age: 0,
            binder: vec![0; binder_len],
        };
        psk.renew(provider)?;
        Ok(psk)
    }

    /// Replaces the age and the binder for the second ClientHello, which offers the same identity.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetRandomBytes`].
    pub(super) fn renew(&mut self, provider: &CryptoProvider) -> Result<(), Error> {
        self.obfuscated_ticket_age = u32::from_be_bytes(random_bytes(provider)?);
        provider.secure_random.fill(&mut self.binder)?;
        Ok(())
    }

    pub(super) fn has_hash_of(&self, suite: &Tls13CipherSuite) -> bool {
        self.binder.len() == suite.common.hash_provider.output_len()
    }

    pub(super) fn extension(&self) -> OfferedPsks<'_> {
        OfferedPsks {
            identities: vec![PskIdentity {
                identity: &self.identity,
                obfuscated_ticket_age: self.obfuscated_ticket_age,
            }],
            binders: vec![PskBinderEntry(&self.binder)],
        }
    }
}
