//! Tries calls of providers and verifiers that fail: keys, key exchange, HPKE, QUIC keys and
//! tickets.

use std::sync::Arc;

use harness::peers::configs::{KEY_TYPES, Provider};
use rustls_upstream::pki_types::{
    PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};

use crate::texts::log::Log;

/// Returns valid keys and an empty one, each labelled with every encoding, most of which are wrong.
fn keys() -> Vec<(String, PrivateKeyDer<'static>)> {
    let mut ders = vec![("no key".to_owned(), vec![])];
    for key_type in KEY_TYPES {
        let key = key_type.identities().server.key();
        ders.push((format!("{key_type:?}"), key.secret_der().to_vec()));
    }
    let mut keys = Vec::new();
    for (what, der) in ders {
        let pkcs8 = PrivatePkcs8KeyDer::from(der.clone());
        let pkcs1 = PrivatePkcs1KeyDer::from(der.clone());
        let sec1 = PrivateSec1KeyDer::from(der);
        keys.push((format!("{what} as PKCS#8"), pkcs8.into()));
        keys.push((format!("{what} as PKCS#1"), pkcs1.into()));
        keys.push((format!("{what} as SEC1"), sec1.into()));
    }
    keys
}

macro_rules! primitives {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            use $tls::crypto::hpke::{EncapsulatedSecret, HpkePrivateKey, HpkePublicKey};
            use $tls::crypto::{aws_lc_rs, ring};
            use $tls::quic::{Keys, Version};
            use $tls::sign::SigningKey;
            use $tls::{Error, Side};

            use super::*;

            pub fn all(provider: Provider) -> Log {
                let mut log = Log::default();
                load_keys(&mut log, provider);
                exchange_keys(&mut log, provider);
                use_hpke(&mut log, provider);
                protect_packets(&mut log, provider);
                rotate_tickets(&mut log);
                log
            }

            fn load_keys(log: &mut Log, provider: Provider) {
                for (what, key) in keys() {
                    let loader = provider.$module().key_provider;
                    log.call(&what, || loader.load_private_key(key.clone_key()));
                    let (any, ecdsa): (
                        fn(&PrivateKeyDer<'_>) -> Result<_, Error>,
                        fn(&PrivateKeyDer<'_>) -> Result<_, Error>,
                    ) = match provider {
                        Provider::AwsLc => (
                            aws_lc_rs::sign::any_supported_type,
                            aws_lc_rs::sign::any_ecdsa_type,
                        ),
                        Provider::Ring => {
                            (ring::sign::any_supported_type, ring::sign::any_ecdsa_type)
                        }
                    };
                    log.call(&what, || any(&key));
                    log.call(&what, || ecdsa(&key));
                    // hidden in the documentation, but in the code of published programs
                    log.call(&what, || match provider {
                        Provider::AwsLc => aws_lc_rs::sign::RsaSigningKey::new(&key)
                            .map(|key| Arc::new(key) as Arc<dyn SigningKey>),
                        Provider::Ring => ring::sign::RsaSigningKey::new(&key)
                            .map(|key| Arc::new(key) as Arc<dyn SigningKey>),
                    });
                    if let PrivateKeyDer::Pkcs8(key) = &key {
                        log.call(&what, || match provider {
                            Provider::AwsLc => aws_lc_rs::sign::any_eddsa_type(key),
                            Provider::Ring => ring::sign::any_eddsa_type(key),
                        });
                    }
                }
            }

            fn exchange_keys(log: &mut Log, provider: Provider) {
                for group in provider.$module().kx_groups {
                    let what = format!("{:?}", group.name());
                    for share in [
                        &[][..],
                        &[0; 32],
                        &[4; 65],
                        &[0; 97],
                        &[7; 1120],
                        &[0; 1216],
                    ] {
                        log.call(&what, || group.start_and_complete(share));
                        log.call(&what, || group.start()?.complete(share));
                    }
                }
            }

            /// HPKE fails with an `Error::Other` that contains an error of the crypto library in
            /// upstream and of `blocks::hpke` in this crate. Their texts are not compared.
            fn use_hpke(log: &mut Log, provider: Provider) {
                if provider == Provider::Ring {
                    return;
                }
                let own = |error| matches!(error, Error::Other(_)).then_some("of the library");
                for hpke in aws_lc_rs::hpke::ALL_SUPPORTED_SUITES {
                    let what = format!("{:?}", hpke.suite());
                    let (public, private) = hpke.generate_key_pair().unwrap();
                    let no_public = HpkePublicKey(vec![]);
                    let no_private = HpkePrivateKey::from(vec![]);
                    let (encapsulated, sealed) =
                        hpke.seal(b"info", b"aad", b"text", &public).unwrap();
                    let no_secret = EncapsulatedSecret(vec![]);
                    let cut = &sealed[1..];
                    log.call(&what, || {
                        hpke.seal(b"info", b"aad", b"text", &no_public).map_err(own)
                    });
                    log.call(&what, || {
                        hpke.setup_sealer(b"info", &no_public).map_err(own)
                    });
                    for (secret, private) in [
                        (&no_secret, &private),
                        (&encapsulated, &no_private),
                        (&no_secret, &no_private),
                        (&encapsulated, &private),
                    ] {
                        log.call(&what, || {
                            hpke.open(secret, b"info", b"aad", cut, private)
                                .map_err(own)
                        });
                        for text in [cut, &[]] {
                            log.call(&what, || {
                                let opener = hpke.setup_opener(secret, b"info", private);
                                opener.and_then(|mut it| it.open(b"aad", text)).map_err(own)
                            });
                        }
                    }
                }
            }

            fn protect_packets(log: &mut Log, provider: Provider) {
                let suites = provider.$module().cipher_suites;
                for suite in suites.iter().filter_map(|suite| suite.tls13()) {
                    let what = format!("{suite:?}");
                    let quic = suite.quic.unwrap();
                    let keys = Keys::initial(Version::V1, suite, quic, b"id", Side::Client);
                    for (sample, number) in [(16, 5), (15, 4), (17, 4), (0, 4), (16, 0), (16, 4)] {
                        let sample = vec![7; sample];
                        for key in [&keys.local.header, &keys.remote.header] {
                            log.call(&what, || {
                                key.encrypt_in_place(&sample, &mut 0xc3, &mut vec![0; number])
                            });
                            log.call(&what, || {
                                key.decrypt_in_place(&sample, &mut 0xc3, &mut vec![0; number])
                            });
                        }
                    }
                    for packet in [0, 15, 16, 40] {
                        log.call(&what, || {
                            let mut payload = vec![7; packet];
                            let opened =
                                keys.remote
                                    .packet
                                    .decrypt_in_place(1, b"header", &mut payload);
                            opened.map(<[u8]>::len)
                        });
                    }
                }
            }

            fn rotate_tickets(log: &mut Log) {
                use $tls::crypto::GetRandomFailed;
                log.call("rotator", || {
                    $tls::ticketer::TicketRotator::new(100, || Err(GetRandomFailed))
                });
                #[allow(deprecated)] // 0.23 has it
                log.call("switcher", || {
                    $tls::ticketer::TicketSwitcher::new(100, || Err(GetRandomFailed))
                });
            }
        }
    };
}

primitives!(this, rustls);
primitives!(upstream, rustls_upstream);
