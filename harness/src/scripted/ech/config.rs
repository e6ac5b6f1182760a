//! ECHConfigs (RFC 9849 §4), byte by byte, valid or not, and their private keys.

use std::sync::Arc;

use rustls::crypto::hpke::HpkeOpener as OurOpener;
use rustls_upstream::crypto::hpke::HpkeOpener as TheirOpener;

use super::ENCRYPTED_CLIENT_HELLO;
use super::reading::{Broken, EchExtension};
use crate::wire::client_hello::ClientHello;
use crate::wire::{extension, extensions, u8_vec, u16_vec, u16s};
use crate::{this, upstream};

/// The version of RFC 9849.
pub const VERSION: u16 = ENCRYPTED_CLIENT_HELLO;

/// The KEM, KDF and AEAD of every suite in the aws-lc-rs providers.
pub const SUITES: [(u16, u16, u16); 12] = [
    (0x0010, 1, 1),
    (0x0010, 1, 2),
    (0x0010, 1, 3),
    (0x0011, 2, 1),
    (0x0011, 2, 2),
    (0x0011, 2, 3),
    (0x0012, 3, 1),
    (0x0012, 3, 2),
    (0x0012, 3, 3),
    (0x0020, 1, 1),
    (0x0020, 1, 2),
    (0x0020, 1, 3),
];

/// An ECHConfig before encoding.
#[derive(Clone, Debug)]
pub struct Config {
    pub version: u16,
    pub config_id: u8,
    pub kem: u16,
    pub public_key: Vec<u8>,
    /// The KDF and AEAD of each suite.
    pub suites: Vec<(u16, u16)>,
    pub maximum_name_length: u8,
    pub public_name: Vec<u8>,
    pub extensions: Vec<(u16, Vec<u8>)>,
    /// The bytes after the extensions.
    pub trailing: Vec<u8>,
}

impl Config {
    /// Encodes the ECHConfig.
    pub fn encoded(&self) -> Vec<u8> {
        let suites = self.suites.iter().map(|(kdf, aead)| u16s(&[*kdf, *aead]));
        let contents = [
            &[self.config_id][..],
            &self.kem.to_be_bytes(),
            &u16_vec(&self.public_key),
            &u16_vec(&suites.collect::<Vec<_>>().concat()),
            &[self.maximum_name_length],
            &u8_vec(&self.public_name),
            &u16_vec(&extensions(&self.extensions)),
            &self.trailing,
        ]
        .concat();
        extension(self.version, &contents)
    }

    /// Encodes an ECHConfigList that contains only this one.
    pub fn list(&self) -> Vec<u8> {
        config_list(&[self])
    }
}

/// Encodes an ECHConfigList.
pub fn config_list(configs: &[&Config]) -> Vec<u8> {
    let encoded = configs.iter().flat_map(|config| config.encoded());
    u16_vec(&encoded.collect::<Vec<_>>())
}

/// An ECHConfig and its private key.
#[derive(Clone)]
pub struct EchKey {
    pub config: Config,
    private_key: Arc<Vec<u8>>,
}

impl EchKey {
    /// Creates a key with a single suite, which must be one of [`SUITES`].
    ///
    /// # Panics
    ///
    /// Panics if the suite is not one of them.
    pub fn new(config_id: u8, public_name: &str, suite: (u16, u16, u16)) -> Self {
        let (kem, kdf, aead) = suite;
        let pair = this::hpke::find(suite).unwrap().generate_key_pair();
        let (public_key, private_key) = pair.unwrap();
        Self {
            config: Config {
                version: VERSION,
                config_id,
                kem,
                public_key: public_key.0,
                suites: vec![(kdf, aead)],
                maximum_name_length: 0,
                public_name: public_name.as_bytes().to_vec(),
                extensions: Vec::new(),
                trailing: Vec::new(),
            },
            private_key: Arc::new(private_key.secret_bytes().to_vec()),
        }
    }

    /// Applies `change` to the ECHConfig.
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Returns the private key.
    pub fn private_key(&self) -> &[u8] {
        &self.private_key
    }

    /// True if the KEM accepts the `enc` field of `extension`.
    pub fn decapsulates(&self, extension: &EchExtension) -> bool {
        let extension = EchExtension {
            config_id: self.config.config_id,
            ..extension.clone()
        };
        matches!(self.openers(&extension), Ok(Some(_)))
    }

    /// Creates a context for opening; `None` if `extension` is for another key.
    pub(super) fn openers(&self, extension: &EchExtension) -> Result<Option<Openers>, Broken> {
        let config = &self.config;
        if extension.config_id != config.config_id {
            return Ok(None);
        }
        if !config.suites.contains(&extension.suite) {
            return Err(Broken("§5: cipher_suite is one of the ECHConfig's"));
        }
        let (Some(ours), Some(theirs)) = (
            this::hpke::opener(self, extension),
            upstream::hpke::opener(self, extension),
        ) else {
            return Err(Broken(
                "§6.1: the KEM and the suite are ones that it supports",
            ));
        };
        assert_eq!(
            ours.is_some(),
            theirs.is_some(),
            "the two implementations of HPKE"
        );
        Ok(ours
            .zip(theirs)
            .map(|(ours, theirs)| Openers { ours, theirs }))
    }
}

/// The same HPKE context in two implementations.
pub(super) struct Openers {
    ours: Box<dyn OurOpener>,
    theirs: Box<dyn TheirOpener>,
}

impl Openers {
    /// Opens EncodedClientHelloInner; `None` if the payload is not authentic.
    pub(super) fn open(
        &mut self,
        outer: &ClientHello,
        extension: &EchExtension,
    ) -> Option<Vec<u8>> {
        let aad = extension.outer_aad(outer);
        let ours = self.ours.open(&aad, &extension.payload).ok();
        let theirs = self.theirs.open(&aad, &extension.payload).ok();
        assert_eq!(ours, theirs, "the two implementations of HPKE");
        ours
    }
}
