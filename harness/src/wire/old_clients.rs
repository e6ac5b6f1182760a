//! ClientHellos from clients that only support versions before TLS 1.2.
//!
//! These programs are known to send these suites and extensions, in this order.

use super::client_hello::{
    ClientHello, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO, SERVER_NAME,
    SESSION_TICKET, STATUS_REQUEST, SUPPORTED_GROUPS, host_name,
};
use crate::wire::{u8_vec, u16_vec, u16s};

const SSL_3_0: u16 = 0x0300;
const TLS_1_0: u16 = 0x0301;
const TLS_1_1: u16 = 0x0302;

/// encrypt_then_mac (RFC 7366).
const ENCRYPT_THEN_MAC: u16 = 22;
/// Next Protocol Negotiation, the predecessor of ALPN.
const NPN: u16 = 0x3374;

/// Returns the names of the clients, and their ClientHellos.
pub fn old_clients() -> [(&'static str, ClientHello); 7] {
    [
        ("openssl s_client -tls1_1", openssl(TLS_1_1)),
        ("openssl s_client -tls1", openssl(TLS_1_0)),
        ("NSS with TLS 1.1", nss(TLS_1_1)),
        ("NSS that falls back to TLS 1.0", fallback_of_nss()),
        ("Java 7", java_7()),
        ("Java 6", java_6(TLS_1_0)),
        ("Java 6 with SSL 3.0", java_6(SSL_3_0)),
    ]
}

/// Creates a TLS 1.0 ClientHello in SSL 2.0 format (RFC 5246 §E.2), as Java 6 sends it.
pub fn ssl2_hello() -> Vec<u8> {
    let suites = [0x0004_u32, 0x0005, 0x002f, 0x0033, 0x000a, 0x00ff];
    let suites: Vec<u8> = suites
        .iter()
        .flat_map(|suite| suite.to_be_bytes()[1..].to_vec())
        .collect();
    let challenge = [7; 32];
    let lengths = u16s(&[suites.len() as u16, 0, challenge.len() as u16]);
    let message = [&[1, 3, 1][..], &lengths, &suites, &challenge].concat();
    let header = (0x8000 | message.len() as u16).to_be_bytes();
    [&header[..], &message].concat()
}

/// OpenSSL 3.0 with a maximum version.
fn openssl(version: u16) -> ClientHello {
    let suites = [
        0xc00a, 0xc014, 0x0039, 0xc009, 0xc013, 0x0033, 0x0035, 0x002f, 0x00ff,
    ];
    hello(version, &suites)
        .and(SERVER_NAME, host_name(b"localhost"))
        .and(EC_POINT_FORMATS, u8_vec(&[0, 1, 2]))
        .and(
            SUPPORTED_GROUPS,
            u16_vec(&u16s(&[0x1d, 0x17, 0x1e, 0x19, 0x18])),
        )
        .and(SESSION_TICKET, vec![])
        .and(ENCRYPT_THEN_MAC, vec![])
        .and(EXTENDED_MASTER_SECRET, vec![])
}

/// NSS of about 2013, before TLS 1.2 was the default.
fn nss(version: u16) -> ClientHello {
    let suites = [
        0xc00a, 0xc014, 0x0088, 0x0087, 0x0039, 0x0038, 0xc00f, 0xc005, 0x0084, 0x0035, 0xc007,
        0xc009, 0xc011, 0xc013, 0x0045, 0x0044, 0x0033, 0x0032, 0xc00c, 0xc00e, 0xc002, 0xc004,
        0x0096, 0x0041, 0x0004, 0x0005, 0x002f, 0xc008, 0xc012, 0x0016, 0x0013, 0xc00d, 0xc003,
        0xfeff, 0x000a,
    ];
    hello(version, &suites)
        .and(SERVER_NAME, host_name(b"localhost"))
        .and(RENEGOTIATION_INFO, u8_vec(&[]))
        .and(SUPPORTED_GROUPS, u16_vec(&u16s(&[0x17, 0x18, 0x19])))
        .and(EC_POINT_FORMATS, u8_vec(&[0]))
        .and(SESSION_TICKET, vec![])
        .and(NPN, vec![])
        .and(STATUS_REQUEST, vec![1, 0, 0, 0, 0])
}

/// Creates a second attempt with a lower version, marked with the signalling suite (RFC 7507).
fn fallback_of_nss() -> ClientHello {
    nss(TLS_1_0).edit(|hello| hello.cipher_suites.push(0x5600))
}

fn java_7() -> ClientHello {
    let suites = [
        0xc009, 0xc013, 0x002f, 0xc004, 0xc00e, 0x0033, 0x0032, 0xc007, 0xc011, 0x0005, 0xc002,
        0xc00c, 0xc008, 0xc012, 0x000a, 0xc003, 0xc00d, 0x0016, 0x0013, 0x0004, 0x00ff,
    ];
    let groups = [
        0x17, 0x01, 0x03, 0x13, 0x15, 0x06, 0x07, 0x09, 0x0a, 0x18, 0x0b, 0x0c, 0x19, 0x0d, 0x0e,
        0x0f, 0x10, 0x11, 0x02, 0x12, 0x04, 0x05, 0x14, 0x08, 0x16,
    ];
    hello(TLS_1_0, &suites)
        .and(SUPPORTED_GROUPS, u16_vec(&u16s(&groups)))
        .and(EC_POINT_FORMATS, u8_vec(&[0]))
        .and(SERVER_NAME, host_name(b"localhost"))
}

/// Java 6 without the SSL 2.0 format, and without any extension.
fn java_6(version: u16) -> ClientHello {
    let suites = [
        0x0004, 0x0005, 0x002f, 0x0033, 0x0032, 0x000a, 0x0016, 0x0013, 0x0009, 0x0015, 0x0012,
        0x0003, 0x0008, 0x0014, 0x0011, 0x00ff,
    ];
    hello(version, &suites)
}

fn hello(version: u16, suites: &[u16]) -> ClientHello {
    ClientHello {
        legacy_version: version,
        random: [1; 32],
        session_id: vec![],
        cipher_suites: suites.to_vec(),
        compression: vec![0],
        extensions: vec![],
        trailing: vec![],
    }
}
