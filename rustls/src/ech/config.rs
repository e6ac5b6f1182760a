//! What an application chooses: whether to encrypt its ClientHellos, and for which server.

use alloc::vec::Vec;
use core::fmt;

use pki_types::{DnsName, EchConfigListBytes};
use rustls_core::codec::{Codec, Reader};
use rustls_core::ech_config::{EchConfigContents, EchConfigPayload};

use crate::crypto::hpke::{Hpke, HpkePublicKey, HpkeSuite};
use crate::error::{EncryptedClientHelloError, Error, InvalidMessage};

/// How a client uses Encrypted ClientHello (RFC 9849); for
/// [`with_ech`](crate::ConfigBuilder::with_ech).
#[derive(Clone, Debug)]
pub enum EchMode {
    /// ClientHellos are encrypted, for a server whose keys are known. The handshake fails if the server does not accept
    /// that.
    Enable(EchConfig),

    /// ClientHellos are not encrypted, but look as if they were (RFC 9849 §6.2): what real ones need so as not to stick out,
    /// for servers whose keys are not known.
    Grease(EchGreaseConfig),
}

impl EchMode {
    /// True when the HPKE suite in use is FIPS-approved.
    ///
    /// That says nothing about the rest of a connection: [`ClientConfig::fips`](crate::ClientConfig::fips) does.
    pub fn fips(&self) -> bool {
        match self {
            Self::Enable(config) => config.suite.fips(),
            Self::Grease(config) => config.suite.fips(),
        }
    }
}

impl From<EchConfig> for EchMode {
    fn from(config: EchConfig) -> Self {
        Self::Enable(config)
    }
}

impl From<EchGreaseConfig> for EchMode {
    fn from(config: EchGreaseConfig) -> Self {
        Self::Grease(config)
    }
}

/// The keys of a server that accepts Encrypted ClientHello, and what they are used with: one entry of the list that the
/// server has published.
///
/// It goes with one server, or with all that publish the same list. In most cases the list is the `ech` parameter of a DNS
/// record of type HTTPS or SVCB (RFC 9848). Whoever can see the query for it knows the server's name: it should be
/// encrypted, too.
///
/// A server that no longer has these keys rejects the ClientHello, and may say which to use instead: the connection fails
/// with [`PeerIncompatible::ServerRejectedEncryptedClientHello`](crate::PeerIncompatible::ServerRejectedEncryptedClientHello),
/// and [`for_retry`](Self::for_retry) makes the configuration of another attempt.
///
/// ```
/// use rustls::client::EchConfig;
/// use rustls::crypto::hpke::Hpke;
/// use rustls::pki_types::EchConfigListBytes;
/// use rustls::{Error, PeerIncompatible};
///
/// /// For the first connection, with the list that DNS has.
/// fn first(list: EchConfigListBytes<'_>, suites: &[&'static dyn Hpke]) -> Result<EchConfig, Error> {
///     EchConfig::new(list, suites)
/// }
///
/// /// For one more, when the first has failed with `error`. Returns `error` itself if the server has named no other keys.
/// fn second(error: Error, suites: &[&'static dyn Hpke]) -> Result<EchConfig, Error> {
///     match error {
///         Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(Some(
///             configs,
///         ))) => EchConfig::for_retry(&configs, suites),
///         other => Err(other),
///     }
/// }
/// ```
#[derive(Clone)]
pub struct EchConfig {
    contents: EchConfigContents,
    /// What HPKE binds its context to.
    info: Vec<u8>,
    pub(super) suite: &'static dyn Hpke,
}

impl EchConfig {
    /// Takes the first configuration of `ech_config_list` that can be used with one of `hpke_suites`, for example
    /// `rustls::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES`. `ech_config_list` is an `ECHConfigList` (RFC 9849 §4), in
    /// the server's order of preference.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidEncryptedClientHello`]:
    /// - [`EncryptedClientHelloError::InvalidConfigList`] when the list is malformed;
    /// - [`EncryptedClientHelloError::NoCompatibleConfig`] when there is nothing in it to use. RFC 9849 §6.1 advises to use
    ///   [`EchMode::Grease`] then.
    pub fn new(
        ech_config_list: EchConfigListBytes<'_>,
        hpke_suites: &[&'static dyn Hpke],
    ) -> Result<Self, Error> {
        Self::choose(&read_list(&ech_config_list)?, hpke_suites)
    }

    /// As [`new`](Self::new), of the `configs` that a server has sent when it rejected ECH.
    ///
    /// They are for one retry with that server. If it rejects that, too, its configurations disagree, and nothing is to
    /// be gained from going on (RFC 9849 §6.1.6).
    ///
    /// # Errors
    ///
    /// [`EncryptedClientHelloError::NoCompatibleConfig`] when there is nothing in it to use: the server has then turned ECH
    /// off, and may be connected to without.
    pub fn for_retry(
        configs: &[EchConfigPayload],
        hpke_suites: &[&'static dyn Hpke],
    ) -> Result<Self, Error> {
        Self::choose(configs, hpke_suites)
    }

    fn choose(
        configs: &[EchConfigPayload],
        hpke_suites: &[&'static dyn Hpke],
    ) -> Result<Self, Error> {
        configs
            .iter()
            .find_map(|config| Self::usable(config, hpke_suites))
            .ok_or_else(|| EncryptedClientHelloError::NoCompatibleConfig.into())
    }

    /// `config`, with the first of its symmetric suites that is among `hpke_suites`.
    fn usable(config: &EchConfigPayload, hpke_suites: &[&'static dyn Hpke]) -> Option<Self> {
        // RFC 9849 §4: other versions are ignored; §6.1.7: so is what has no host name as public_name
        let EchConfigPayload::V18(contents) = config else {
            return None;
        };
        // RFC 9849 §4.2: a mandatory extension that is not known, as none is; and no extension stands twice
        if contents.has_mandatory_extension() || contents.has_duplicate_extension() {
            return None;
        }
        let key_config = &contents.key_config;
        let mut wanted = key_config.symmetric_cipher_suites.iter();
        let suite = wanted.find_map(|sym| {
            // what has no tag cannot seal
            sym.aead_id.tag_len()?;
            let wanted = HpkeSuite {
                kem: key_config.kem_id,
                sym: *sym,
            };
            hpke_suites.iter().find(|known| known.suite() == wanted)
        })?;
        // RFC 9849 §6.1
        let mut info = b"tls ech\0".to_vec();
        config.encode(&mut info);
        Some(Self {
            contents: contents.clone(),
            info,
            suite: *suite,
        })
    }

    /// The name of those who accept the outer hello.
    pub(crate) fn public_name(&self) -> &DnsName<'static> {
        &self.contents.public_name
    }

    pub(super) fn contents(&self) -> &EchConfigContents {
        &self.contents
    }

    pub(super) fn info(&self) -> &[u8] {
        &self.info
    }
}

fn read_list(bytes: &[u8]) -> Result<Vec<EchConfigPayload>, EncryptedClientHelloError> {
    let mut r = Reader::new(bytes);
    let list = match EchConfigPayload::read_list(&mut r) {
        // as in 0.23
        Err(InvalidMessage::IllegalEmptyList("ECHConfigList")) => Vec::new(),
        list => list.map_err(|_| EncryptedClientHelloError::InvalidConfigList)?,
    };
    r.expect_empty("ECHConfigList")
        .map_err(|_| EncryptedClientHelloError::InvalidConfigList)?;
    Ok(list)
}

impl fmt::Debug for EchConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchConfig")
            .field("config", &self.contents)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

/// How to make ClientHellos look encrypted.
#[derive(Clone, Debug)]
pub struct EchGreaseConfig {
    pub(super) suite: &'static dyn Hpke,
    pub(super) placeholder_key: HpkePublicKey,
}

impl EchGreaseConfig {
    /// ClientHellos that look as if encrypted by `suite` to `placeholder_key`.
    ///
    /// Nobody is to decrypt them, so nobody needs the private half: `suite.generate_key_pair()` makes a key to be used for
    /// any number of connections. RFC 9849 §6.2.1 advises to vary `suite`, but not between connections to one server.
    pub fn new(suite: &'static dyn Hpke, placeholder_key: HpkePublicKey) -> Self {
        Self {
            suite,
            placeholder_key,
        }
    }
}

/// What has become of Encrypted ClientHello on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchStatus {
    /// It was not offered.
    NotOffered,
    /// The ClientHello only looks encrypted: [`EchMode::Grease`].
    Grease,
    /// It was offered, and the server has not answered yet.
    Offered,
    /// The server has accepted it: it has decrypted the ClientHello.
    Accepted,
    /// The server has rejected it. The handshake goes on with the server of the public name, to learn which configurations
    /// to use instead, and fails at its end.
    Rejected,
}
