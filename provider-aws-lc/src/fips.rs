//! Record and packet protection as required by the FIPS validation of aws-lc.
//!
//! Sealing with AES-GCM is only approved if the module itself ensures that no nonce is used twice.
//! For TLS, the module has keys that know how the protocol builds its nonces, and reject a nonce
//! that is not greater than the previous one. With feature `fips`, the AES-GCM suites use these
//! keys. Their records are the same, except for the explicit nonces in TLS 1.2. QUIC builds its
//! nonces like TLS 1.3 (RFC 9001 §5.3) and uses the same keys. So packet numbers must increase, and
//! connections cannot be multipath: paths repeat each other's packet numbers, which the module
//! rejects.
//!
//! Services of the module also derive connection keys ([`key_derivation`](crate::key_derivation)).
//! HPKE keys are derived with single calls to the module's HMAC.
//!
//! Tickets are not covered, because their nonces come from outside the module.
//! `CryptoProvider::fips` does not include them.

use core::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::aead::{Aad, TlsProtocolId, TlsRecordOpeningKey, TlsRecordSealingKey};
use rustls_core::blocks::{
    Aead, AeadAlgorithm, AeadError, BulkCipher, OpeningKey, PacketAlgorithm, SealingKey, Tag,
    split_tag,
};
use rustls_core::crypto::cipher::{AeadKey, Iv, Nonce};

use crate::aead::{HeaderKey, KEY_LEN, LibraryCipher, to_library};

/// AES-GCM for TLS 1.3 records, QUIC packets and HPKE.
pub(crate) type Tls13Gcm<C> = Gcm<C, Tls13>;

/// AES-GCM for TLS 1.2 records.
pub(crate) type Tls12Gcm<C> = Gcm<C, Tls12>;

/// The AES-GCM cipher `C` for records in version `P`.
pub(crate) struct Gcm<C, P>(PhantomData<(C, P)>);

/// The TLS version whose nonces aws-lc's keys check.
pub(crate) trait Protocol: Send + Sync + 'static {
    const ID: TlsProtocolId;
}

pub(crate) struct Tls13;

impl Protocol for Tls13 {
    const ID: TlsProtocolId = TlsProtocolId::TLS13;
}

pub(crate) struct Tls12;

impl Protocol for Tls12 {
    const ID: TlsProtocolId = TlsProtocolId::TLS12;
}

impl<C: LibraryCipher, P: Protocol> AeadAlgorithm for Gcm<C, P> {
    type SealingKey = RecordSealingKey;
    type OpeningKey = RecordOpeningKey;

    const CIPHER: BulkCipher = C::CIPHER;
    const NONCES_GROW: bool = true;

    fn sealing_key(key: &AeadKey) -> RecordSealingKey {
        let key = TlsRecordSealingKey::new(C::AEAD, P::ID, key.as_ref());
        RecordSealingKey(key.expect(KEY_LEN))
    }

    fn opening_key(key: &AeadKey) -> RecordOpeningKey {
        let key = TlsRecordOpeningKey::new(C::AEAD, P::ID, key.as_ref());
        RecordOpeningKey(key.expect(KEY_LEN))
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

pub(crate) struct RecordSealingKey(TlsRecordSealingKey);

impl RecordSealingKey {
    fn seal_text(&mut self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        let tag = self
            .0
            .seal_in_place_separate_tag(to_library(nonce), Aad::from(aad), text)
            .map_err(|_| AeadError)?;
        tag.as_ref().try_into().map_err(|_| AeadError)
    }
}

impl SealingKey for RecordSealingKey {
    const OVERWRITES_OUTPUT: bool = true;

    fn seal(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        let (ciphertext, trailer_and_tag) =
            out.split_at_mut_checked(plain.len()).ok_or(AeadError)?;
        let (nonce, aad) = (to_library(nonce), Aad::from(aad));
        self.0
            .seal_out_of_place_scatter(nonce, aad, plain, ciphertext, trailer, trailer_and_tag)
            .map_err(|_| AeadError)
    }

    fn seal_in_place(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        let (text, tag) = split_tag(plain_len, trailer, out)?;
        *tag = self.seal_text(nonce, aad, text)?;
        Ok(())
    }
}

pub(crate) struct RecordOpeningKey(TlsRecordOpeningKey);

impl RecordOpeningKey {
    fn open_text(&self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError> {
        self.0
            .open_in_place(to_library(nonce), Aad::from(aad), in_out)
            .map(|plain| plain.len())
            .map_err(|_| AeadError)
    }
}

impl OpeningKey for RecordOpeningKey {
    fn open(&mut self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError> {
        self.open_text(nonce, aad, in_out)
    }
}

impl<C: LibraryCipher> PacketAlgorithm for Gcm<C, Tls13> {
    type PacketKey = PacketKey;
    type HeaderKey = HeaderKey;

    fn packet_key(key: &AeadKey, iv: &Iv) -> PacketKey {
        PacketKey {
            sealing: Mutex::new(PacketSealingKey {
                key: Self::sealing_key(key),
                iv: Some(Iv::copy(iv.as_ref())),
            }),
            opening: Self::opening_key(key),
        }
    }

    fn header_key(key: &AeadKey) -> HeaderKey {
        HeaderKey::new::<C>(key)
    }
}

/// A key for packets, which are sealed through a shared reference.
///
/// Sealing advances the module's counter. A connection usually seals one packet at a time, so the
/// lock is hardly ever contended.
pub(crate) struct PacketKey {
    sealing: Mutex<PacketSealingKey>,
    opening: RecordOpeningKey,
}

/// The sealing key of a packet key. The module assumes that the first nonce of a key is that of
/// packet number 0, and derives the numbers of all later nonces from it. But packet numbers
/// continue when keys change, so the first packet under a key may have any number.
struct PacketSealingKey {
    key: RecordSealingKey,
    /// The IV from which the nonce for packet number 0 is built; `None` after the first packet.
    iv: Option<Iv>,
}

impl PacketSealingKey {
    fn seal(&mut self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        if let Some(iv) = &self.iv {
            let zero = Nonce::new(iv, 0);
            // the module's counter is the last eight bytes; the first four differ on other paths
            if zero.0[4..] != nonce.0[4..] {
                // discard the tag: it is never sent, and the module rejects this nonce from now on
                self.key.seal_text(zero, &[], &mut [])?;
            }
            self.iv = None;
        }
        self.key.seal_text(nonce, aad, text)
    }
}

impl Aead for PacketKey {
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        let mut key = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
        key.seal(nonce, aad, text)
    }

    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError> {
        self.opening.open_text(nonce, aad, text)
    }
}
