//! The key shares in a ClientHello (RFC 9846 §4.3.8): one exchange, which may cover two groups.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rustls_core::crypto::{ActiveKeyExchange, SupportedKxGroup};

use crate::enums::NamedGroup;
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::ffdhe::check_share;
use crate::keys::tls13::{EarlySecret, HandshakeSecret};
use crate::msgs::extensions::KeyShareEntry;

/// A key exchange in progress.
///
/// A hybrid exchange may also offer its classical part as a separate share, without generating a
/// second key. Then a server that supports only that part needs no HelloRetryRequest.
pub(crate) struct KeyShares {
    exchange: Box<dyn ActiveKeyExchange>,
    /// The group of the classical part, if it is offered as well.
    component: Option<NamedGroup>,
}

impl KeyShares {
    /// Starts an exchange for `group`. Its classical part is offered as well if it follows the
    /// hybrid among the `offered` groups.
    pub(crate) fn start(
        group: &'static dyn SupportedKxGroup,
        offered: impl Iterator<Item = NamedGroup>,
    ) -> Result<Self, Error> {
        let mut shares = Self::start_single(group)?;
        let hybrid = shares.exchange.group();
        shares.component = shares
            .exchange
            .hybrid_component()
            .map(|(component, _)| component)
            // RFC 9846 §4.3.8: shares must be for offered groups, without duplicates, in the same
            // order
            .filter(|component| {
                let both = [hybrid, *component];
                offered.filter(|group| both.contains(group)).eq(both)
            });
        Ok(shares)
    }

    /// Starts an exchange for `group` alone, as required after a HelloRetryRequest.
    pub(crate) fn start_single(group: &'static dyn SupportedKxGroup) -> Result<Self, Error> {
        Ok(Self {
            exchange: group.start()?,
            component: None,
        })
    }

    pub(crate) fn entries(&self) -> Vec<KeyShareEntry<'_>> {
        let mut entries = Vec::with_capacity(2);
        entries.push(KeyShareEntry {
            group: self.exchange.group(),
            payload: self.exchange.pub_key(),
        });
        if self.component.is_some() {
            if let Some((group, payload)) = self.exchange.hybrid_component() {
                entries.push(KeyShareEntry { group, payload });
            }
        }
        entries
    }

    /// Returns the total length of the shares in bytes.
    pub(crate) fn len(&self) -> usize {
        let component = self.exchange.hybrid_component();
        let component = component.filter(|_| self.component.is_some());
        self.exchange.pub_key().len() + component.map_or(0, |(_, payload)| payload.len())
    }

    pub(crate) fn contains(&self, group: NamedGroup) -> bool {
        self.exchange.group() == group || self.component == Some(group)
    }

    /// Completes the exchange with the server's share.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::WrongGroupForKeyShare`] if the client sent no share for the group,
    /// and errors from the exchange.
    pub(crate) fn complete(
        self,
        server_share: &KeyShareEntry<'_>,
        early_secret: EarlySecret,
    ) -> Result<HandshakeSecret, Error> {
        // RFC 9846 §4.3.8: the client must have sent a share for the server's group. After a
        // HelloRetryRequest that is the requested group.
        if !self.contains(server_share.group) {
            return Err(PeerMisbehaved::WrongGroupForKeyShare.into());
        }
        if self.component == Some(server_share.group) {
            let shared = self
                .exchange
                .complete_hybrid_component(server_share.payload)?;
            return Ok(early_secret.into_handshake_secret_with_shared(shared.secret_bytes()));
        }
        check_share(self.exchange.ffdhe_group(), server_share.payload)?;
        early_secret.into_handshake_secret(self.exchange, server_share.payload)
    }
}
