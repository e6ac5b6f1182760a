//! Compares with values of an independent implementation (Python's hmac), because the RFCs have no
//! test vectors.

use alloc::string::String;
use core::sync::atomic::{AtomicUsize, Ordering};

use rustls_core::crypto::SharedSecret;

use super::*;
#[cfg(feature = "aws_lc_rs")]
use crate::crypto::aws_lc_rs::cipher_suite;
#[cfg(not(feature = "aws_lc_rs"))]
use crate::crypto::ring::cipher_suite;
use crate::enums::NamedGroup;
use crate::error::PeerMisbehaved;
use crate::suites::{CipherSuiteCommon, SupportedCipherSuite};

/// Values derived from the pre-master secret 00 01 … 1f, the randoms 11 … and 22 …, and the
/// transcript hash 33 ….
struct Vector {
    suite: SupportedCipherSuite,
    hash_len: usize,
    master_secret: &'static str,
    extended: &'static str,
    key_block: &'static str,
    client_finished: &'static str,
    server_finished: &'static str,
    /// 20 bytes for `EXPORTER-test`: without a context, with an empty one, and with `context`.
    exported: [&'static str; 3],
}

const VECTORS: [Vector; 2] = [
    Vector {
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        hash_len: 32,
        master_secret: "f6550fc97649b6cb29f5d4d5006cbf69edacc80c5af55f7cf19db4e3e3b90ca2\
                        a198457b64a6ed72c4b524d822cefc59",
        extended: "c655688d46a7c0d40b6ffff452ef9ff6b8819703bb08a3a5fee20229fcabdc06\
                   15cf9742d4427029320a214d8945c6c8",
        key_block: "c29bf7524f0fe5900190b21c417a4528f6ab75167a7f342174d453951df16be4\
                    89a4a26eec3e3e66fea612f8b666c8ed",
        client_finished: "fdf3cb4f80b9b78fac806ae4",
        server_finished: "3e6a4ab324597eee6085a1c7",
        exported: [
            "4708fa26fa07ad2630a1cedab2b58117ca0fb61b",
            "357457bc97a09be0bd261342b25d239ec6fdb022",
            "12a0b46f4053c34087e21aeb2eb991588735b458",
        ],
    },
    Vector {
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        hash_len: 48,
        master_secret: "ec126f7fbd84ac774c085a84853fa1cb63e1ed6759d749389f954f04e25b43eb\
                        0562738094c03ce23552e4fbeaa88654",
        extended: "d84e2399a774d6d098e5cda3a35d43e9d959e3e1141946a05a960aaeb51221c9\
                   e4bbf561ce82d2a8ebc2cdcd04cc6deb",
        key_block: "408d53b3c3f9adcb86f99e8b88288e5f5c1a6984d445df92a28d5ff566c65374\
                    613547a130b76ddf9c195bd3bc742dac1b9621560cd057ba27c632e0aa264274\
                    1b7fc86e66c70b72ed03d386135fe737",
        client_finished: "f1aba53b163277a2cb0bd965",
        server_finished: "a52b353b3789e5390a556657",
        exported: [
            "f97943b5a224d33e0daee88fa4238bb4892b3802",
            "3273dff7b7f4a8fd5f1389ebf9ae6f713acd3e00",
            "04c012b57efbf04a0760a4e06dc24c7f7a2a9129",
        ],
    },
];

const RANDOMS: Randoms = Randoms {
    client: Random([0x11; 32]),
    server: Random([0x22; 32]),
};

/// A key exchange with the result 00 01 … 1f.
struct Exchange;

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_share: &[u8]) -> Result<SharedSecret, Error> {
        if peer_share != b"share" {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(SharedSecret::from((0..32).collect::<Vec<u8>>()))
    }

    fn pub_key(&self) -> &[u8] {
        b"ours"
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| alloc::format!("{byte:02x}"))
        .collect()
}

impl Vector {
    fn hash(&self) -> Output {
        Output::new(&[0x33; 48][..self.hash_len])
    }

    fn secret(&self, session_hash: Option<&Output>) -> MasterSecret {
        let suite = self.suite.tls12().unwrap();
        MasterSecret::new(suite, Box::new(Exchange), b"share", RANDOMS, session_hash).unwrap()
    }

    fn extended_secret(&self) -> MasterSecret {
        self.secret(Some(&self.hash()))
    }
}

#[test]
fn master_secrets_are_derived_from_the_key_exchange() {
    for vector in VECTORS {
        let plain = vector.secret(None);
        assert_eq!(hex(plain.as_bytes()), vector.master_secret);
        assert!(!plain.is_extended());
        let extended = vector.extended_secret();
        assert_eq!(hex(extended.as_bytes()), vector.extended);
        assert!(extended.is_extended());

        let refused = MasterSecret::new(
            extended.suite,
            Box::new(Exchange),
            b"no share",
            RANDOMS,
            None,
        );
        assert_eq!(refused.err(), Some(PeerMisbehaved::InvalidKeyShare.into()));
    }
}

#[test]
fn key_blocks_are_divided_in_order() {
    for vector in VECTORS {
        let block = vector.extended_secret().key_block();
        assert_eq!(hex(&block.bytes), vector.key_block);

        let (client_key, client_iv, explicit) = block.keys(Side::Client);
        let (server_key, server_iv, same) = block.keys(Side::Server);
        assert_eq!(explicit, same);
        assert_eq!((client_iv.len(), explicit.len()), (4, 8));
        let joined = [
            client_key.as_ref(),
            server_key.as_ref(),
            client_iv,
            server_iv,
            explicit,
        ];
        assert_eq!(joined.concat(), *block.bytes);
    }
}

#[test]
fn a_cipher_without_explicit_nonce_gets_none() {
    let suite = cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256;
    let suite = suite.tls12().unwrap();
    let block =
        MasterSecret::resumed(suite, SessionSecret::copy(&[7; 48]), RANDOMS, true).key_block();
    assert_eq!(block.bytes.len(), 2 * (32 + 12));
    let (_, iv, explicit) = block.keys(Side::Server);
    assert_eq!((iv.len(), explicit.len()), (12, 0));
    assert_eq!(block.confidentiality_limit(), u64::MAX);
}

#[test]
fn each_side_has_its_own_verify_data() {
    for vector in VECTORS {
        let keys = vector.extended_secret().key_block();
        let client = keys.received_verify_data(Side::Client, &vector.hash());
        assert_eq!(hex(&client), vector.client_finished);
        let server = keys.sent_verify_data(Side::Server, &vector.hash());
        assert_eq!(hex(&server), vector.server_finished);
    }
}

/// A PRF that counts its calls. `prepares` makes it prepare secrets.
struct Counting {
    prf: &'static dyn Prf,
    prepares: bool,
    prepared: AtomicUsize,
    derived: AtomicUsize,
}

impl Prf for Counting {
    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer_share: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), Error> {
        self.prf
            .for_key_exchange(output, kx, peer_share, label, seed)
    }

    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        self.derived.fetch_add(1, Ordering::Relaxed);
        self.prf.for_secret(output, secret, label, seed);
    }

    fn prepare(&self, secret: &[u8]) -> Option<Box<dyn tls12::PreparedSecret>> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        self.prf.prepare(secret).filter(|_| self.prepares)
    }
}

#[test]
fn the_master_secret_is_prepared_once_per_handshake() {
    for vector in VECTORS {
        for (prepares, derived) in [(true, 0), (false, 3)] {
            let suite = vector.suite.tls12().unwrap();
            let prf: &Counting = Box::leak(Box::new(Counting {
                prf: suite.prf_provider,
                prepares,
                prepared: AtomicUsize::new(0),
                derived: AtomicUsize::new(0),
            }));
            let counted = Box::leak(Box::new(Tls12CipherSuite {
                common: CipherSuiteCommon { ..suite.common },
                prf_provider: prf,
                ..*suite
            }));
            let hash = vector.hash();
            let secret =
                MasterSecret::new(counted, Box::new(Exchange), b"share", RANDOMS, Some(&hash))
                    .unwrap();
            let keys = secret.key_block();
            assert_eq!(hex(&keys.bytes), vector.key_block);
            let client = keys.received_verify_data(Side::Client, &hash);
            assert_eq!(hex(&client), vector.client_finished);
            let server = keys.sent_verify_data(Side::Server, &hash);
            assert_eq!(hex(&server), vector.server_finished);
            assert_eq!(prf.prepared.load(Ordering::Relaxed), 1);
            assert_eq!(prf.derived.load(Ordering::Relaxed), derived);
        }
    }
}

#[test]
fn exporters_distinguish_no_context_from_an_empty_one() {
    for vector in VECTORS {
        let secret = vector.extended_secret();
        for (context, exported) in [None, Some(&b""[..]), Some(b"context")]
            .into_iter()
            .zip(vector.exported)
        {
            let mut output = [0; 20];
            secret
                .export(&mut output, b"EXPORTER-test", context)
                .unwrap();
            assert_eq!(hex(&output), exported);
        }
    }
}

#[test]
fn exporters_reject_long_contexts_and_non_extended_secrets() {
    let [vector, _] = VECTORS;
    let mut output = [0; 20];
    let secret = vector.extended_secret();
    secret
        .export(&mut output, b"label", Some(&[0; 0xffff]))
        .unwrap();
    secret
        .export(&mut output, b"label", Some(&[0; 0x1_0000]))
        .unwrap_err();
    vector
        .secret(None)
        .export(&mut output, b"label", None)
        .unwrap_err();
}

#[test]
fn a_resumed_session_has_different_keys() {
    let [vector, _] = VECTORS;
    let first = vector.extended_secret();
    let secret = || first.session_secret().clone();
    let resumed = MasterSecret::resumed(first.suite, secret(), RANDOMS, true);
    assert_eq!(resumed.key_block().bytes, first.key_block().bytes);

    let randoms = Randoms {
        server: Random([0x23; 32]),
        ..RANDOMS
    };
    let resumed = MasterSecret::resumed(first.suite, secret(), randoms, true);
    assert_ne!(resumed.key_block().bytes, first.key_block().bytes);
    assert_eq!(resumed.randoms.server, Random([0x23; 32]));
}

/// Moves, and stores that share the secret, must not leave copies of it behind.
#[test]
fn a_secret_stays_at_its_address() {
    let [vector, _] = VECTORS;
    let first = vector.extended_secret();
    let place = first.as_bytes().as_ptr();
    let moved = Box::new(Some(first));
    let first = (*moved).unwrap();
    assert_eq!(first.as_bytes().as_ptr(), place);
    let secret = first.session_secret().clone();
    let resumed = MasterSecret::resumed(first.suite, secret, RANDOMS, true);
    assert_eq!(resumed.as_bytes().as_ptr(), place);
}
