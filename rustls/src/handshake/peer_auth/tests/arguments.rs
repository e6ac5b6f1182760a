//! The arguments that verifiers receive, and the results of verifiers that state no rules.

use core::pin::pin;

use super::model::signatures;
use super::*;
use crate::certificates::VerifierRules;
use crate::config::verify::{ClientCertVerifier, HandshakeSignatureValid, ServerCertVerifier};
use crate::enums::SignatureScheme;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;

const OCSP_RESPONSE: &[u8] = b"response";

/// A verifier that has rules, accepts everything, and records its arguments.
#[derive(Debug, Default)]
struct Recording(Mutex<Vec<String>>);

impl Recording {
    fn record(&self, method: &str, arguments: &dyn fmt::Debug) {
        let mut recorded = self.0.lock().unwrap();
        recorded.push(format!("{method}: {arguments:?}"));
    }

    fn recorded(&self) -> Vec<String> {
        core::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl ServerCertVerifier for Recording {
    signatures!();

    fn rules(&self) -> Option<VerifierRules> {
        Some(rules(0))
    }

    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.record(
            "verify",
            &(end_entity, intermediates, name, ocsp_response, now),
        );
        Ok(ServerCertVerified::assertion_until(rules(0), at(100)))
    }

    fn recheck_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> bool {
        self.record(
            "recheck",
            &(end_entity, intermediates, name, ocsp_response, now),
        );
        true
    }
}

impl ClientCertVerifier for Recording {
    signatures!();

    fn rules(&self) -> Option<VerifierRules> {
        Some(rules(0))
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.record("verify", &(end_entity, intermediates, now));
        Ok(ClientCertVerified::assertion_until(rules(0), at(100)))
    }

    fn recheck_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> bool {
        self.record("recheck", &(end_entity, intermediates, now));
        true
    }
}

/// Authenticates the peer of chain 0 at the time `now`.
fn authenticate_by<V: PeerVerifier>(
    verifier: impl Fn() -> V,
    known: &VerifiedChains,
    now: u64,
) -> AuthenticatedChain {
    authenticate(&received(0), verifier, known, now)
}

#[test]
fn both_methods_receive_all_arguments_of_the_handshake() {
    let presented = chain(0);
    let (end_entity, intermediates) = presented.split_first().unwrap();
    let call = |method: &str, arguments: &dyn fmt::Debug| format!("{method}: {arguments:?}");
    let verifier = Recording::default();

    let known = VerifiedChains::default();
    let server_name = ServerName::try_from("a.example").unwrap();
    for (now, methods) in [(10, &["recheck", "verify"][..]), (11, &["recheck"])] {
        let server = || ServerVerifier {
            verifier: &verifier,
            server_name: &server_name,
            ocsp_response: OCSP_RESPONSE,
        };
        authenticate_by(server, &known, now);
        let arguments = (
            end_entity,
            intermediates,
            &server_name,
            OCSP_RESPONSE,
            at(now),
        );
        let expected = methods.iter().map(|method| call(method, &arguments));
        assert_eq!(verifier.recorded(), expected.collect::<Vec<_>>());
    }

    let known = VerifiedChains::default();
    let mut acceptance = None;
    for (now, methods) in [(10, &["recheck", "verify"][..]), (11, &["recheck"])] {
        acceptance = authenticate_by(|| ClientVerifier(&verifier), &known, now).acceptance();
        let arguments = (end_entity, intermediates, at(now));
        let expected = methods.iter().map(|method| call(method, &arguments));
        assert_eq!(verifier.recorded(), expected.collect::<Vec<_>>());
    }
    for (now, acceptance, method) in [(12, acceptance, "recheck"), (13, None, "verify")] {
        let check = ChainCheck::new(ClientVerifier(&verifier), &known, Callbacks::Sync);
        let resumed = check.verify_unless_accepted(&presented, acceptance, at(now));
        run_sync(pin!(resumed)).unwrap().unwrap();
        let arguments = (end_entity, intermediates, at(now));
        assert_eq!(verifier.recorded(), [call(method, &arguments)]);
    }
}

/// A verifier that implements only the methods that existed in rustls 0.23.
#[derive(Debug)]
struct Plain;

impl ServerCertVerifier for Plain {
    signatures!();

    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
}

impl ClientCertVerifier for Plain {
    signatures!();

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }
}

#[test]
fn verifiers_have_no_rules_by_default() {
    let server_name = ServerName::try_from("a.example").unwrap();
    let server = ServerVerifier {
        verifier: &Plain,
        server_name: &server_name,
        ocsp_response: &[],
    };
    let client = ClientVerifier(&Plain);
    assert_eq!((server.rules(), client.rules()), (None, None));
    let (chain, now) = (chain(0), at(10));
    assert!(!server.recheck_chain(&chain[0], &chain[1..], now));
    assert!(!client.recheck_chain(&chain[0], &chain[1..], now));
}
