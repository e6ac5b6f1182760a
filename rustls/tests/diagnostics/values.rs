//! `Debug` of values without secrets equals upstream's. The test `texts` compares enums and errors.

macro_rules! values {
    ($module:ident, $tls:ident) => {
        mod $module {
            use std::fmt::Debug;

            use $tls::{client, server};

            pub(super) fn values() -> Vec<String> {
                let values: [&dyn Debug; 12] = [
                    &$tls::DistinguishedName::in_sequence(b"name"),
                    &$tls::RootCertStore::empty(),
                    &client::Resumption::disabled(),
                    &$tls::NoKeyLog,
                    &server::NoClientAuth,
                    &server::NoServerSessionStorage {},
                    &$tls::time_provider::DefaultTimeProvider,
                    &client::danger::ServerCertVerified::assertion(),
                    &client::danger::HandshakeSignatureValid::assertion(),
                    &server::danger::ClientCertVerified::assertion(),
                    &$tls::compress::CompressionCache::Disabled,
                    &client::TicketRequest {
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
fn values_have_the_same_debug_output_as_upstream() {
    assert_eq!(this::values(), upstream::values());
}
