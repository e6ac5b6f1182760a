//! The keys for QUIC's encryption levels (RFC 9001 §5.1, §5.2, §6.1; RFC 9369).
//!
//! A provider implements an [`Algorithm`] for each cipher suite that supports QUIC. With it, keys
//! are derived from the connection ID or from the traffic secrets of the TLS key schedule:
//!
//! ```text
//!   Destination Connection ID ──► Keys::initial ──────────────► Keys             Initial
//!   one traffic secret ──► DirectionalKeys::new ──────────────► DirectionalKeys  0-RTT, Handshake
//!   both traffic secrets ──► Secrets ──► Keys::new ───────────► Keys             1-RTT
//!                               └─► Secrets::next_packet_keys ► PacketKeySet     key update
//! ```
//!
//! The handshake over CRYPTO frames is in the `rustls` crate.

use alloc::boxed::Box;

use crate::crypto::cipher::{AeadKey, Iv};
pub use crate::crypto::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use crate::crypto::tls13::{
    HkdfExpander, OkmBlock, expand_label_block, expand_label_slice, with_expander,
};
use crate::crypto::{with_deep_stack_erased, with_erased_stack};
use crate::enums::Side;
use crate::suites::Tls13CipherSuite;

#[cfg(test)]
mod tests;

/// A version of QUIC, which determines the salt and the labels for key derivation.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Version {
    /// Drafts 29 to 32 of version 1.
    V1Draft,

    /// Version 1 (RFC 9000, RFC 9001).
    #[default]
    V1,

    /// Version 2 (RFC 9369).
    V2,
}

impl Version {
    /// Returns the salts and labels of RFC 9001 §5.1, §5.2 and §6.1, RFC 9369 §3.3.1 and §3.3.2,
    /// and draft-ietf-quic-tls-29 §5.2.
    fn derivation(self) -> &'static Derivation {
        const V1: Derivation = Derivation {
            salt: b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\
                  \x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
            key: b"quic key",
            iv: b"quic iv",
            header: b"quic hp",
            update: b"quic ku",
        };
        match self {
            Self::V1 => &V1,
            Self::V1Draft => &Derivation {
                salt: b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\
                  \x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99",
                ..V1
            },
            Self::V2 => &Derivation {
                salt: b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\
                  \x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
                key: b"quicv2 key",
                iv: b"quicv2 iv",
                header: b"quicv2 hp",
                update: b"quicv2 ku",
            },
        }
    }
}

/// The inputs to key derivation that depend on the version.
struct Derivation {
    /// The salt for the secret that protects Initial packets.
    salt: &'static [u8; 20],
    key: &'static [u8],
    iv: &'static [u8],
    header: &'static [u8],
    update: &'static [u8],
}

impl Tls13CipherSuite {
    /// Returns this suite with its QUIC part, or `None` if it has none.
    pub fn quic_suite(&'static self) -> Option<Suite> {
        let quic = self.quic?;
        Some(Suite { suite: self, quic })
    }
}

/// A cipher suite with its QUIC part. See [`Tls13CipherSuite::quic_suite`].
#[derive(Clone, Copy)]
pub struct Suite {
    /// The cipher suite.
    pub suite: &'static Tls13CipherSuite,

    /// The QUIC part of the suite.
    pub quic: &'static dyn Algorithm,
}

impl Suite {
    /// Derives the keys for Initial packets. See [`Keys::initial`].
    pub fn keys(&self, client_dst_connection_id: &[u8], side: Side, version: Version) -> Keys {
        let Self { suite, quic } = *self;
        Keys::initial(version, suite, quic, client_dst_connection_id, side)
    }
}

/// The keys for one encryption level, in both directions.
pub struct Keys {
    /// The keys for sending.
    pub local: DirectionalKeys,

    /// The keys for receiving.
    pub remote: DirectionalKeys,
}

impl Keys {
    /// Derives the keys for Initial packets (RFC 9001 §5.2).
    ///
    /// On both sides, `client_dst_connection_id` is the Destination Connection ID of the client's
    /// first Initial packet. After a Retry, it is the ID that the server chose. `suite` must be
    /// TLS_AES_128_GCM_SHA256, whichever suite the handshake negotiates.
    pub fn initial(
        version: Version,
        suite: &'static Tls13CipherSuite,
        quic: &'static dyn Algorithm,
        client_dst_connection_id: &[u8],
        side: Side,
    ) -> Self {
        // RFC 9001 §5.2: not secret, because any observer of the connection can derive them
        let initial_secret = suite
            .hkdf_provider
            .extract_from_secret(Some(version.derivation().salt), client_dst_connection_id);
        let secret = |label| expand_label_block(&*initial_secret, label, &[]);
        Self::new(&Secrets::new(
            Suite { suite, quic },
            version,
            side,
            &secret(b"client in".as_slice()),
            &secret(b"server in"),
        ))
    }

    /// Derives the keys from the traffic secrets for both directions.
    pub fn new(secrets: &Secrets) -> Self {
        let (local, remote) = secrets.local_and_remote();
        let Suite { suite, quic } = secrets.suite;
        let keys = |secret| DirectionalKeys::new(suite, quic, secret, secrets.version);
        Self {
            local: keys(local),
            remote: keys(remote),
        }
    }
}

/// The keys for one encryption level, in one direction.
pub struct DirectionalKeys {
    /// The key for packet headers. It does not change with key updates (RFC 9001 §6.1).
    pub header: Box<dyn HeaderProtectionKey>,

    /// The key for packet payloads.
    pub packet: Box<dyn PacketKey>,
}

impl DirectionalKeys {
    /// Derives the keys from a TLS 1.3 traffic secret (RFC 9001 §5.1).
    pub fn new(
        suite: &'static Tls13CipherSuite,
        quic: &'static dyn Algorithm,
        secret: &OkmBlock,
        version: Version,
    ) -> Self {
        with_deep_stack_erased(|| {
            with_expander(suite.hkdf_provider, secret, |expander| {
                let key_len = quic.aead_key_len();
                let header_key = derive_key(expander, version.derivation().header, key_len);
                Self {
                    header: quic.header_protection_key(header_key),
                    packet: derive_packet_key(expander, quic, version),
                }
            })
        })
    }
}

fn derive_packet_key(
    expander: &dyn HkdfExpander,
    quic: &'static dyn Algorithm,
    version: Version,
) -> Box<dyn PacketKey> {
    let labels = version.derivation();
    let iv = Iv::written_by(|iv| {
        expand_label_slice(expander, labels.iv, &[], iv).expect(SHORT_OUTPUT);
    });
    let key = derive_key(expander, labels.key, quic.aead_key_len());
    quic.packet_key(key, iv)
}

fn derive_key(expander: &dyn HkdfExpander, label: &[u8], len: usize) -> AeadKey {
    AeadKey::written_by(len, |key| {
        // a provider's key may have unused bytes, into which a move copies old stack content
        with_erased_stack(|| expand_label_slice(expander, label, &[], key)).expect(SHORT_OUTPUT);
    })
}

const SHORT_OUTPUT: &str = "a key or IV is shorter than 255 blocks of the hash function";

/// The traffic secrets of both sides, for one encryption level. Those for 1-RTT packets also yield
/// the keys of later key updates.
///
/// Each call to [`next_packet_keys`](Self::next_packet_keys) replaces them with the next
/// generation. Zeroized on drop.
#[derive(Clone)]
pub struct Secrets {
    suite: Suite,
    version: Version,
    side: Side,
    /// Boxed, because moving the secrets themselves would leave copies of them behind.
    of: Box<OfSides>,
}

#[derive(Clone)]
struct OfSides {
    client: OkmBlock,
    server: OkmBlock,
}

impl Secrets {
    /// Copies the traffic secrets `client` and `server` from the key schedule. `side` is our side.
    pub fn new(
        suite: Suite,
        version: Version,
        side: Side,
        client: &OkmBlock,
        server: &OkmBlock,
    ) -> Self {
        let mut of = Box::new(OfSides {
            client: OkmBlock::new(&[]),
            server: OkmBlock::new(&[]),
        });
        of.client.clone_from(client);
        of.server.clone_from(server);
        Self {
            suite,
            version,
            side,
            of,
        }
    }

    /// Derives the next generation of packet keys, for a key update (RFC 9001 §6.1).
    pub fn next_packet_keys(&mut self) -> PacketKeySet {
        self.advance();
        let (local, remote) = self.local_and_remote();
        PacketKeySet {
            local: self.packet_key(local),
            remote: self.packet_key(remote),
        }
    }

    /// Replaces both secrets with the next ones.
    fn advance(&mut self) {
        let hkdf = self.suite.suite.hkdf_provider;
        let label = self.version.derivation().update;
        with_deep_stack_erased(|| {
            for secret in [&mut self.of.client, &mut self.of.server] {
                let next = with_expander(hkdf, secret, |expander| {
                    expand_label_block(expander, label, &[])
                });
                secret.clone_from(&next);
            }
        });
    }

    fn packet_key(&self, secret: &OkmBlock) -> Box<dyn PacketKey> {
        with_deep_stack_erased(|| {
            with_expander(self.suite.suite.hkdf_provider, secret, |expander| {
                derive_packet_key(expander, self.suite.quic, self.version)
            })
        })
    }

    fn local_and_remote(&self) -> (&OkmBlock, &OkmBlock) {
        match self.side {
            Side::Client => (&self.of.client, &self.of.server),
            Side::Server => (&self.of.server, &self.of.client),
        }
    }
}

/// The packet keys for both directions after a key update.
pub struct PacketKeySet {
    /// The key for sending.
    pub local: Box<dyn PacketKey>,

    /// The key for receiving.
    pub remote: Box<dyn PacketKey>,
}

/// New keys from the handshake.
pub enum KeyChange {
    /// The keys for the rest of the handshake.
    Handshake {
        /// The keys for Handshake packets.
        keys: Keys,
    },

    /// The keys for application data.
    OneRtt {
        /// The keys for 1-RTT packets.
        keys: Keys,

        /// The secrets from which the keys for later key updates are derived.
        next: Secrets,
    },
}
