//! Every public enum that is no error, as `Debug` prints it.

use harness::peers::configs::PROVIDERS;

use crate::printed::{Printed, named};

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
                SignatureAlgorithm, SignatureScheme,
            };

            use super::*;

            /// Logs all values of a wire enum, known and unknown.
            fn wire<N: TryFrom<u32>, T: From<N> + Debug>(
                log: &mut Vec<Printed>,
                path: &str,
                name: fn(&T) -> Option<&str>,
            ) {
                for number in 0..=u16::MAX.into() {
                    let Ok(number) = N::try_from(number) else {
                        return;
                    };
                    let value = T::from(number);
                    let variant = name(&value).unwrap_or("Unknown");
                    log.push(Printed::debug(
                        &format!("rustls::{path}::{variant}"),
                        &value,
                    ));
                }
            }

            fn show<T: Debug>(log: &mut Vec<Printed>, module: &str, values: Vec<(&str, T)>) {
                for (path, value) in values {
                    log.push(Printed::debug(&format!("rustls::{module}{path}"), &value));
                }
            }

            pub fn all() -> Vec<Printed> {
                let mut log = Vec::new();
                wire::<u8, _>(&mut log, "AlertDescription", AlertDescription::as_str);
                wire::<u8, _>(&mut log, "ContentType", ContentType::as_str);
                wire::<u8, _>(&mut log, "HandshakeType", HandshakeType::as_str);
                wire::<u8, _>(&mut log, "SignatureAlgorithm", SignatureAlgorithm::as_str);
                wire::<u8, _>(
                    &mut log,
                    "crypto::hash::HashAlgorithm",
                    HashAlgorithm::as_str,
                );
                wire::<u8, _>(&mut log, "server::CertificateType", CertificateType::as_str);
                wire::<u16, _>(&mut log, "CipherSuite", CipherSuite::as_str);
                wire::<u16, _>(&mut log, "NamedGroup", NamedGroup::as_str);
                wire::<u16, _>(&mut log, "SignatureScheme", SignatureScheme::as_str);
                wire::<u16, _>(&mut log, "ProtocolVersion", ProtocolVersion::as_str);
                wire::<u16, _>(
                    &mut log,
                    "CertificateCompressionAlgorithm",
                    CertificateCompressionAlgorithm::as_str,
                );
                show(&mut log, "", named![Side::Client, Side::Server]);
                show(
                    &mut log,
                    "",
                    named![
                        HandshakeKind::Full,
                        HandshakeKind::FullWithHelloRetryRequest,
                        HandshakeKind::Resumed
                    ],
                );
                show(
                    &mut log,
                    "client::",
                    named![
                        EchStatus::NotOffered,
                        EchStatus::Grease,
                        EchStatus::Offered,
                        EchStatus::Accepted,
                        EchStatus::Rejected
                    ],
                );
                show(
                    &mut log,
                    "client::",
                    named![
                        Tls12Resumption::Disabled,
                        Tls12Resumption::SessionIdOnly,
                        Tls12Resumption::SessionIdOrTickets
                    ],
                );
                show(
                    &mut log,
                    "compress::",
                    named![CompressionLevel::Interactive, CompressionLevel::Amortized],
                );
                show(
                    &mut log,
                    "crypto::",
                    named![KeyExchangeAlgorithm::DHE, KeyExchangeAlgorithm::ECDHE],
                );
                show(
                    &mut log,
                    "quic::",
                    named![Version::V1Draft, Version::V1, Version::V2],
                );
                for suite in PROVIDERS.iter().flat_map(|it| it.$module().cipher_suites) {
                    let path = match suite.tls13() {
                        Some(_) => "rustls::SupportedCipherSuite::Tls13",
                        None => "rustls::SupportedCipherSuite::Tls12",
                    };
                    log.push(Printed::debug(path, &suite));
                }
                log
            }
        }
    };
}

enums!(this, rustls);
enums!(upstream, rustls_upstream);
