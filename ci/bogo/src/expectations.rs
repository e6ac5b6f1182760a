//! Compares the results of a handshake with the expectations in the options.

use std::fmt::Debug;
use std::sync::Mutex;

use rustls::HandshakeKind;
use rustls::certificates::PeerIdentityKind;

use crate::carrier::Carrier;
use crate::certificate_types::CertificateType;
use crate::credentials::{names_of_authorities, read_chain};
use crate::ech;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::options::Options;
use crate::provider::code_point;

/// Checks all expectations.
pub(crate) fn check(
    options: &Options,
    carrier: &dyn Carrier,
    observed: &Mutex<Observed>,
    may_resume: bool,
) -> Result<(), Failure> {
    negotiated(options, carrier)?;
    resumption(options, carrier, may_resume)?;
    names(options, carrier)?;
    seen(options, carrier, &observed.lock().unwrap())
}

/// Checks that early data was accepted if and only if expected.
pub(crate) fn check_early_data(options: &Options, accepted: bool) -> Result<(), Failure> {
    let wanted = options.expect.early_data_accepted;
    equal("early data accepted", wanted, Some(accepted))
}

/// Checks what is only known after data arrived: tickets come before it, but after the handshake.
pub(crate) fn check_at_the_end(
    options: &Options,
    carrier: &dyn Carrier,
    observed: &Mutex<Observed>,
) -> Result<(), Failure> {
    if !carrier.is_client() {
        return Ok(());
    }
    let tickets = &observed.lock().unwrap().tickets;
    if options.expect.no_session {
        return match tickets.as_slice() {
            [] => Ok(()),
            _ => Err(Failure::Expectation("there is a session".into())),
        };
    }
    if options.expect.ticket_supports_early_data && tickets.iter().all(|&length| length == 0) {
        return Err(Failure::Expectation("no ticket supports early data".into()));
    }
    Ok(())
}

fn negotiated(options: &Options, carrier: &dyn Carrier) -> Result<(), Failure> {
    let (expect, facts) = (&options.expect, carrier.facts());
    equal(
        "version",
        expect.version,
        facts.protocol_version().map(u16::from),
    )?;
    equal(
        "cipher suite",
        expect.cipher,
        facts
            .negotiated_cipher_suite()
            .map(|suite| code_point(suite.suite())),
    )?;
    let group = facts.negotiated_key_exchange_group();
    // a resumed TLS 1.2 session has no key exchange
    if group.is_some() || !carrier.resumed() {
        equal(
            "group",
            expect.curve,
            group.map(|group| group.name().into()),
        )?;
    }
    if let Some(alpn) = &expect.alpn {
        let got = facts.alpn_protocol().unwrap_or_default();
        equal("ALPN protocol", Some(alpn.as_bytes()), Some(got))?;
    }
    if let Some(parameters) = &expect.quic_transport_parameters {
        let got = carrier.transport_parameters().unwrap_or_default();
        equal(
            "transport parameters",
            Some(parameters.as_slice()),
            Some(got),
        )?;
    }
    // only check the resumption itself for a resumed session
    if carrier.resumed() {
        return Ok(());
    }
    let retried = facts.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
    equal("HelloRetryRequest", expect.hrr, Some(retried))
}

fn resumption(options: &Options, carrier: &dyn Carrier, may_resume: bool) -> Result<(), Failure> {
    let expect = &options.expect;
    if may_resume {
        equal(
            "resumption",
            Some(!expect.session_miss),
            Some(carrier.resumed()),
        )?;
    }
    if carrier.is_client() {
        equal(
            "early data accepted",
            expect.early_data_accepted,
            Some(carrier.is_early_data_accepted()),
        )?;
        equal(
            "ECH accepted",
            Some(expect.ech_accepted),
            Some(carrier.is_ech_accepted()),
        )?;
    }
    Ok(())
}

fn names(options: &Options, carrier: &dyn Carrier) -> Result<(), Failure> {
    let expect = &options.expect;
    if !carrier.is_client() {
        let got = carrier.server_name();
        equal("server name", expect.server_name.as_deref(), got)?;
        if expect.no_server_name && got.is_some() {
            return Err(Failure::expected("server name", None::<&str>, got));
        }
    }
    if let Some(file) = &expect.peer_cert_file {
        let wanted = read_chain(file)?;
        let got = carrier.facts().peer_certificates().unwrap_or_default();
        equal("peer certificates", Some(wanted.as_slice()), Some(got))?;
    }
    let identity = carrier.facts().peer_identity();
    equal(
        "type of the peer's certificate",
        expect.peer_certificate_type,
        identity.and_then(|identity| match identity.kind() {
            PeerIdentityKind::X509 => Some(CertificateType::X509),
            PeerIdentityKind::RawPublicKey => Some(CertificateType::RawPublicKey),
            _ => None,
        }),
    )?;
    if let Some(wanted) = &expect.peer_raw_key_sha256 {
        let got = identity.map(|identity| identity.sha256_fingerprint());
        let got = got.transpose()?.map(|digest| digest.as_slice());
        equal("the peer's key", Some(wanted.as_slice()), got)?;
    }
    Ok(())
}

/// Checks what only callbacks saw.
fn seen(options: &Options, carrier: &dyn Carrier, observed: &Observed) -> Result<(), Failure> {
    let expect = &options.expect;
    equal(
        "selected credential",
        expect.selected_credential,
        // -1 is both no credential and the default one
        Some(observed.selected_credential.unwrap_or(-1)),
    )?;
    if let Some(alpn) = &expect.advertised_alpn {
        let got = observed.advertised_alpn.as_deref().unwrap_or_default();
        equal("advertised ALPN", Some(alpn.as_bytes()), Some(got))?;
    }
    if !expect.peer_verify_prefs.is_empty() {
        let (wanted, got) = (&expect.peer_verify_prefs, &observed.peer_verify_prefs);
        equal("the peer's schemes", Some(wanted), Some(got))?;
    }
    if let Some(names) = &expect.client_ca_list {
        let wanted = names_of_authorities(Some(names))?;
        let got = observed.client_ca_list.as_ref();
        equal("authorities", Some(&wanted), got)?;
    }
    ech::check_name(options, observed)?;
    // the certificate of a resumed session was verified in its first connection
    if carrier.resumed() {
        return Ok(());
    }
    equal(
        "peer signature algorithm",
        expect.peer_signature_algorithm,
        observed.peer_signature_algorithm,
    )?;
    let verdict = observed.verdict.as_ref();
    if let Some(response) = &expect.ocsp_response {
        let got = verdict.map(|verdict| &verdict.ocsp_response);
        equal("OCSP response", Some(response), got)?;
    }
    if expect.verify_result {
        // nothing is wrong if there is nothing to verify
        let good = verdict.is_none_or(|verdict| verdict.good);
        equal("verify result", Some(!options.verify_fail), Some(good))?;
    }
    Ok(())
}

fn equal<T: PartialEq + Debug>(
    what: &str,
    wanted: Option<T>,
    got: Option<T>,
) -> Result<(), Failure> {
    if wanted.is_some() && wanted != got {
        return Err(Failure::expected(what, wanted, got));
    }
    Ok(())
}
