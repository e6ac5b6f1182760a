//! Tests of bulk data, written in pieces of many sizes and received in arbitrary pieces.

use std::io::{Read, Write};

use harness::peers::configs::{self, KeyType, PROVIDERS, Provider, Versions};
use harness::peers::endpoints::{ThisBuffered, handshake};
use harness::peers::pairs::this::Configs;
use harness::peers::roles::{ROLES, Role, this, upstream};
use harness::wire::Noise;
use rustls::SignatureAlgorithm::ECDSA;
use rustls::{CipherSuite, SupportedCipherSuite};

const MIB: usize = 1 << 20;

/// The number of bytes sent in each direction: several times the longest write and the pattern's
/// period.
const TOTAL: usize = 8 * MIB;

/// The size of each write.
#[derive(Clone, Copy, Debug)]
enum WriteSize {
    Fixed(usize),
    Random,
}

const WRITE_SIZES: [WriteSize; 6] = [
    WriteSize::Fixed(100),
    WriteSize::Fixed(1400),
    WriteSize::Fixed(16384),
    WriteSize::Fixed(16385),
    WriteSize::Fixed(MIB),
    WriteSize::Random,
];

/// A stream of pseudo-random bytes that sender and receiver both generate. Its period is not a
/// multiple of any size used here.
struct Pattern {
    bytes: Vec<u8>,
    at: usize,
}

impl Pattern {
    const PERIOD: usize = MIB + 4099;

    fn new() -> Self {
        let mut noise = Noise::new(7);
        // two periods, so that any piece up to one period is one slice
        let once: Vec<u8> = (0..Self::PERIOD).map(|_| noise.next() as u8).collect();
        Self {
            bytes: [&once[..], &once].concat(),
            at: 0,
        }
    }

    fn peek(&self, len: usize) -> &[u8] {
        &self.bytes[self.at..self.at + len]
    }

    fn advance(&mut self, len: usize) {
        self.at = (self.at + len) % Self::PERIOD;
    }
}

macro_rules! transfer {
    ($name:ident, $from:ident, $to:ident) => {
        /// Sends `total` bytes and checks each one on arrival.
        fn $name(
            from: &mut $from::Connection,
            to: &mut $to::Connection,
            size: WriteSize,
            total: usize,
        ) {
            let mut noise = Noise::new(total as u64);
            let (mut sent, mut expected) = (Pattern::new(), Pattern::new());
            let (mut left, mut missing) = (total, total);
            let mut wire = Vec::new();
            let mut plaintext = vec![0; 100_000];
            while missing != 0 {
                // fill the sender up to its limit, then deliver everything
                while left != 0 {
                    let len = match size {
                        WriteSize::Fixed(len) => len,
                        WriteSize::Random => noise.up_to(40_000),
                    };
                    match from.writer().write(sent.peek(len.min(left))).unwrap() {
                        0 => break,
                        taken => {
                            sent.advance(taken);
                            left -= taken;
                        }
                    }
                }
                wire.clear();
                while from.wants_write() {
                    from.write_tls(&mut wire).unwrap();
                }
                let mut rest = &wire[..];
                while !rest.is_empty() {
                    let mut piece = &rest[..noise.up_to(30_000).min(rest.len())];
                    let read = to.read_tls(&mut piece).unwrap();
                    rest = &rest[read..];
                    let waiting = to.process_new_packets().unwrap().plaintext_bytes_to_read();
                    let into = &mut plaintext[..waiting];
                    to.reader().read_exact(into).unwrap();
                    assert!(*into == *expected.peek(waiting), "changed in transit");
                    expected.advance(waiting);
                    missing -= waiting;
                }
            }
            assert_eq!((left, missing), (0, 0));
        }
    };
}

transfer!(this_to_upstream, rustls, rustls_upstream);
transfer!(upstream_to_this, rustls_upstream, rustls);
transfer!(this_to_this, rustls, rustls);

const KEY: KeyType = KeyType::EcdsaP256;
const TLS13_SUITE: CipherSuite = CipherSuite::TLS13_AES_128_GCM_SHA256;

/// Returns the ends of a connection: of this crate in `role`, and of upstream.
fn ends(
    provider: Provider,
    suite: CipherSuite,
    role: Role,
) -> (rustls::Connection, rustls_upstream::Connection) {
    let (versions, other) = (Versions::Both, role.other());
    let (ours, theirs) = (
        configs::this::provider_of(provider, suite),
        configs::upstream::provider_of(provider, suite),
    );
    let mut ours = this::Config::new(role, versions, ours, KEY).buffered();
    let mut theirs = upstream::Config::new(other, versions, theirs, KEY).buffered();
    role.handshake(&mut ours, &mut theirs);
    (ours.conn, theirs.conn)
}

/// Sends this many bytes in each direction, with this crate as client and as server.
fn each_way(
    provider: Provider,
    suite: CipherSuite,
    size: WriteSize,
    [from_client, from_server]: [usize; 2],
) {
    for role in ROLES {
        println!("{provider:?} {suite:?} {size:?} {role:?}");
        let (mut ours, mut theirs) = ends(provider, suite, role);
        let (from_us, from_peer) = role.client_and_server(from_client, from_server);
        this_to_upstream(&mut ours, &mut theirs, size, from_us);
        upstream_to_this(&mut theirs, &mut ours, size, from_peer);
    }
}

/// Uses every write size except one byte, in both directions, with this crate as client and as
/// server.
fn eight_mebibytes_each_way(provider: Provider) {
    for size in WRITE_SIZES {
        each_way(provider, TLS13_SUITE, size, [TOTAL, TOTAL / 4]);
    }
}

#[test]
fn eight_mebibytes_arrive_in_each_direction_with_aws_lc() {
    eight_mebibytes_each_way(Provider::AwsLc);
}

#[test]
fn eight_mebibytes_arrive_in_each_direction_with_ring() {
    eight_mebibytes_each_way(Provider::Ring);
}

/// TLS 1.2 has different nonces: explicit for GCM, implicit for ChaCha20.
#[test]
fn two_mebibytes_arrive_in_each_direction_with_tls12() {
    for provider in PROVIDERS {
        let mut suites = provider.this().cipher_suites;
        suites.retain(|it| it.tls12().is_some() && it.usable_for_signature_algorithm(ECDSA));
        assert_eq!(suites.len(), 3);
        for suite in suites.iter().map(SupportedCipherSuite::suite) {
            for size in [
                WriteSize::Fixed(1400),
                WriteSize::Fixed(16385),
                WriteSize::Random,
            ] {
                each_way(provider, suite, size, [TOTAL / 4; 2]);
            }
        }
    }
}

// 2^20 records of one byte: one provider, and each role once, is enough

#[test]
fn data_written_byte_by_byte_by_our_client_arrives() {
    let (mut ours, mut theirs) = ends(Provider::AwsLc, TLS13_SUITE, Role::Client);
    this_to_upstream(&mut ours, &mut theirs, WriteSize::Fixed(1), MIB);
}

#[test]
fn data_written_byte_by_byte_to_our_server_arrives() {
    let (mut ours, mut theirs) = ends(Provider::AwsLc, TLS13_SUITE, Role::Server);
    upstream_to_this(&mut theirs, &mut ours, WriteSize::Fixed(1), MIB);
}

/// Includes the suites that upstream lacks.
#[test]
fn half_a_mebibyte_arrives_in_each_direction_with_every_suite() {
    const SIZE: WriteSize = WriteSize::Random;
    for provider in PROVIDERS {
        for suite in provider.this_suites() {
            println!("{provider:?} {suite:?}");
            let mut restricted = provider.this();
            restricted.cipher_suites = vec![suite];
            let version = suite.tls13().map_or(Versions::Tls12, |_| Versions::Tls13);
            let key = if suite.usable_for_signature_algorithm(ECDSA) {
                KEY
            } else {
                KeyType::Rsa2048
            };
            let configs = Configs::new(version, restricted, key);
            let mut client = ThisBuffered::client(configs.client);
            let mut server = ThisBuffered::server(configs.server);
            handshake(&mut client, &mut server);
            assert_eq!(client.conn.negotiated_cipher_suite(), Some(suite));
            this_to_this(&mut client.conn, &mut server.conn, SIZE, MIB / 2);
            this_to_this(&mut server.conn, &mut client.conn, SIZE, MIB / 2);
        }
    }
}
