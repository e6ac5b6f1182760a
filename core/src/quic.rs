//! Packet protection of QUIC (RFC 9001, RFC 9369): the interface to a provider, and the keys.
//!
//! Two layers meet here. A provider brings an [`Algorithm`] for each cipher suite, made of its AEAD
//! and of [`AeadPacketKey`] and [`MaskHeaderKey`]. From that and the TLS key schedule come the keys of
//! each encryption level:
//!
//! ```text
//!   Destination Connection ID ──► Keys::initial ──────────────► Keys      Initial
//!   traffic secrets ──► Secrets ──► Keys::new ────────────────► Keys      0-RTT, Handshake, 1-RTT
//!                          └──────► Secrets::next_packet_keys ► PacketKeySet     key update
//! ```
//!
//! The handshake over CRYPTO frames is not here.

use alloc::boxed::Box;

use zeroize::Zeroize;

use crate::crypto::aead::{Aead, AeadError, TAG_LEN};
use crate::crypto::cipher::{AeadKey, Iv, NONCE_LEN, Nonce};
use crate::crypto::tls13::{HkdfExpander, OkmBlock, expand_label_block, expand_label_slice};
use crate::enums::Side;
use crate::error::Error;
use crate::suites::Tls13CipherSuite;

/// The packet protection of one cipher suite, as a provider offers it.
pub trait Algorithm: Send + Sync {
    /// Makes the key that protects packet payloads.
    ///
    /// `key` is [`aead_key_len`](Self::aead_key_len) bytes long.
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey>;

    /// Makes the key that protects packet headers.
    ///
    /// `key` is [`aead_key_len`](Self::aead_key_len) bytes long.
    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey>;

    /// Length in bytes of the AEAD's key, which is that of the header protection key too
    /// (RFC 9001 §5.1). At most [`AeadKey::MAX_LEN`].
    fn aead_key_len(&self) -> usize;

    /// True when this implementation is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// Protects the payloads of packets in one direction (RFC 9001 §5.3).
pub trait PacketKey: Send + Sync {
    /// Encrypts `payload` in place. The packet is then header ‖ payload ‖ the tag returned.
    ///
    /// `header` is the header as it is before header protection.
    ///
    /// # Errors
    ///
    /// [`Error::EncryptError`] when the AEAD fails, say for a payload beyond its limits.
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error>;

    /// Encrypts like [`encrypt_in_place`](Self::encrypt_in_place), with the nonce for a path of a
    /// multipath connection (draft-ietf-quic-multipath).
    ///
    /// # Errors
    ///
    /// [`Error::EncryptError`], also, and always, where this is not overridden.
    fn encrypt_in_place_for_path(
        &self,
        _path_id: u32,
        _packet_number: u64,
        _header: &[u8],
        _payload: &mut [u8],
    ) -> Result<Tag, Error> {
        Err(Error::EncryptError)
    }

    /// Decrypts `payload`, which ends in the tag, in place and returns the part that is plaintext.
    ///
    /// `header` is the header after header protection has been removed.
    ///
    /// # Errors
    ///
    /// [`Error::DecryptError`] when the packet is not authentic or too short. The packet is then to be
    /// dropped and counted against [`integrity_limit`](Self::integrity_limit).
    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error>;

    /// Decrypts like [`decrypt_in_place`](Self::decrypt_in_place), with the nonce for a path of a
    /// multipath connection (draft-ietf-quic-multipath).
    ///
    /// # Errors
    ///
    /// [`Error::DecryptError`], also, and always, where this is not overridden.
    fn decrypt_in_place_for_path<'a>(
        &self,
        _path_id: u32,
        _packet_number: u64,
        _header: &[u8],
        _payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        Err(Error::DecryptError)
    }

    /// Length in bytes of the tag.
    fn tag_len(&self) -> usize;

    /// How many packets may be encrypted under this key before it must be updated (RFC 9001 §6.6).
    fn confidentiality_limit(&self) -> u64;

    /// How many packets may fail to decrypt, over all keys of a connection, before the connection
    /// must be closed (RFC 9001 §6.6).
    fn integrity_limit(&self) -> u64;
}

/// Protects the headers of packets in one direction (RFC 9001 §5.4).
pub trait HeaderProtectionKey: Send + Sync {
    /// Adds header protection.
    ///
    /// `sample` is [`sample_len`](Self::sample_len) bytes of ciphertext. They start 4 bytes behind the
    /// start of the packet number, whatever the length of that is (RFC 9001 §5.4.2). `first` is the
    /// header's first byte, and `packet_number` the encoded packet number. That may come with
    /// bytes after it, up to 4 in all; they are left alone, as `first` tells the true length.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `sample` has the wrong length or `packet_number` is longer than
    /// 4 bytes. Nothing has been changed then.
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error>;

    /// Removes header protection.
    ///
    /// The length of the packet number comes to light only now, so pass the 4 bytes at its place. As
    /// many of them as belong to the packet number are unmasked.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `sample` has the wrong length or `packet_number` is longer than
    /// 4 bytes. Nothing has been changed then.
    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error>;

    /// Length in bytes of the sample.
    fn sample_len(&self) -> usize;
}

/// The authentication tag of a packet.
pub struct Tag([u8; TAG_LEN]);

impl From<&[u8]> for Tag {
    /// Copies a tag.
    ///
    /// # Panics
    ///
    /// If `tag` is not 16 bytes long.
    fn from(tag: &[u8]) -> Self {
        let mut bytes = [0; TAG_LEN];
        bytes.copy_from_slice(tag);
        Self(bytes)
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The [`PacketKey`] that RFC 9001 §5.3 makes of an AEAD.
///
/// The nonce is the IV XORed with the packet number, the additional data is the header.
pub struct AeadPacketKey<A> {
    aead: A,
    iv: Iv,
    confidentiality_limit: u64,
    integrity_limit: u64,
}

impl<A: Aead> AeadPacketKey<A> {
    /// A packet key of an AEAD under its key, the IV, and the AEAD's limits in packets
    /// (RFC 9001 §6.6: 2²³ and 2⁵² for AES-GCM, none and 2³⁶ for ChaCha20-Poly1305).
    pub fn new(aead: A, iv: Iv, confidentiality_limit: u64, integrity_limit: u64) -> Self {
        Self {
            aead,
            iv,
            confidentiality_limit,
            integrity_limit,
        }
    }

    fn seal(&self, nonce: Nonce, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        self.aead
            .seal_in_place_separate_tag(nonce, header, payload)
            .map(Tag)
            .map_err(|AeadError| Error::EncryptError)
    }

    fn open<'a>(
        &self,
        nonce: Nonce,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let plain_len = self
            .aead
            .open_in_place(nonce, header, payload)
            .map_err(|AeadError| Error::DecryptError)?;
        payload.get(..plain_len).ok_or(Error::DecryptError)
    }
}

impl<A: Aead> PacketKey for AeadPacketKey<A> {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        let nonce = Nonce::for_path(path_id, &self.iv, packet_number);
        self.seal(nonce, header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let nonce = Nonce::for_path(path_id, &self.iv, packet_number);
        self.open(nonce, header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        self.confidentiality_limit
    }

    fn integrity_limit(&self) -> u64 {
        self.integrity_limit
    }
}

/// Length in bytes of the sample that header protection takes (RFC 9001 §5.4.3, §5.4.4).
pub const SAMPLE_LEN: usize = 16;

/// Length in bytes of a header protection mask (RFC 9001 §5.4.1).
pub const MASK_LEN: usize = 5;

/// The cipher of header protection under one key; the one thing a provider brings for headers.
pub trait HeaderMask: Send + Sync {
    /// The mask for `sample`: AES-ECB or ChaCha20 as in RFC 9001 §5.4.3 and §5.4.4.
    ///
    /// # Errors
    ///
    /// [`AeadError`] when the cipher fails.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError>;
}

/// The [`HeaderProtectionKey`] that RFC 9001 §5.4.1 makes of a [`HeaderMask`].
pub struct MaskHeaderKey<M>(M);

impl<M: HeaderMask> MaskHeaderKey<M> {
    /// A header protection key of a cipher under its key.
    pub fn new(cipher: M) -> Self {
        Self(cipher)
    }

    /// Masks the header. `plain_first` tells the unmasked first byte from its value before and after.
    fn apply(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
        plain_first: fn(before: u8, after: u8) -> u8,
    ) -> Result<(), Error> {
        let sample = sample
            .try_into()
            .map_err(|_| Error::General("sample of invalid length".into()))?;
        if packet_number.len() > MASK_LEN - 1 {
            return Err(Error::General("packet number too long".into()));
        }
        let [first_mask, number_mask @ ..] = self
            .0
            .mask(sample)
            .map_err(|AeadError| Error::General("header protection failed".into()))?;

        const LONG_HEADER: u8 = 0x80;
        let masked_bits = match *first & LONG_HEADER {
            0 => 0x1f,
            _ => 0x0f,
        };
        let after = *first ^ (first_mask & masked_bits);
        let number_len = usize::from(plain_first(*first, after) & 0x03) + 1;
        *first = after;
        packet_number
            .iter_mut()
            .zip(number_mask)
            .take(number_len)
            .for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }
}

impl<M: HeaderMask> HeaderProtectionKey for MaskHeaderKey<M> {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, |before, _| before)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, |_, after| after)
    }

    fn sample_len(&self) -> usize {
        SAMPLE_LEN
    }
}

/// A version of QUIC, by which salt and labels of the key derivation differ.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Version {
    /// The drafts 29 to 32 of version 1.
    V1Draft,

    /// Version 1 (RFC 9000, RFC 9001).
    #[default]
    V1,

    /// Version 2 (RFC 9369).
    V2,
}

impl Version {
    /// RFC 9001 §5.1, §5.2 and §6.1; RFC 9369 §3.3.1 and §3.3.2; draft-ietf-quic-tls-29 §5.2.
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

/// What a version puts into the derivation of its keys.
struct Derivation {
    /// For the secret of the Initial packets.
    salt: &'static [u8; 20],
    key: &'static [u8],
    iv: &'static [u8],
    header: &'static [u8],
    update: &'static [u8],
}

/// A cipher suite with its QUIC part, see [`Tls13CipherSuite::quic_suite`].
#[derive(Clone, Copy)]
pub struct Suite {
    /// The cipher suite.
    pub suite: &'static Tls13CipherSuite,

    /// Its QUIC part.
    pub quic: &'static dyn Algorithm,
}

impl Suite {
    /// The keys of Initial packets; see [`Keys::initial`].
    pub fn keys(&self, client_dst_connection_id: &[u8], side: Side, version: Version) -> Keys {
        let Self { suite, quic } = *self;
        Keys::initial(version, suite, quic, client_dst_connection_id, side)
    }
}

/// The keys of one encryption level, both directions.
pub struct Keys {
    /// For the packets that we send.
    pub local: DirectionalKeys,

    /// For the packets that we receive.
    pub remote: DirectionalKeys,
}

impl Keys {
    /// The keys of Initial packets (RFC 9001 §5.2).
    ///
    /// `client_dst_connection_id` is the Destination Connection ID of the client's first Initial
    /// packet, on either side. After a Retry it is the one that the server chose.
    pub fn initial(
        version: Version,
        suite: &'static Tls13CipherSuite,
        quic: &'static dyn Algorithm,
        client_dst_connection_id: &[u8],
        side: Side,
    ) -> Self {
        let initial_secret = suite
            .hkdf_provider
            .extract_from_secret(Some(version.derivation().salt), client_dst_connection_id);
        let secret = |label| expand_label_block(&*initial_secret, label, &[]);
        Self::new(&Secrets::new(
            Suite { suite, quic },
            version,
            side,
            secret(b"client in".as_slice()),
            secret(b"server in"),
        ))
    }

    /// The keys made of the traffic secrets of both directions.
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

/// The keys of one encryption level, one direction.
pub struct DirectionalKeys {
    /// For headers. It stays the same through key updates (RFC 9001 §6.1).
    pub header: Box<dyn HeaderProtectionKey>,

    /// For payloads.
    pub packet: Box<dyn PacketKey>,
}

impl DirectionalKeys {
    /// The keys made of a traffic secret of TLS 1.3 (RFC 9001 §5.1).
    pub fn new(
        suite: &'static Tls13CipherSuite,
        quic: &'static dyn Algorithm,
        secret: &OkmBlock,
        version: Version,
    ) -> Self {
        let expander = suite.hkdf_provider.expander_for_okm(secret);
        let header_key = derive_key(&*expander, version.derivation().header, quic.aead_key_len());
        Self {
            header: quic.header_protection_key(header_key),
            packet: derive_packet_key(&*expander, quic, version),
        }
    }
}

fn derive_packet_key(
    expander: &dyn HkdfExpander,
    quic: &'static dyn Algorithm,
    version: Version,
) -> Box<dyn PacketKey> {
    let labels = version.derivation();
    let mut iv = [0; NONCE_LEN];
    expand_label_slice(expander, labels.iv, &[], &mut iv).expect(SHORT_OUTPUT);
    let packet_key = quic.packet_key(
        derive_key(expander, labels.key, quic.aead_key_len()),
        Iv::new(iv),
    );
    iv.zeroize();
    packet_key
}

fn derive_key(expander: &dyn HkdfExpander, label: &[u8], len: usize) -> AeadKey {
    let mut buffer = [0; AeadKey::MAX_LEN];
    let bytes = &mut buffer[..len];
    expand_label_slice(expander, label, &[], bytes).expect(SHORT_OUTPUT);
    let key = AeadKey::new(bytes);
    buffer.zeroize();
    key
}

const SHORT_OUTPUT: &str = "a key or IV is shorter than 255 blocks of the hash function";

/// The 1-RTT traffic secrets, from which later packet keys are derived.
///
/// They are those of the keys in use; each call of [`next_packet_keys`](Self::next_packet_keys) goes
/// on to the next generation. Zeroized on drop.
#[derive(Clone)]
pub struct Secrets {
    suite: Suite,
    version: Version,
    side: Side,
    client: OkmBlock,
    server: OkmBlock,
}

impl Secrets {
    /// The traffic secrets of `client` and `server` as the key schedule gives them; `side` is ours.
    pub fn new(
        suite: Suite,
        version: Version,
        side: Side,
        client: OkmBlock,
        server: OkmBlock,
    ) -> Self {
        Self {
            suite,
            version,
            side,
            client,
            server,
        }
    }

    /// Derives the next generation of packet keys, for a key update (RFC 9001 §6.1).
    pub fn next_packet_keys(&mut self) -> PacketKeySet {
        self.client = self.next_secret(&self.client);
        self.server = self.next_secret(&self.server);
        let (local, remote) = self.local_and_remote();
        PacketKeySet {
            local: self.packet_key(local),
            remote: self.packet_key(remote),
        }
    }

    fn next_secret(&self, secret: &OkmBlock) -> OkmBlock {
        let label = self.version.derivation().update;
        expand_label_block(&*self.expander(secret), label, &[])
    }

    fn packet_key(&self, secret: &OkmBlock) -> Box<dyn PacketKey> {
        derive_packet_key(&*self.expander(secret), self.suite.quic, self.version)
    }

    fn expander(&self, secret: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.suite.suite.hkdf_provider.expander_for_okm(secret)
    }

    fn local_and_remote(&self) -> (&OkmBlock, &OkmBlock) {
        match self.side {
            Side::Client => (&self.client, &self.server),
            Side::Server => (&self.server, &self.client),
        }
    }
}

/// The packet keys of both directions after a key update.
pub struct PacketKeySet {
    /// For the packets that we send.
    pub local: Box<dyn PacketKey>,

    /// For the packets that we receive.
    pub remote: Box<dyn PacketKey>,
}

/// New keys that the handshake has made.
pub enum KeyChange {
    /// The handshake goes on under these.
    Handshake {
        /// The keys of Handshake packets.
        keys: Keys,
    },

    /// Application data can be sent under these.
    OneRtt {
        /// The keys of 1-RTT packets.
        keys: Keys,

        /// What the keys after the next key updates are derived from.
        next: Secrets,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::toy::ToyAead;

    const PACKET: &[u8] = b"payload of a packet";

    fn key() -> AeadPacketKey<ToyAead> {
        AeadPacketKey::new(ToyAead(0x5a), Iv::new([7; NONCE_LEN]), 23, 52)
    }

    /// The payload sealed with the nonce of `path`, followed by its tag.
    fn sealed(path: Option<u32>) -> ([u8; 19 + TAG_LEN], usize) {
        let mut packet = [0; 19 + TAG_LEN];
        let (payload, tag_place) = packet.split_at_mut(PACKET.len());
        payload.copy_from_slice(PACKET);
        let tag = match path {
            None => key().encrypt_in_place(9, b"header", payload),
            Some(path) => key().encrypt_in_place_for_path(path, 9, b"header", payload),
        };
        tag_place.copy_from_slice(tag.unwrap().as_ref());
        (packet, PACKET.len() + TAG_LEN)
    }

    #[test]
    fn packet_opens_with_its_number_and_header_only() {
        let open = |number, header: &[u8]| {
            let (mut packet, len) = sealed(None);
            key()
                .decrypt_in_place(number, header, &mut packet[..len])
                .map(<[u8]>::to_vec)
        };
        assert_eq!(open(9, b"header").unwrap(), PACKET);
        assert_eq!(open(8, b"header"), Err(Error::DecryptError));
        assert_eq!(open(9, b"Header"), Err(Error::DecryptError));
        assert_eq!(
            key().decrypt_in_place(9, b"header", &mut [0; TAG_LEN - 1]),
            Err(Error::DecryptError)
        );
    }

    #[test]
    fn packet_opens_on_its_path_only() {
        let open = |path, (mut packet, len): ([u8; 35], usize)| {
            key()
                .decrypt_in_place_for_path(path, 9, b"header", &mut packet[..len])
                .map(<[u8]>::to_vec)
        };
        assert_eq!(open(3, sealed(Some(3))).unwrap(), PACKET);
        assert_eq!(open(2, sealed(Some(3))), Err(Error::DecryptError));
        // path 0 has the nonce of single-path QUIC
        assert_eq!(open(0, sealed(None)).unwrap(), PACKET);
        assert_eq!(key().confidentiality_limit(), 23);
        assert_eq!(key().integrity_limit(), 52);
        assert_eq!(key().tag_len(), TAG_LEN);
    }

    struct FixedMask;

    impl HeaderMask for FixedMask {
        fn mask(&self, _: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
            Ok([0xff, 0x11, 0x22, 0x33, 0x44])
        }
    }

    #[test]
    fn header_protection_covers_the_bits_and_bytes_of_the_rfc() {
        let key = MaskHeaderKey::new(FixedMask);
        let sample = [0; SAMPLE_LEN];
        // first byte, as masked, how many bytes of the packet number are masked
        for (first, masked, number_len) in [
            (0xc0_u8, 0xcf_u8, 1),
            (0xc1, 0xce, 2),
            (0xc3, 0xcc, 4),
            (0x40, 0x5f, 1),
            (0x42, 0x5d, 3),
        ] {
            let mut byte = first;
            let mut number = [0; 4];
            key.encrypt_in_place(&sample, &mut byte, &mut number)
                .unwrap();
            assert_eq!(byte, masked);
            let mut expected = [0x11, 0x22, 0x33, 0x44];
            expected[number_len..].fill(0);
            assert_eq!(number, expected);

            key.decrypt_in_place(&sample, &mut byte, &mut number)
                .unwrap();
            assert_eq!((byte, number), (first, [0; 4]));
        }
    }

    #[test]
    fn header_protection_refuses_wrong_lengths_and_changes_nothing() {
        let key = MaskHeaderKey::new(FixedMask);
        let mut first = 0xc3;
        let mut number = [0; 5];
        for sample_len in [SAMPLE_LEN - 1, SAMPLE_LEN + 1] {
            assert!(
                key.encrypt_in_place(&[0; 17][..sample_len], &mut first, &mut number[..4])
                    .is_err()
            );
        }
        assert!(
            key.decrypt_in_place(&[0; SAMPLE_LEN], &mut first, &mut number)
                .is_err()
        );
        assert_eq!((first, number), (0xc3, [0; 5]));
    }
}
