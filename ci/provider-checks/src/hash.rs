//! Checks hash functions, HMAC and key derivation with the vectors of FIPS 180 and the RFCs.

use rustls_core::blocks::{HashFunction, Hashing};
use rustls_core::crypto::hash::{Hash, HashAlgorithm};
use rustls_core::crypto::hmac::Hmac;
use rustls_core::crypto::tls12::{Prf, PrfUsingHmac};
use rustls_core::crypto::tls13::{
    Hkdf, HkdfExpander, HkdfUsingHmac, OkmBlock, expand_label_block, expand_label_slice,
};

use crate::hex;

/// Checks a provider's SHA-256 and SHA-384, HMAC, and key derivation with it.
pub fn check_sha256_and_sha384<Sha256: HashFunction, Sha384: HashFunction>() {
    check_hash(&Hashing::<Sha256>::NEW, &Hashing::<Sha384>::NEW);
    let hmacs: [&dyn Hmac; 2] = [&Hashing::<Sha256>::NEW, &Hashing::<Sha384>::NEW];
    check_hmac_vectors(hmacs);
    check_prf_vectors(
        hmacs
            .map(PrfUsingHmac)
            .each_ref()
            .map(|prf| prf as &dyn Prf),
    );
    check_prf_vectors([Sha256::PRF, Sha384::PRF]);
    check_hkdf_sha256(&Hashing::<Sha256>::NEW);
    check_hkdf_sha256(&HkdfUsingHmac(hmacs[0]));
    check_hkdf_sha256(Sha256::HKDF);

    let key = OkmBlock::new(b"key");
    let expected = hmacs[0].with_key(b"key").sign(&[b"message"]);
    let tag = Hashing::<Sha256>::NEW.hmac_sign(&key, b"message");
    assert_eq!(tag.as_ref(), expected.as_ref());
}

/// Checks HKDF with SHA-256 in any implementation.
fn check_hkdf_sha256(hkdf: &dyn Hkdf) {
    check_hkdf_vectors(hkdf);
    check_key_schedule(hkdf);
}

/// Checks the hash of "abc" (FIPS 180), in one piece and in two, and that forks are independent.
fn check_hash(sha256: &dyn Hash, sha384: &dyn Hash) {
    assert_eq!(sha256.algorithm(), HashAlgorithm::SHA256);
    assert_eq!(sha384.algorithm(), HashAlgorithm::SHA384);
    let of_sha256 = "ba7816bf8f01cfea414140de5dae2223 b00361a396177a9cb410ff61f20015ad";
    let of_sha384 = "cb00753f45a35e8bb5a03d699ac65007 272c32ab0eded1631a8b605a43ff5bed
                     8086072ba1e7cc2358baeca134c825a7";
    for (hash, expected) in [(sha256, of_sha256), (sha384, of_sha384)] {
        let expected = hex(expected);
        assert_eq!(hash.hash(b"abc").as_ref(), expected);
        assert_eq!(hash.output_len(), expected.len());
        let mut context = hash.start();
        context.update(b"a");
        context.update(b"bc");
        assert_eq!(context.finish().as_ref(), expected);

        let mut context = hash.start();
        context.update(b"one");
        let mut fork = context.fork();
        fork.update(b"two");
        context.update(b"three");
        let so_far = context.fork_finish();
        assert_eq!(so_far.as_ref(), hash.hash(b"onethree").as_ref());
        context.update(b"four");
        assert_eq!(fork.finish().as_ref(), hash.hash(b"onetwo").as_ref());
        let all = context.finish();
        assert_eq!(all.as_ref(), hash.hash(b"onethreefour").as_ref());
    }
}

fn check_hmac_vectors(hmacs: [&dyn Hmac; 2]) {
    // §4.2, §4.3, §4.7 (a key longer than a block), §4.8 (key and data longer)
    check_hmac(
        hmacs,
        &[0x0b; 20],
        b"Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b 881dc200c9833da726e9376c2e32cff7",
        "afd03944d84895626b0825f4ab46907f 15f9dadbe4101ec682aa034c7cebc59c
         faea9ea9076ede7f4af152e8b2fa9cb6",
    );
    check_hmac(
        hmacs,
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c7 5a003f089d2739839dec58b964ec3843",
        "af45d2e376484031617f78d2b58a6b1b 9c7ef464f5a01b47e42ec3736322445e
         8e2240ca5e69e2c78b3239ecfab21649",
    );
    check_hmac(
        hmacs,
        &[0xaa; 131],
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f 8e0bc6213728c5140546040f0ee37f54",
        "4ece084485813e9088d2c63a041bc5b4 4f9ef1012a2b588f3cd11f05033ac4c6
         0c2ef6ab4030fe8296248df163f44952",
    );
    check_hmac(
        hmacs,
        &[0xaa; 131],
        b"This is a test using a larger than block-size key and a larger than block-size data. \
          The key needs to be hashed before being used by the HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944 bfdc63644f0713938a7f51535c3a35e2",
        "6617178e941f020d351e2f254e8fd32c 602420feb0b8fb9adccebb82461e99c5
         a678cc31e799176d3860e6110c46523e",
    );
}

/// Checks that the tag does not depend on how the data is split.
fn check_hmac(hmacs: [&dyn Hmac; 2], key: &[u8], data: &[u8], sha256: &str, sha384: &str) {
    for (hmac, expected) in hmacs.into_iter().zip([sha256, sha384]) {
        let expected = hex(expected);
        let key = hmac.with_key(key);
        assert_eq!(key.sign(&[data]).as_ref(), expected);
        for at in 0..=data.len() {
            let (front, back) = data.split_at(at);
            assert_eq!(key.sign(&[front, &[], back]).as_ref(), expected);
            assert_eq!(key.sign_concat(front, &[back], &[]).as_ref(), expected);
            assert_eq!(key.sign_concat(&[], &[front], back).as_ref(), expected);
        }
        assert_eq!(key.tag_len(), expected.len());
        assert_eq!(hmac.hash_output_len(), expected.len());
    }
}

fn check_hkdf_vectors(hkdf: &dyn Hkdf) {
    // §A.1
    check_hkdf(
        hkdf,
        Some(&hex("000102030405060708090a0b0c")),
        &[0x0b; 22],
        &hex("f0f1f2f3f4f5f6f7f8f9"),
        "3cb25f25faacd57a90434f64d0362f2a 2d2d0a90cf1a5a4c5db02d56ecc4c5bf
         34007208d5b887185865",
    );
    // §A.2
    let bytes = |from: u8, to: u8| (from..=to).collect::<Vec<u8>>();
    check_hkdf(
        hkdf,
        Some(&bytes(0x60, 0xaf)),
        &bytes(0x00, 0x4f),
        &bytes(0xb0, 0xff),
        "b11e398dc80327a1c8e7f78c596a4934 4f012eda2d4efad8a050cc4c19afa97c
         59045a99cac7827271cb41c65e590e09 da3275600c2f09b8367793a9aca3db71
         cc30c58179ec3e87c14c01d5c1f3434f 1d87",
    );
    // §A.3: an empty salt is the same as none
    let okm = "8da4e775a563c18f715f802a063c5a31 b8a11f5c5ee1879ec3454e5f3c738d2d
               9d201395faa4b61a96c8";
    check_hkdf(hkdf, None, &[0x0b; 22], &[], okm);
    check_hkdf(hkdf, Some(&[]), &[0x0b; 22], &[], okm);
}

fn check_hkdf(hkdf: &dyn Hkdf, salt: Option<&[u8]>, ikm: &[u8], info: &[u8], okm: &str) {
    let expected = hex(okm);
    let expander = hkdf.extract_from_secret(salt, ikm);
    assert_eq!(expander.hash_len(), 32);
    for len in 0..=expected.len() {
        let mut okm = vec![0; len];
        expander.expand_slice(&[info], &mut okm).unwrap();
        assert_eq!(okm, expected[..len]);
    }
    assert_eq!(expander.expand_block(&[info]).as_ref(), &expected[..32]);
}

/// Checks the secrets of a simple handshake in RFC 8448 §3, from the shared secret to the server's
/// keys.
fn check_key_schedule(hkdf: &dyn Hkdf) {
    let hash_of_nothing = hex("e3b0c44298fc1c149afbf4c8996fb924 27ae41e4649b934ca495991b7852b855");
    let client_hello_to_server_hello =
        hex("860c06edc07858ee8e78f0e7428c58ed d6b43f2ca3e6e95f02ed063cf0e1cad8");

    let early_secret = hkdf.extract_from_zero_ikm(None);
    let derived = expand_label_block(&*early_secret, b"derived", &hash_of_nothing);
    check_block(
        &derived,
        "6f2615a108c702c5678f54fc9dbab697 16c076189c48250cebeac3576c3611ba",
    );

    let shared_secret = hex("8bd4054fb55b9d63fdfbacf9f04b9f0d 35e6d63f537563efd46272900f89492d");
    let handshake_secret = hkdf.extract_from_secret(Some(derived.as_ref()), &shared_secret);
    let client_secret = expand_label_block(
        &*handshake_secret,
        b"c hs traffic",
        &client_hello_to_server_hello,
    );
    check_block(
        &client_secret,
        "b3eddb126e067f35a780b3abf45e2d8f 3b1a950738f52e9600746a0e27a55a21",
    );
    let server_secret = expand_label_block(
        &*handshake_secret,
        b"s hs traffic",
        &client_hello_to_server_hello,
    );
    check_block(
        &server_secret,
        "b67b7d690cc16c4e75e54213cb2d37b4 e9c912bcded9105d42befd59d391ad38",
    );

    let mut lent = 0;
    let mut check_labels = |server_secret: &dyn HkdfExpander| {
        check_label(server_secret, b"key", "3fce516009c21727d0f2e4e86ee403bc");
        check_label(server_secret, b"iv", "5d313eb2671276ee13000b30");
        check_label(
            server_secret,
            b"finished",
            "008d3b66f816ea559f96b537e885c31f c068bf492c652f01f288a1d8cdc19fc8",
        );
        lent += 1;
    };
    check_labels(&*hkdf.expander_for_okm(&server_secret));
    hkdf.with_expander(&server_secret, &mut check_labels);
    assert_eq!(lent, 2);
}

fn check_block(block: &OkmBlock, expected: &str) {
    assert_eq!(block.as_ref(), hex(expected));
}

fn check_label(expander: &dyn HkdfExpander, label: &[u8], expected: &str) {
    let expected = hex(expected);
    let mut output = vec![0; expected.len()];
    expand_label_slice(expander, label, &[], &mut output).unwrap();
    assert_eq!(output, expected);
}

/// Checks the PRF. RFC 5246 has no vectors; these are from the TLS working group's mailing list.
fn check_prf_vectors(prfs: [&dyn Prf; 2]) {
    check_prf(
        prfs[0],
        "9bbe436ba940f017b17652849a71db35",
        "a0ba9f936cda311827a6f796ffd5198c",
        "e3f229ba727be17b8d122620557cd453 c2aab21d07c3d495329b52d4e61edb5a
         6b301791e90d35c9c9a46b4e14baf9af 0fa022f7077def17abfd3797c0564bab
         4fbc91666e9def9b97fce34f796789ba a48082d122ee42c5a72e5a5110fff701
         87347b66",
    );
    check_prf(
        prfs[1],
        "b80b733d6ceefcdc71566ea48e5567df",
        "cd665cf6a8447dd6ff8b27555edb7465",
        "7b0c18e9ced410ed1804f2cfa34a336a 1c14dffb4900bb5fd7942107e81c83cd
         e9ca0faa60be9fe34f82b1233c9146a0 e534cb400fed2700884f9dc236f80edd
         8bfa961144c9e8d792eca722a7b32fc3 d416d473ebc2c5fd4abfdad05d918425
         9b5bf8cd4d90fa0d31e2dec479e4f1a2 6066f2eea9a69236a3e52655c9e9aee6
         91c8f3a26854308d5eaa3be85e099070 3d73e56f",
    );
}

fn check_prf(prf: &dyn Prf, secret: &str, seed: &str, expected: &str) {
    let expected = hex(expected);
    let mut output = vec![0; expected.len()];
    let (secret, seed) = (hex(secret), hex(seed));
    prf.for_secret(&mut output, &secret, b"test label", &seed);
    assert_eq!(output, expected);
    if let Some(prepared) = prf.prepare(&secret) {
        for _ in 0..2 {
            output.fill(0);
            prepared.derive(&mut output, b"test label", &seed);
            assert_eq!(output, expected);
        }
    }
}
