//! Programs for rustls 0.23.46 construct types with literals and match on them. The same code that
//! does so compiles against both crates.
//!
//! `ci/api` compares all names, signatures, fields and implemented traits. It does not see new
//! fields and variants, nor methods that a trait requires. The modules `both` of the test kit
//! implement the traits for both crates.

#![cfg(all(feature = "std", feature = "tls12"))]
#![allow(dead_code)] // compiled, not run

use std::sync::Arc;

macro_rules! public_api_of {
    ($name:ident, $lib:ident) => {
        mod $name {
            use $lib as r;
            use $lib::client::{TicketRequest, Tls12Resumption};
            use $lib::server::{NoClientAuth, NoServerSessionStorage};

            use super::*;

            #[derive(Debug)]
            struct Everything;

            impl r::SideData for Everything {}

            /// The names outlive the ClientHello from which they were read.
            fn protocols(accepted: &r::server::Accepted) -> Option<Vec<&[u8]>> {
                let names = accepted.client_hello().alpn();
                names.map(Iterator::collect)
            }

            fn literals(secrets: r::ExtractedSecrets, config: &mut r::ServerConfig) {
                let _: TicketRequest = TicketRequest {
                    new_session_count: 2,
                    resumption_count: 1,
                };
                let _: Arc<dyn r::server::danger::ClientCertVerifier> = Arc::new(NoClientAuth);
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.key_log = Arc::new(r::NoKeyLog);
                config.time_provider = Arc::new(r::time_provider::DefaultTimeProvider);
                match Tls12Resumption::Disabled {
                    Tls12Resumption::Disabled
                    | Tls12Resumption::SessionIdOnly
                    | Tls12Resumption::SessionIdOrTickets => {}
                }
                let r::ExtractedSecrets { tx: _, rx } = secrets;
                match &rx.1 {
                    r::ConnectionTrafficSecrets::Aes128Gcm { key, iv }
                    | r::ConnectionTrafficSecrets::Aes256Gcm { key, iv }
                    | r::ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                        let (_, _): (&[u8], &[u8]) = (key.as_ref(), iv.as_ref());
                    }
                    _ => {}
                }
            }
        }
    };
}

public_api_of!(ours, rustls);
public_api_of!(upstream, rustls_upstream);
