use alloc::format;
use core::ptr;

use pki_types::UnixTime;

use super::*;
use crate::certificates::{Basis, VerifierRules};
use crate::config::carrier::QuicVersion;
use crate::enums::Side;

/// The encoding of [`chain`].
const CHAIN: [u8; 3 + 300 + 3 + 2] = {
    let mut bytes = [2; 308];
    [bytes[0], bytes[1], bytes[2]] = [0, 1, 44];
    [bytes[303], bytes[304], bytes[305], bytes[306], bytes[307]] = [0, 0, 2, 3, 3];
    bytes
};

/// Encodes a session, and checks that the vector did not grow, so that no copy of a secret
/// remains in freed memory.
pub(super) fn to_vec<'a>(session: &impl SessionValue<'a>) -> Vec<u8> {
    let mut bytes = Vec::new();
    session.encode(&mut bytes);
    assert_eq!(bytes.capacity(), bytes.len(), "the vector grew");
    bytes
}

fn acceptance() -> Acceptance {
    let at = |seconds| UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds));
    let basis = Basis {
        peer: Side::Client,
        rules: VerifierRules::from_digest([11; 32]),
    };
    Acceptance::new(basis, at(5), at(70)).unwrap()
}

pub(crate) fn facts() -> SessionFacts<'static> {
    SessionFacts {
        issued_at: 0x0102_0304_0506_0708,
        authenticated_at: 0x0102_0304_0506_0000,
        client_auth: ClientAuthId([9; 32]),
        server_auth: ServerAuthId([10; 32]),
        alpn_protocol: Some(b"h2"),
        server_name: Some("example.com"),
        application_data: b"data",
        client_acceptance: Some(acceptance()),
        client_chain: ClientChain::Encoded(EncodedChain::read(&CHAIN).unwrap()),
    }
}

pub(crate) fn no_facts() -> SessionFacts<'static> {
    SessionFacts {
        alpn_protocol: None,
        server_name: None,
        application_data: &[],
        client_acceptance: None,
        client_chain: ClientChain::of(None),
        ..facts()
    }
}

pub(super) fn tls13() -> Tls13Session<'static> {
    Tls13Session {
        suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
        psk: &[0xab; 32],
        age_add: 0x090a_0b0c,
        max_early_data_size: 1000,
        carrier: HandshakeCarrier::Quic(QuicVersion::V2),
        facts: facts(),
    }
}

#[test]
fn a_session_round_trips() {
    let empty = Tls13Session {
        psk: &[4; 48],
        max_early_data_size: 0,
        carrier: HandshakeCarrier::Records,
        facts: no_facts(),
        ..tls13()
    };
    for value in [tls13(), empty] {
        let bytes = to_vec(&value);
        assert_eq!(Tls13Session::read(&bytes.into()), Ok(value));
    }
}

pub(super) fn chain() -> PeerChain {
    PeerChain::copy(ChainKind::X509, [&[2; 300][..], &[3; 2]])
}

/// Creates a session with a connection's chain.
fn of_connection(chain: &PeerChain) -> Tls13Session<'_> {
    Tls13Session {
        facts: SessionFacts {
            client_chain: ClientChain::of(Some(chain)),
            ..facts()
        },
        ..tls13()
    }
}

#[test]
fn a_shared_chain_reads_like_an_encoded_one() {
    let chain = chain();
    let session = of_connection(&chain);
    let stored = session.to_stored();
    assert!(stored.bytes().len() < 232 + 49);
    let read = Tls13Session::read(&stored).unwrap();
    assert_eq!(read, session);
    assert_eq!(read.facts.client_chain, ClientChain::Shared(&chain));

    let joined = stored.clone().into_vec();
    assert_eq!(joined.capacity(), joined.len(), "the vector grew");
    assert_eq!(joined, to_vec(&session));
    assert_eq!(joined, to_vec(&tls13()), "the encodings differ");
    let read = ServerSessionValue::from(joined);
    assert_eq!(Tls13Session::read(&read), Ok(tls13()));
}

#[test]
fn a_value_with_no_chain_or_two_chains_is_rejected() {
    let chain = chain();
    let stored = of_connection(&chain).to_stored();
    let lost = ServerSessionValue::from(stored.bytes().to_vec());
    Tls13Session::read(&lost).unwrap_err();

    let twice = ServerSessionValue::new(stored.into_vec(), chain.clone());
    Tls13Session::read(&twice).unwrap_err();
    let anonymous = Tls13Session {
        facts: no_facts(),
        ..tls13()
    };
    Tls13Session::read(&anonymous.to_stored()).unwrap();
    let added = ServerSessionValue::new(anonymous.to_stored().into_vec(), chain);
    Tls13Session::read(&added).unwrap_err();
}

#[test]
fn a_shared_chain_is_copied_only_for_another_kind() {
    let kind = ChainKind::X509;
    let chain = chain();
    let shared = ClientChain::of(Some(&chain)).to_chain(kind).unwrap();
    assert!(ptr::eq(&*shared, &*chain));
    let other = ClientChain::of(Some(&chain)).to_chain(ChainKind::RawPublicKey);
    assert_eq!(other.unwrap().kind(), ChainKind::RawPublicKey);
    let copy = facts().client_chain.to_chain(kind).unwrap();
    assert_eq!(copy, chain);
    assert_eq!(ClientChain::of(None).to_chain(kind), None);
}

#[test]
fn truncated_and_overlong_values_are_rejected() {
    let mut bytes = to_vec(&tls13());
    for len in 0..bytes.len() {
        Tls13Session::read(&bytes[..len].to_vec().into()).unwrap_err();
    }
    bytes.push(0);
    Tls13Session::read(&bytes.clone().into()).unwrap_err();
}

#[test]
fn a_different_format_is_rejected() {
    let mut bytes = to_vec(&tls13());
    for format in [0, FORMAT - 1, FORMAT + 1, 255] {
        bytes[0] = format;
        Tls13Session::read(&bytes.clone().into()).unwrap_err();
    }
}

#[test]
fn malformed_fields_are_rejected() {
    let mut bytes = to_vec(&tls13());
    let name = bytes
        .windows(11)
        .position(|at| at == b"example.com")
        .unwrap();
    bytes[name] = 0xff;
    assert_eq!(
        Tls13Session::read(&bytes.clone().into()),
        Err(InvalidMessage::InvalidServerName)
    );

    let no_psk = Tls13Session {
        psk: &[],
        ..tls13()
    };
    assert_eq!(
        Tls13Session::read(&to_vec(&no_psk).into()),
        Err(InvalidMessage::IllegalEmptyValue)
    );

    let bytes = to_vec(&tls13());
    let acceptance = bytes.windows(32).position(|at| at == [11; 32]).unwrap();
    for len in [1, Acceptance::LEN - 1, Acceptance::LEN + 1] {
        let mut bytes = bytes.clone();
        bytes[acceptance - 1] = len as u8;
        bytes.splice(acceptance..acceptance + Acceptance::LEN, [11].repeat(len));
        Tls13Session::read(&bytes.into()).unwrap_err();
    }

    let mut empty_cert = to_vec(&tls13());
    empty_cert.truncate(empty_cert.len() - (3 + CHAIN.len()));
    empty_cert.extend(b"\0\0\x07\0\0\x01a\0\0\0");
    assert_eq!(
        Tls13Session::read(&empty_cert.into()),
        Err(InvalidMessage::IllegalEmptyValue)
    );
}

#[test]
fn debug_does_not_print_secrets() {
    // the secret consists of 0xab = 171
    let text = format!("{:?}", tls13());
    assert!(text.contains("example.com"), "{text}");
    assert!(!text.contains("171") && !text.contains("ab, "), "{text}");
}
