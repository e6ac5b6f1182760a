//! Prints every public enum that is not an error, and other values without secrets, with `Debug`.

use harness::peers::additions;
use harness::peers::configs::PROVIDERS;

use crate::texts::log::{Log, named};

macro_rules! enums {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            use std::fmt::Debug;

            use $tls::client::{EchStatus, Tls12Resumption};
            use $tls::compress::CompressionLevel;
            use $tls::crypto::KeyExchangeAlgorithm;
            use $tls::crypto::hash::HashAlgorithm;
            use $tls::quic::Version;
            use $tls::server::CertificateType;
            use $tls::{
                AlertDescription, CertificateCompressionAlgorithm, CipherSuite, ContentType,
                HandshakeKind, HandshakeType, NamedGroup, ProtocolVersion, Side,
                SignatureAlgorithm, SignatureScheme, client, server,
            };

            use super::*;

            /// Logs all values of a wire enum, known and unknown.
            fn wire<N: TryFrom<u32>, T: From<N> + Debug>(
                log: &mut Log,
                path: &str,
                name: fn(&T) -> Option<&str>,
            ) {
                for number in 0..=u16::MAX {
                    if path == "CipherSuite" && additions::SUITES.contains(&number) {
                        continue;
                    }
                    let Ok(number) = N::try_from(number.into()) else {
                        return;
                    };
                    let value = T::from(number);
                    let variant = name(&value).unwrap_or("Unknown");
                    log.debug(&format!("{path}::{variant}"), &value);
                }
            }

            fn show<T: Debug>(log: &mut Log, module: &str, values: Vec<(&str, T)>) {
                for (path, value) in values {
                    log.debug(&format!("{module}{path}"), &value);
                }
            }

            pub fn all() -> Log {
                let mut log = Log::default();
                wire::<u8, _>(&mut log, "AlertDescription", AlertDescription::as_str);
                wire::<u8, _>(&mut log, "ContentType", ContentType::as_str);
                wire::<u8, _>(&mut log, "HandshakeType", HandshakeType::as_str);
                wire::<u8, _>(&mut log, "SignatureAlgorithm", SignatureAlgorithm::as_str);
                let hashes = "crypto::hash::HashAlgorithm";
                wire::<u8, _>(&mut log, hashes, HashAlgorithm::as_str);
                wire::<u8, _>(&mut log, "server::CertificateType", CertificateType::as_str);
                wire::<u16, _>(&mut log, "CipherSuite", CipherSuite::as_str);
                wire::<u16, _>(&mut log, "NamedGroup", NamedGroup::as_str);
                wire::<u16, _>(&mut log, "SignatureScheme", SignatureScheme::as_str);
                wire::<u16, _>(&mut log, "ProtocolVersion", ProtocolVersion::as_str);
                let name = CertificateCompressionAlgorithm::as_str;
                wire::<u16, _>(&mut log, "CertificateCompressionAlgorithm", name);
                show(&mut log, "", named![Side::Client, Side::Server]);
                let kinds = named![
                    HandshakeKind::Full,
                    HandshakeKind::FullWithHelloRetryRequest,
                    HandshakeKind::Resumed,
                ];
                show(&mut log, "", kinds);
                let statuses = named![
                    EchStatus::NotOffered,
                    EchStatus::Grease,
                    EchStatus::Offered,
                    EchStatus::Accepted,
                    EchStatus::Rejected,
                ];
                show(&mut log, "client::", statuses);
                let resumption = named![
                    Tls12Resumption::Disabled,
                    Tls12Resumption::SessionIdOnly,
                    Tls12Resumption::SessionIdOrTickets,
                ];
                show(&mut log, "client::", resumption);
                let levels = named![CompressionLevel::Interactive, CompressionLevel::Amortized];
                show(&mut log, "compress::", levels);
                let algorithms = named![KeyExchangeAlgorithm::DHE, KeyExchangeAlgorithm::ECDHE];
                show(&mut log, "crypto::", algorithms);
                let versions = named![Version::V1Draft, Version::V1, Version::V2];
                show(&mut log, "quic::", versions);
                for suite in PROVIDERS.iter().flat_map(|it| it.$module().cipher_suites) {
                    let path = match suite.tls13() {
                        Some(_) => "SupportedCipherSuite::Tls13",
                        None => "SupportedCipherSuite::Tls12",
                    };
                    log.debug(path, &suite);
                }
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
                for value in values {
                    log.debug("a value", value);
                }
                log
            }
        }
    };
}

enums!(this, rustls);
enums!(upstream, rustls_upstream);
