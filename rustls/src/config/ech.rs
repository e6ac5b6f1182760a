//! The application's settings for Encrypted ClientHello (ECH), and the status of ECH on a
//! connection.

use alloc::vec::Vec;
use core::fmt;

use pki_types::{DnsName, EchConfigListBytes};
use rustls_core::codec::{Codec, Reader};
use rustls_core::crypto::hpke::{Hpke, HpkePublicKey, HpkeSuite};
use rustls_core::ech_config::{EchConfigContents, EchConfigPayload};

use crate::error::{EncryptedClientHelloError, Error, InvalidMessage};

/// The choice between real and imitated Encrypted ClientHello (RFC 9849), for
/// [`with_ech`](crate::ConfigBuilder::with_ech).
#[derive(Clone, Debug)]
pub enum EchMode {
    /// Encrypts ClientHellos for a server whose keys are known. The handshake fails if the server
    /// does not accept ECH.
    Enable(EchConfig),

    /// Sends ClientHellos that only look encrypted (RFC 9849 §6.2).
    ///
    /// Use this for servers whose ECH keys are not known. It keeps real ECH from standing out.
    Grease(EchGreaseConfig),
}

impl EchMode {
    /// True if the HPKE suite in use is FIPS-approved.
    ///
    /// This covers only the HPKE suite. For a whole connection see
    /// [`ClientConfig::fips`](crate::ClientConfig::fips).
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

/// An ECH configuration: the public key of a server that accepts Encrypted ClientHello, and its
/// parameters.
///
/// It is one entry in the list that the server publishes, and works for all servers that publish
/// the same list. The list usually comes from the `ech` parameter of a DNS record of type HTTPS or
/// SVCB (RFC 9848). Encrypt that DNS query as well, or an observer learns the server's name from
/// it.
///
/// A server that no longer has this key rejects the ClientHello, and may send newer configurations.
/// The connection then fails with
/// [`PeerIncompatible::ServerRejectedEncryptedClientHello`][rejected]. Build the configuration for
/// a second attempt with [`for_retry`](Self::for_retry).
///
/// ```
/// use rustls::client::EchConfig;
/// use rustls::crypto::hpke::Hpke;
/// use rustls::pki_types::EchConfigListBytes;
/// use rustls::{Error, PeerIncompatible};
///
/// /// Creates the configuration for the first connection, from the list in DNS.
/// fn first(
///     list: EchConfigListBytes<'_>,
///     suites: &[&'static dyn Hpke],
/// ) -> Result<EchConfig, Error> {
///     EchConfig::new(list, suites)
/// }
///
/// /// Creates the configuration for a retry after `error`.
/// ///
/// /// Returns `error` if the server sent no newer keys.
/// fn second(error: Error, suites: &[&'static dyn Hpke]) -> Result<EchConfig, Error> {
///     match error {
///         Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(Some(
///             configs,
///         ))) => EchConfig::for_retry(&configs, suites),
///         other => Err(other),
///     }
/// }
/// ```
///
/// [rejected]: crate::PeerIncompatible::ServerRejectedEncryptedClientHello
#[derive(Clone)]
pub struct EchConfig {
    contents: EchConfigContents,
    /// The `info` parameter for the HPKE context.
    info: Vec<u8>,
    pub(crate) suite: &'static dyn Hpke,
}

impl EchConfig {
    /// Selects the first configuration of `ech_config_list` that works with one of `hpke_suites`.
    ///
    /// `ech_config_list` is an encoded `ECHConfigList` (RFC 9849 §4), in the server's order of
    /// preference. `hpke_suites` is, for example,
    /// `rustls::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidEncryptedClientHello`] with
    /// - [`EncryptedClientHelloError::InvalidConfigList`] if the list is malformed;
    /// - [`EncryptedClientHelloError::NoCompatibleConfig`] if no entry can be used. RFC 9849 §6.1
    ///   then recommends [`EchMode::Grease`].
    pub fn new(
        ech_config_list: EchConfigListBytes<'_>,
        hpke_suites: &[&'static dyn Hpke],
    ) -> Result<Self, Error> {
        Self::choose(&read_list(&ech_config_list)?, hpke_suites)
    }

    /// Like [`new`](Self::new), but selects from the `configs` that a server sent when it rejected
    /// ECH.
    ///
    /// Use the result for one retry with that server. If the server rejects this configuration as
    /// well, and sends others again, it is misconfigured and further retries are pointless (RFC
    /// 9849 §6.1.6).
    ///
    /// # Errors
    ///
    /// Returns [`EncryptedClientHelloError::NoCompatibleConfig`] if no entry can be used. If no
    /// entry has a supported version, the server has disabled ECH, and the client may connect
    /// without it.
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

    /// Returns `config` with its first symmetric suite that `hpke_suites` supports.
    fn usable(config: &EchConfigPayload, hpke_suites: &[&'static dyn Hpke]) -> Option<Self> {
        // RFC 9849 §4: other versions are ignored. §6.1.7: so are entries whose public_name is not
        // a host name
        let EchConfigPayload::V18(contents) = config else {
            return None;
        };
        // RFC 9849 §4.2: no mandatory extension is known here, and duplicates are forbidden
        if contents.has_mandatory_extension() || contents.has_duplicate_extension() {
            return None;
        }
        let key_config = &contents.key_config;
        let mut wanted = key_config.symmetric_cipher_suites.iter();
        let suite = wanted.find_map(|sym| {
            // an AEAD without a tag cannot seal (export-only)
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

    /// Returns the server name in the outer ClientHello.
    pub(crate) fn public_name(&self) -> &DnsName<'static> {
        &self.contents.public_name
    }

    pub(crate) fn contents(&self) -> &EchConfigContents {
        &self.contents
    }

    pub(crate) fn info(&self) -> &[u8] {
        &self.info
    }
}

fn read_list(bytes: &[u8]) -> Result<Vec<EchConfigPayload>, EncryptedClientHelloError> {
    let mut r = Reader::new(bytes);
    let list = match EchConfigPayload::read_list(&mut r) {
        // an empty list has nothing to use, which is NoCompatibleConfig
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

/// The parameters of ClientHellos that only look encrypted, for [`EchMode::Grease`].
#[derive(Clone, Debug)]
pub struct EchGreaseConfig {
    pub(crate) suite: &'static dyn Hpke,
    pub(crate) placeholder_key: HpkePublicKey,
}

impl EchGreaseConfig {
    /// Creates a configuration whose ClientHellos look as if encrypted by `suite` to
    /// `placeholder_key`.
    ///
    /// Nobody decrypts these hellos, so the private key is not needed. Create the key with
    /// `suite.generate_key_pair()` and use it for any number of connections. RFC 9849 §6.2.1
    /// recommends varying `suite`, but allows the same one for successive connections to a server.
    pub fn new(suite: &'static dyn Hpke, placeholder_key: HpkePublicKey) -> Self {
        Self {
            suite,
            placeholder_key,
        }
    }
}

/// The status of Encrypted ClientHello on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchStatus {
    /// ECH was not offered.
    NotOffered,
    /// The ClientHello only looked encrypted: [`EchMode::Grease`].
    Grease,
    /// ECH was offered, and it is not known yet whether the server accepts it.
    Offered,
    /// The server decrypted the ClientHello and accepted ECH.
    Accepted,
    /// The server rejected ECH.
    ///
    /// The handshake continues with the public name, to learn which configurations to use instead.
    /// When the handshake ends, the connection fails.
    Rejected,
}
