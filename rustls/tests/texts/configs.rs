//! Tries configurations and connections that cannot be created, with a focus on Encrypted
//! ClientHello.

use std::sync::Arc;

use harness::peers::configs::{self, Provider, server_name};
use harness::scripted::ech::{EchKey, SUITES};
use rustls_upstream::pki_types::{EchConfigListBytes, ServerName};

use crate::texts::connections::KEY_TYPE;
use crate::texts::log::Log;

macro_rules! configs {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            use $tls::client::{EchConfig, EchGreaseConfig, EchMode};
            use $tls::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES;
            use $tls::{ClientConfig, ClientConnection};

            use super::*;

            pub fn all(provider: Provider, list: &[u8]) -> Log {
                let mut log = Log::default();
                log.call("no suites", || {
                    EchConfig::new(EchConfigListBytes::from(list), &[])
                });
                enable_ech(&mut log, provider, list);
                log
            }

            fn enable_ech(log: &mut Log, provider: Provider, list: &[u8]) {
                let list = EchConfigListBytes::from(list);
                let ech = EchConfig::new(list, ALL_SUPPORTED_SUITES).unwrap();
                let hpke = ALL_SUPPORTED_SUITES[0];
                let (public_key, _) = hpke.generate_key_pair().unwrap();
                let grease = EchGreaseConfig::new(hpke, public_key);
                for mode in [EchMode::from(ech), EchMode::from(grease)] {
                    // without TLS 1.3
                    let mut older = provider.$module();
                    older.cipher_suites.retain(|suite| suite.tls13().is_none());
                    log.call("older", || {
                        ClientConfig::builder_with_provider(Arc::new(older)).with_ech(mode.clone())
                    });

                    // without SNI, and to an address
                    let builder = ClientConfig::builder_with_provider(Arc::new(provider.$module()));
                    let mut config = builder
                        .with_ech(mode)
                        .unwrap()
                        .with_root_certificates(configs::$module::roots(KEY_TYPE))
                        .with_no_client_auth();
                    for enable_sni in [true, false] {
                        config.enable_sni = enable_sni;
                        let config = Arc::new(config.clone());
                        let address = ServerName::try_from("192.0.2.1").unwrap();
                        for name in [server_name(), address] {
                            log.call("with ECH", || ClientConnection::new(config.clone(), name));
                        }
                    }
                }
            }
        }
    };
}

configs!(this, rustls);
configs!(upstream, rustls_upstream);

/// Returns an ECHConfigList that both crates can use.
pub fn list() -> Vec<u8> {
    EchKey::new(7, "public.example", SUITES[0]).config.list()
}
