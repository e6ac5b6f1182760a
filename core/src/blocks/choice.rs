//! A choice between two implementations of one AEAD, made at run time.

use alloc::boxed::Box;

use crate::crypto::cipher::{
    AeadKey, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm,
    Tls13AeadAlgorithm, UnsupportedOperationError,
};
use crate::crypto::quic;
use crate::suites::ConnectionTrafficSecrets;

/// Two implementations of one AEAD, usually from two libraries. A function chooses between them,
/// for example by the features of the processor.
///
/// This type implements the same trait as both, so it can be part of a cipher suite, even a static
/// one. The choice is made when a key is created, and costs nothing per record or packet.
///
/// ```
/// use rustls_core::blocks::Choice;
/// use rustls_core::crypto::cipher::Tls13AeadAlgorithm;
///
/// type Algorithm = dyn Tls13AeadAlgorithm;
///
/// const fn choose(portable: &'static Algorithm, fast: &'static Algorithm) -> Choice<Algorithm> {
///     Choice::new(portable, fast, has_vaes)
/// }
///
/// fn has_vaes() -> bool {
///     #[cfg(target_arch = "x86_64")]
///     return std::is_x86_feature_detected!("vaes");
///     #[cfg(not(target_arch = "x86_64"))]
///     false
/// }
/// ```
pub struct Choice<T: ?Sized + 'static> {
    first: &'static T,
    second: &'static T,
    takes_second: fn() -> bool,
}

impl<T: ?Sized> Choice<T> {
    /// Creates a choice that uses `second` if `takes_second` returns true, and `first` otherwise.
    ///
    /// `takes_second` is called for each key and for each query, such as the length of the key. It
    /// must always return the same value.
    pub const fn new(first: &'static T, second: &'static T, takes_second: fn() -> bool) -> Self {
        Self {
            first,
            second,
            takes_second,
        }
    }

    fn chosen(&self) -> &'static T {
        if (self.takes_second)() {
            self.second
        } else {
            self.first
        }
    }
}

impl Tls13AeadAlgorithm for Choice<dyn Tls13AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        self.chosen().encrypter(key, iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        self.chosen().decrypter(key, iv)
    }

    fn key_len(&self) -> usize {
        self.chosen().key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.chosen().extract_keys(key, iv)
    }

    fn fips(&self) -> bool {
        self.chosen().fips()
    }
}

impl Tls12AeadAlgorithm for Choice<dyn Tls12AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        self.chosen().encrypter(key, iv, extra)
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        self.chosen().decrypter(key, iv)
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.chosen().key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.chosen().extract_keys(key, iv, explicit)
    }

    fn fips(&self) -> bool {
        self.chosen().fips()
    }
}

impl quic::Algorithm for Choice<dyn quic::Algorithm> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
        self.chosen().packet_key(key, iv)
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn quic::HeaderProtectionKey> {
        self.chosen().header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.chosen().aead_key_len()
    }

    fn fips(&self) -> bool {
        self.chosen().fips()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::crypto::aead::{AeadAlgorithm, InPlace};
    use crate::crypto::bulk_cipher::BulkCipher;
    use crate::crypto::cipher::{InboundOpaqueMessage, OutboundPlainMessage};
    use crate::crypto::toy::{ToyAead, ToyAlgorithm, ToyQuic};
    use crate::enums::{ContentType, ProtocolVersion};
    use crate::record::framing::{Tls12GcmFraming, Tls13Framing};

    /// An algorithm whose properties all differ from those of [`ToyAlgorithm`].
    struct Other;

    impl AeadAlgorithm for Other {
        type SealingKey = InPlace<ToyAead>;
        type OpeningKey = InPlace<ToyAead>;

        const CIPHER: BulkCipher = BulkCipher::Aes128Gcm;

        fn sealing_key(key: &AeadKey) -> InPlace<ToyAead> {
            InPlace(ToyAead(!key.as_ref()[0]))
        }

        fn opening_key(key: &AeadKey) -> InPlace<ToyAead> {
            Self::sealing_key(key)
        }

        fn fips() -> bool {
            true
        }
    }

    /// Like [`ToyQuic`], but with different keys.
    struct OtherQuic;

    impl quic::Algorithm for OtherQuic {
        fn packet_key(&self, _: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
            ToyQuic.packet_key(AeadKey::new(&[9; 16]), iv)
        }

        fn header_protection_key(&self, _: AeadKey) -> Box<dyn quic::HeaderProtectionKey> {
            ToyQuic.header_protection_key(AeadKey::new(&[9; 16]))
        }

        fn aead_key_len(&self) -> usize {
            32
        }

        fn fips(&self) -> bool {
            true
        }
    }

    const TLS13: [&dyn Tls13AeadAlgorithm; 2] = [
        &Tls13Framing::<ToyAlgorithm>::NEW,
        &Tls13Framing::<Other>::NEW,
    ];
    const TLS12: [&dyn Tls12AeadAlgorithm; 2] = [
        &Tls12GcmFraming::<ToyAlgorithm>::NEW,
        &Tls12GcmFraming::<Other>::NEW,
    ];
    const QUIC: [&dyn quic::Algorithm; 2] = [&ToyQuic, &OtherQuic];

    fn key() -> AeadKey {
        AeadKey::new(&[7; 32])
    }

    fn encrypted(mut encrypter: Box<dyn MessageEncrypter>) -> Vec<u8> {
        let message = OutboundPlainMessage {
            typ: ContentType::ApplicationData,
            version: ProtocolVersion::TLSv1_2,
            payload: b"hello"[..].into(),
        };
        let mut out = vec![0; encrypter.encrypted_payload_len(5)];
        encrypter.encrypt(message, 0, &mut out).unwrap();
        out
    }

    /// Everything observable about an algorithm for TLS 1.3.
    fn seen13(algorithm: &dyn Tls13AeadAlgorithm) -> (usize, bool, bool, Vec<u8>) {
        let secrets = algorithm.extract_keys(key(), Iv::default());
        let is_aes_256 = matches!(secrets, Ok(ConnectionTrafficSecrets::Aes256Gcm { .. }));
        let out = encrypted(algorithm.encrypter(key(), Iv::default()));
        (algorithm.key_len(), algorithm.fips(), is_aes_256, out)
    }

    fn seen12(algorithm: &dyn Tls12AeadAlgorithm) -> (usize, bool, bool, Vec<u8>) {
        let secrets = algorithm.extract_keys(key(), &[0; 4], &[0; 8]);
        let is_aes_256 = matches!(secrets, Ok(ConnectionTrafficSecrets::Aes256Gcm { .. }));
        let out = encrypted(algorithm.encrypter(key(), &[0; 4], &[0; 8]));
        let key_len = algorithm.key_block_shape().enc_key_len;
        (key_len, algorithm.fips(), is_aes_256, out)
    }

    fn seen_quic(algorithm: &dyn quic::Algorithm) -> (usize, bool, [u8; 28], u8) {
        let mut packet = [0; 28];
        let key = algorithm.packet_key(AeadKey::new(&[7; 16]), Iv::default());
        key.encrypt_in_place(0, b"", &mut packet).unwrap();
        let mut first = 0;
        let header = algorithm.header_protection_key(AeadKey::new(&[7; 16]));
        header
            .encrypt_in_place(&[0; 16], &mut first, &mut [0; 4])
            .unwrap();
        (algorithm.aead_key_len(), algorithm.fips(), packet, first)
    }

    #[test]
    fn every_call_goes_to_the_chosen_implementation() {
        for (index, takes_second) in [(0, (|| false) as fn() -> bool), (1, || true)] {
            let choice = Choice::new(TLS13[0], TLS13[1], takes_second);
            assert_eq!(seen13(&choice), seen13(TLS13[index]));
            let choice = Choice::new(TLS12[0], TLS12[1], takes_second);
            assert_eq!(seen12(&choice), seen12(TLS12[index]));
            let choice = Choice::new(QUIC[0], QUIC[1], takes_second);
            assert_eq!(seen_quic(&choice), seen_quic(QUIC[index]));
        }
        assert_ne!(seen13(TLS13[0]), seen13(TLS13[1]));
        assert_ne!(seen12(TLS12[0]), seen12(TLS12[1]));
        assert_ne!(seen_quic(QUIC[0]), seen_quic(QUIC[1]));
    }

    #[test]
    fn the_chosen_encrypter_and_decrypter_match() {
        for takes_second in [(|| false) as fn() -> bool, || true] {
            let choice = Choice::new(TLS13[0], TLS13[1], takes_second);
            let mut sealed = encrypted(choice.encrypter(key(), Iv::default()));
            let mut decrypter = choice.decrypter(key(), Iv::default());
            let opened = decrypter.decrypt(
                InboundOpaqueMessage::new(
                    ContentType::ApplicationData,
                    ProtocolVersion::TLSv1_2,
                    &mut sealed,
                ),
                0,
            );
            assert_eq!(opened.unwrap().payload, b"hello");

            let choice = Choice::new(TLS12[0], TLS12[1], takes_second);
            let mut sealed = encrypted(choice.encrypter(key(), &[0; 4], &[0; 8]));
            let mut decrypter = choice.decrypter(key(), &[0; 4]);
            let opened = decrypter.decrypt(
                InboundOpaqueMessage::new(
                    ContentType::ApplicationData,
                    ProtocolVersion::TLSv1_2,
                    &mut sealed,
                ),
                0,
            );
            assert_eq!(opened.unwrap().payload, b"hello");
        }
    }
}
