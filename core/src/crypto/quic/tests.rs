use super::*;
use crate::crypto::aead::AeadError;
use crate::crypto::cipher::NONCE_LEN;
use crate::crypto::toy::ToyAead;

const PACKET: &[u8] = b"payload of a packet";

fn key() -> AeadPacketKey<ToyAead> {
    AeadPacketKey::new(ToyAead(0x5a), Iv::new([7; NONCE_LEN]), 23, 52)
}

/// Returns the payload sealed with the nonce of `path`, followed by its tag, and the length of
/// both.
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
fn a_packet_opens_only_with_its_number_and_header() {
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
fn a_packet_opens_only_on_its_path() {
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
    // first byte, first byte masked, masked bytes of the packet number
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
fn header_protection_rejects_wrong_lengths_without_changes() {
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

#[test]
fn header_protection_fails_if_its_cipher_does() {
    struct Broken;

    impl HeaderMask for Broken {
        fn mask(&self, _: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
            Err(AeadError)
        }
    }

    let key = MaskHeaderKey::new(Broken);
    let (mut first, mut number) = (0xc3, [7; 4]);
    let failed = key.encrypt_in_place(&[0; SAMPLE_LEN], &mut first, &mut number);
    assert!(matches!(failed, Err(Error::General(_))));
    assert_eq!((first, number), (0xc3, [7; 4]));
    assert_eq!(key.sample_len(), SAMPLE_LEN);
}

#[test]
fn paths_are_rejected_unless_a_key_supports_them() {
    struct OnePath;

    impl PacketKey for OnePath {
        fn encrypt_in_place(&self, _: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
            Ok(Tag::from(&[0; TAG_LEN][..]))
        }

        fn decrypt_in_place<'a>(
            &self,
            _: u64,
            _: &[u8],
            payload: &'a mut [u8],
        ) -> Result<&'a [u8], Error> {
            Ok(payload)
        }

        fn tag_len(&self) -> usize {
            TAG_LEN
        }

        fn confidentiality_limit(&self) -> u64 {
            0
        }

        fn integrity_limit(&self) -> u64 {
            0
        }
    }

    assert!(matches!(
        OnePath.encrypt_in_place_for_path(0, 0, &[], &mut []),
        Err(Error::EncryptError)
    ));
    assert_eq!(
        OnePath.decrypt_in_place_for_path(0, 0, &[], &mut []),
        Err(Error::DecryptError)
    );
}
