//! Counts that the tests of applications rely on match upstream's: slices per vectored write, and
//! random bytes.

use std::io::{self, IoSlice, Write};
use std::sync::Mutex;

use harness::peers::configs::{
    ClientAuth, PROVIDERS, Provider, Versions, server_name, this as this_configs,
};
use harness::peers::endpoints::Endpoint;
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::Pair;
use rustls::HandshakeKind;

use crate::behaviour::compared::{Log, same};
use crate::cases::{Case, KEY_TYPE};

/// A transport for `write_vectored` alone. It accepts at most `most` bytes per call, and records
/// the lengths of the slices.
pub struct Slices {
    most: usize,
    pub bytes: Vec<u8>,
    pub lengths: Vec<Vec<usize>>,
}

impl Slices {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            bytes: Vec::new(),
            lengths: Vec::new(),
        }
    }
}

impl Write for Slices {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("not write_vectored");
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.lengths
            .push(slices.iter().map(|slice| slice.len()).collect());
        let mut left = self.most;
        for slice in slices {
            let taken = left.min(slice.len());
            self.bytes.extend_from_slice(&slice[..taken]);
            left -= taken;
        }
        Ok(self.most - left)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records the lengths of the random bytes requested.
#[derive(Debug)]
struct Counting(Mutex<Vec<usize>>);

static OURS: Counting = Counting(Mutex::new(Vec::new()));
static THEIRS: Counting = Counting(Mutex::new(Vec::new()));

impl Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
        self.0.lock().unwrap().push(bytes.len());
    }

    fn total(&self) -> usize {
        self.0.lock().unwrap().drain(..).sum()
    }
}

impl rustls::crypto::SecureRandom for Counting {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), rustls::crypto::GetRandomFailed> {
        self.fill(bytes);
        Ok(())
    }
}

impl rustls_upstream::crypto::SecureRandom for Counting {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), rustls_upstream::crypto::GetRandomFailed> {
        self.fill(bytes);
        Ok(())
    }
}

macro_rules! scripts {
    ($module:ident, $tls:ident, $counting:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{fresh, input};

            /// Logs the slices of a handshake, of data written before and after it, and of the
            /// close_notify.
            pub fn slices_of_a_writer(case: Case, most: usize) -> Log {
                let mut conn = fresh(case);
                let mut peer = case.peer();
                conn.set_buffer_limit(None);
                let mut log = Vec::new();
                conn.writer().write_all(&[1; 20]).unwrap();
                conn.writer().write_all(&[2; 20_000]).unwrap();
                for round in 0..6 {
                    if round == 4 {
                        for len in [1, 2, 40_000] {
                            conn.writer().write_all(&vec![3; len]).unwrap();
                        }
                        // more records than one call passes to a writer
                        for len in 0..300 {
                            conn.writer().write_all(&vec![4; 1 + len % 50]).unwrap();
                        }
                        conn.send_close_notify();
                    }
                    let mut out = Slices::new(most);
                    while conn.wants_write() {
                        conn.write_tls(&mut out).unwrap();
                    }
                    if round >= 4 {
                        log.push(format!("{:?}", out.lengths));
                    } else if most == usize::MAX {
                        // the length of a hello depends on the features of each crate
                        let counts: Vec<usize> = out.lengths.iter().map(Vec::len).collect();
                        log.push(format!("{counts:?} slices"));
                    }
                    peer.receive(&out.bytes).unwrap();
                    peer.read_into(&mut Vec::new());
                    input(&mut conn, &peer.take_output()).unwrap();
                }
                log
            }

            /// Returns the number of random bytes that a client requests.
            pub fn random_bytes(provider: Provider) -> usize {
                let mut counting = provider.$module();
                counting.secure_random = &$counting;
                let config = $tls::ClientConfig::builder_with_provider(counting.into())
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .with_root_certificates(harness::peers::configs::$module::roots(KEY_TYPE))
                    .with_no_client_auth();
                $counting.total();
                $tls::ClientConnection::new(config.into(), server_name()).unwrap();
                $counting.total()
            }
        }
    };
}

scripts!(this, rustls, OURS);
scripts!(upstream, rustls_upstream, THEIRS);

same!(slices_of_a_writer in [usize::MAX, 1000, 7]);

#[test]
fn a_client_requests_as_many_random_bytes_as_upstream() {
    for provider in PROVIDERS {
        let ours = this::random_bytes(provider);
        assert_eq!(ours, upstream::random_bytes(provider));
        assert_eq!(ours, 66);
    }
}

/// The id that a client of TLS 1.2 sends with a ticket (RFC 5077 §3.4) comes from the random bytes
/// that it has drawn already.
#[test]
fn a_client_with_a_ticket_requests_no_more_random_bytes() {
    static COUNTING: Counting = Counting(Mutex::new(Vec::new()));

    for provider in PROVIDERS {
        let mut counting = provider.this();
        counting.secure_random = &COUNTING;
        let versions = Versions::Tls12;
        let client = this_configs::client_of(versions, counting, KEY_TYPE, ClientAuth::None);
        let provider = provider.this();
        let mut server = this_configs::server_of(versions, provider, KEY_TYPE, ClientAuth::None);
        server.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        let configs = Configs {
            client: client.into(),
            server: server.into(),
        };
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let pair = Pair::connect(&configs).unwrap();
            assert_eq!(pair.client.handshake_kind(), Some(kind));
            assert_eq!(COUNTING.total(), 66, "{kind:?}");
        }
    }
}
