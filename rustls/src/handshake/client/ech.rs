//! Encrypted ClientHello on the client (RFC 9849).
//!
//! The inner ClientHello is for the real server. It is sent encrypted inside the outer one, which
//! shows the public name of the server's network instead of the server's own.
//!
//! ```text
//!   handshake::client::offer
//!              ▼
//!       ClientHelloInner ── compressed, padded ──► EncodedClientHelloInner
//!              │                                              │ HPKE
//!              │ public name, fresh random, GREASE PSK        ▼
//!              └──────────────────────────────────────► ClientHelloOuter ──► server
//!
//!   HelloRetryRequest or ServerHello
//!       ├─ confirmed ──► continue with ClientHelloInner
//!       └─ otherwise ──► continue with ClientHelloOuter, for the public name, to the end;
//!                        then ech_required, and an error with the server's retry_configs
//! ```
//!
//! - `config::ech`: the application's choices, and the selection of a configuration from a server's
//!   list.
//! - `inner`: the encoding of the inner hello that is encrypted.
//! - `outer`: the ClientHelloOuter, and the HPKE context that encrypts the inner hello.
//! - `grease`: an extension that looks the same but has no content, and a fake session for the
//!   outer hello.
//! - `acceptance`: detection of which hello the server uses, and the switch to the outer one.
//!
//! The rest of a handshake uses [`prepare`], [`Ech`], [`OuterHello`], and methods of `SentHello`.
//! The wire format is in `msgs::ech` and `msgs::client_extensions`.

mod acceptance;
mod grease;
mod inner;
mod outer;

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::ech_config::EchConfigPayload;

use self::grease::GreasePsk;
pub(crate) use self::outer::OuterHello;
use crate::config::ech::{EchMode, EchStatus};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered_session::OfferedSession;
use crate::msgs::client_extensions::Layout;
use crate::msgs::ech::{INNER, read_retry_configs};
use crate::msgs::pre_shared_key::OfferedPsks;

/// The state of ECH on a client, from the first ClientHello to the end of the handshake.
pub(crate) enum Ech {
    /// The hello does not use ECH.
    Absent,
    /// The hello contains an extension that only looks like ECH, with this body.
    Grease(Vec<u8>),
    /// The hello is a ClientHelloInner. After the ServerHello, this means that the server has
    /// accepted ECH.
    Inner,
    /// The server uses the ClientHelloOuter.
    Rejected(Box<RejectedEch>),
}

/// An ECH offer that the server rejected.
pub(crate) struct RejectedEch {
    /// The body of the `encrypted_client_hello` extension that was sent.
    pub(crate) extension: Vec<u8>,
    /// The fake PSK that a second ClientHello repeats if the first one had it.
    grease_psk: Option<GreasePsk>,
    /// The configurations that the server recommends instead. They are used only if the server is
    /// authenticated.
    pub(crate) retry_configs: Option<Vec<EchConfigPayload>>,
}

impl Ech {
    /// Returns the body of the `encrypted_client_hello` extension.
    pub(crate) fn extension(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => None,
            Self::Inner => Some(INNER),
            // RFC 9849 §6.2.1: repeated unchanged after a HelloRetryRequest. RFC 9846 §4.2.2: the
            // second hello of a rejected offer may not change the extension either
            Self::Grease(extension) => Some(extension),
            Self::Rejected(rejected) => Some(&rejected.extension),
        }
    }

    /// Returns the fake PSK that replaces a session in the offer.
    pub(crate) fn grease_psk(&self) -> Option<OfferedPsks<'_>> {
        match self {
            Self::Rejected(rejected) => rejected.grease_psk.as_ref().map(GreasePsk::extension),
            Self::Absent | Self::Grease(_) | Self::Inner => None,
        }
    }

    /// Returns the status of the hello. ECH still counts as offered once the server has accepted
    /// it.
    pub(crate) fn status(&self) -> EchStatus {
        match self {
            Self::Absent => EchStatus::NotOffered,
            Self::Grease(_) => EchStatus::Grease,
            Self::Inner => EchStatus::Offered,
            Self::Rejected(_) => EchStatus::Rejected,
        }
    }

    /// Returns the order of the hello's extensions.
    pub(crate) fn layout(&self) -> Layout {
        match self {
            Self::Inner => Layout::Inner,
            Self::Absent | Self::Grease(_) | Self::Rejected(_) => Layout::Shuffled,
        }
    }

    /// True if ECH was rejected. RFC 9849 §6.1.7: the peer then authenticates only for the public
    /// name. Its identity and its application protocol are not reported, and no session is stored.
    pub(crate) fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }

    /// Reads the `encrypted_client_hello` extension of EncryptedExtensions.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::UnsolicitedEchExtension`] if the client sent no extension that the
    /// server may answer, and a decoding error if the extension is malformed.
    pub(crate) fn read_encrypted_extensions(&mut self, body: Option<&[u8]>) -> Result<(), Error> {
        let Some(body) = body else {
            return Ok(());
        };
        match self {
            // RFC 9849 §5: only the outer variant may be answered
            Self::Absent | Self::Inner => Err(PeerMisbehaved::UnsolicitedEchExtension.into()),
            // RFC 9849 §6.2.1: check the syntax, and ignore the content
            Self::Grease(_) => {
                read_retry_configs(body)?;
                Ok(())
            }
            Self::Rejected(rejected) => {
                rejected.retry_configs = Some(read_retry_configs(body)?);
                Ok(())
            }
        }
    }

    /// Fails a completed handshake in which ECH was rejected.
    ///
    /// # Errors
    ///
    /// Returns [`PeerIncompatible::ServerRejectedEncryptedClientHello`] if ECH was rejected. The
    /// server has authenticated itself for the public name, so its `retry_configs` can be trusted.
    pub(crate) fn check_not_rejected(&mut self) -> Result<(), PeerIncompatible> {
        match self {
            Self::Rejected(rejected) => Err(PeerIncompatible::ServerRejectedEncryptedClientHello(
                rejected.retry_configs.take(),
            )),
            Self::Absent | Self::Grease(_) | Self::Inner => Ok(()),
        }
    }
}

/// Sets up ECH in `offer`, as its configuration requires. Returns the outer hello if the hellos of
/// `offer` are now inner ones.
///
/// # Errors
///
/// Returns HPKE errors, for example if the public key is malformed, and
/// [`Error::FailedToGetRandomBytes`].
pub(crate) fn prepare(
    offer: &mut Offer,
    shares: Option<&KeyShares>,
    session: Option<&OfferedSession>,
) -> Result<Option<Box<OuterHello>>, Error> {
    let mut outer = None;
    offer.ech = match &offer.config.ech_mode {
        None => Ech::Absent,
        Some(EchMode::Grease(config)) => {
            Ech::Grease(grease::extension(config, offer, shares, session)?)
        }
        Some(EchMode::Enable(config)) => {
            outer = Some(Box::new(OuterHello::new(config, &offer.config.provider)?));
            Ech::Inner
        }
    };
    Ok(outer)
}
