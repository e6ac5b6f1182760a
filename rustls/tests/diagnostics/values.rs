//! `Debug` of values without secrets equals upstream's. The test `texts` compares enums and errors.

macro_rules! values {
    ($module:ident, $tls:ident) => {
        mod $module {
            use std::fmt::Debug;

            use $tls::client::danger::{HandshakeSignatureValid, ServerCertVerified};
            use $tls::client::{Resumption, TicketRequest};
            use $tls::compress::CompressionCache;
            use $tls::server::danger::ClientCertVerified;
            use $tls::server::{NoClientAuth, NoServerSessionStorage};
            use $tls::time_provider::DefaultTimeProvider;
            use $tls::{DistinguishedName, NoKeyLog, RootCertStore};

            pub(super) fn values() -> Vec<String> {
                let values: [&dyn Debug; 12] = [
                    &DistinguishedName::in_sequence(b"name"),
                    &RootCertStore::empty(),
                    &Resumption::disabled(),
                    &NoKeyLog,
                    &NoClientAuth,
                    &NoServerSessionStorage {},
                    &DefaultTimeProvider,
                    &ServerCertVerified::assertion(),
                    &HandshakeSignatureValid::assertion(),
                    &ClientCertVerified::assertion(),
                    &CompressionCache::Disabled,
                    &TicketRequest {
                        new_session_count: 1,
                        resumption_count: 2,
                    },
                ];
                values.map(|value| format!("{value:?}")).to_vec()
            }
        }
    };
}

values!(this, rustls);
values!(upstream, rustls_upstream);

#[test]
fn values() {
    assert_eq!(this::values(), upstream::values());
}
