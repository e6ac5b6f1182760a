//! Encrypted ClientHello on the client (RFC 9849): a ClientHello for the true server, the inner one, encrypted inside of
//! one for the public name of its network, the outer one.
//!
//! ```text
//!   handshake::client::offer ──► ClientHelloInner ── outer extensions taken out, padded ──► EncodedClientHelloInner
//!                                       │                                                            │ HPKE
//!                                       │ public name, fresh random, GREASE PSK                      ▼
//!                                       └───────────────────────────────────────────► ClientHelloOuter ──► server
//!
//!   HelloRetryRequest or ServerHello ── confirmed ──► the handshake goes on with ClientHelloInner
//!                                    ── else ───────► with ClientHelloOuter, for the public name, to its end:
//!                                                     then ech_required, and an error with the server's retry_configs
//! ```
//!
//! - `config`: what an application chooses, and which configuration of a server's list is used.
//! - `outer`: the ClientHelloOuter, and the HPKE context that encrypts the inner one.
//! - `grease`: an extension that looks the same and means nothing.
//! - `acceptance`: how the server says that it uses the inner hello, and what changes if it does not.
//!
//! [`Ech`] is all that the rest of a handshake sees. The wire is in `msgs::ech` and `msgs::client_extensions`.

mod acceptance;
mod config;
mod grease;
mod outer;

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::ech_config::EchConfigPayload;

pub use self::config::{EchConfig, EchGreaseConfig, EchMode, EchStatus};
use self::grease::GreasePsk;
pub(crate) use self::outer::OuterHello;
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered_session::OfferedSession;
use crate::msgs::client_extensions::Layout;
use crate::msgs::ech::{INNER, read_retry_configs};
use crate::msgs::pre_shared_key::OfferedPsks;

/// What a client's ClientHello says of ECH, from the first one to the end of the handshake.
pub(crate) enum Ech {
    /// Nothing.
    Absent,
    /// An extension that means nothing.
    Grease(Vec<u8>),
    /// It is a ClientHelloInner. Once there is a ServerHello, the server has accepted it.
    Inner,
    /// It is a ClientHelloOuter, which is what the server has used.
    Rejected(Box<RejectedEch>),
}

/// An ECH offer that the server has rejected.
pub(crate) struct RejectedEch {
    /// The body of the extension that was sent.
    pub(crate) extension: Vec<u8>,
    /// What a second ClientHello offers in the place of a session, as the first one did.
    grease_psk: Option<GreasePsk>,
    /// What the server says to use instead. Nothing comes of it unless the server is authenticated.
    pub(crate) retry_configs: Option<Vec<EchConfigPayload>>,
}

impl Ech {
    /// The body of the `encrypted_client_hello` extension.
    pub(crate) fn extension(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => None,
            Self::Inner => Some(INNER),
            // RFC 9849 §6.2.1: after a HelloRetryRequest, the same again. RFC 9846 §4.2.2: a hello that is rejected
            // has no other extension then, either
            Self::Grease(extension) => Some(extension),
            Self::Rejected(rejected) => Some(&rejected.extension),
        }
    }

    /// What is offered where no session is.
    pub(crate) fn grease_psk(&self) -> Option<OfferedPsks<'_>> {
        match self {
            Self::Rejected(rejected) => rejected.grease_psk.as_ref().map(GreasePsk::extension),
            Self::Absent | Self::Grease(_) | Self::Inner => None,
        }
    }

    /// What is known before the server has answered.
    pub(crate) fn status(&self) -> EchStatus {
        match self {
            Self::Absent => EchStatus::NotOffered,
            Self::Grease(_) => EchStatus::Grease,
            Self::Inner => EchStatus::Offered,
            Self::Rejected(_) => EchStatus::Rejected,
        }
    }

    /// How the hello lays out its extensions.
    pub(crate) fn layout(&self) -> Layout {
        match self {
            Self::Inner => Layout::Inner,
            Self::Absent | Self::Grease(_) | Self::Rejected(_) => Layout::Shuffled,
        }
    }

    /// Whether the server of this handshake is but the one of the public name: RFC 9849 §6.1.7, nothing it says is
    /// reported or kept.
    pub(crate) fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }

    /// Reads what EncryptedExtensions have as `encrypted_client_hello`.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::UnsolicitedEchExtension`], and that it is malformed.
    pub(crate) fn read_encrypted_extensions(&mut self, body: Option<&[u8]>) -> Result<(), Error> {
        let Some(body) = body else {
            return Ok(());
        };
        match self {
            // RFC 9849 §5: nothing answers the inner variant
            Self::Absent | Self::Inner => Err(PeerMisbehaved::UnsolicitedEchExtension.into()),
            // RFC 9849 §6.2.1: checked, and not kept
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

    /// Ends a handshake that is otherwise complete.
    ///
    /// # Errors
    ///
    /// [`PeerIncompatible::ServerRejectedEncryptedClientHello`] if ECH is rejected: the server has authenticated itself for
    /// the public name, and so its `retry_configs`.
    pub(crate) fn check_not_rejected(&mut self) -> Result<(), PeerIncompatible> {
        match self {
            Self::Rejected(rejected) => Err(PeerIncompatible::ServerRejectedEncryptedClientHello(
                rejected.retry_configs.take(),
            )),
            Self::Absent | Self::Grease(_) | Self::Inner => Ok(()),
        }
    }
}

/// Has `offer` say of ECH what its configuration wants. If its hellos are inner ones then, what carries them is returned, too.
///
/// # Errors
///
/// Those of HPKE: the server's public key may be malformed; [`Error::FailedToGetRandomBytes`].
pub(crate) fn prepare(
    mut offer: Offer,
    shares: Option<&KeyShares>,
    session: Option<&OfferedSession>,
) -> Result<(Offer, Option<Box<OuterHello>>), Error> {
    let mut outer = None;
    offer.ech = match &offer.config.ech_mode {
        None => Ech::Absent,
        Some(EchMode::Grease(config)) => {
            Ech::Grease(grease::extension(config, &offer, shares, session)?)
        }
        Some(EchMode::Enable(config)) => {
            outer = Some(Box::new(OuterHello::new(config, &offer.config.provider)?));
            Ech::Inner
        }
    };
    Ok((offer, outer))
}
