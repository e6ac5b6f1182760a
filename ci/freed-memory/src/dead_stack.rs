//! No call of a connection leaves a secret on the stack below its caller.

use std::io::{Read, Write};
use std::sync::Arc;

use bench_allocator::record_stack;
use harness::peers::configs::{ClientAuth, PROVIDERS, Provider, Versions, server_name};
use harness::peers::pairs::this::{Configs, unbuffered};
use rustls::crypto::tls13::OkmBlock;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, ServerConfig,
    ServerConnection, SideData, SupportedCipherSuite, quic,
};

use crate::connections::{Case, Sessions, take};
use crate::derivation::recording;
use crate::secrets::left_on_stacks;

/// The stacks of calls, each with the name of the call.
#[derive(Default)]
pub(crate) struct Stacks(pub(crate) Vec<(&'static str, Vec<u8>)>);

impl Stacks {
    /// Makes a call on a separate stack.
    fn call<T: Send>(&mut self, name: &'static str, call: impl FnOnce() -> T + Send) -> T {
        let (result, stack) = record_stack(call);
        self.0.push((name, stack));
        result
    }

    /// Passes all output of `from`, and processes it.
    fn pass<A: Send, B: Send + SideData>(
        &mut self,
        from: &mut ConnectionCommon<A>,
        to: &mut ConnectionCommon<B>,
    ) {
        let mut wire = &take(from)[..];
        while !wire.is_empty() {
            to.read_tls(&mut wire).unwrap();
            self.call("process_new_packets", || to.process_new_packets().map(drop))
                .unwrap();
        }
    }

    fn connect(&mut self, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
        let mut client = self
            .call("ClientConnection::new", || {
                ClientConnection::new(client.clone(), server_name())
            })
            .unwrap();
        let mut server = ServerConnection::new(server.clone()).unwrap();
        if let Some(mut early_data) = client.early_data() {
            early_data.write_all(b"early").unwrap();
        }
        for _ in 0..3 {
            self.pass(&mut client, &mut server);
            self.pass(&mut server, &mut client);
        }
        let is_tls13 = client.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        for _ in 0..2 {
            if is_tls13 {
                self.call("refresh_traffic_keys", || client.refresh_traffic_keys())
                    .unwrap();
            }
            client.writer().write_all(b"data").unwrap();
            self.pass(&mut client, &mut server);
            self.call("writer", || server.writer().write_all(b"data"))
                .unwrap();
            self.pass(&mut server, &mut client);
            assert_eq!(client.reader().read(&mut [0; 10]).unwrap(), 4);
        }
        self.call("export_keying_material", || {
            client
                .export_keying_material([0; 32], b"label", None)
                .map(drop)
        })
        .unwrap();
        let kind = client.handshake_kind().unwrap();
        self.call("into_split", || client.into_split().map(drop))
            .unwrap();
        kind
    }

    fn connect_unbuffered(
        &mut self,
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
    ) -> HandshakeKind {
        let configs = Configs {
            client: client.clone(),
            server: server.clone(),
        };
        self.call("process_tls_records", || {
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            let pair = unbuffered::Pair::connect_through(&configs, &mut to_server, &mut to_client);
            let mut pair = pair.unwrap();
            pair.exchange(b"data", &mut [0; 1000]).unwrap();
            pair.client.handshake_kind()
        })
        .unwrap()
    }

    fn connect_quic(
        &mut self,
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
    ) -> HandshakeKind {
        let version = quic::Version::V1;
        let parameters = || b"parameters".to_vec();
        let client =
            quic::ClientConnection::new(client.clone(), version, server_name(), parameters());
        let server = quic::ServerConnection::new(server.clone(), version, parameters());
        let mut ends = [
            quic::Connection::from(client.unwrap()),
            quic::Connection::from(server.unwrap()),
        ];
        let mut nexts = Vec::new();
        for _ in 0..3 {
            for from in [0, 1] {
                drop(self.call("zero_rtt_keys", || ends[from].zero_rtt_keys()));
                loop {
                    let mut bytes = Vec::new();
                    let change = self.call("write_hs", || ends[from].write_hs(&mut bytes));
                    self.call("read_hs", || ends[1 - from].read_hs(&bytes))
                        .unwrap();
                    match change {
                        Some(quic::KeyChange::Handshake { .. }) => {}
                        Some(quic::KeyChange::OneRtt { next, .. }) => nexts.push(next),
                        None if bytes.is_empty() => break,
                        None => {}
                    }
                }
            }
        }
        assert_eq!(nexts.len(), 2);
        for next in &mut nexts {
            for _ in 0..2 {
                drop(self.call("next_packet_keys", || next.next_packet_keys()));
            }
        }
        ends[0].handshake_kind().unwrap()
    }
}

/// Adds the secrets that calls of a full handshake, or of two resumptions, leave.
fn check(
    all_left: &mut Vec<String>,
    case: Case,
    connect: fn(&mut Stacks, &Arc<ClientConfig>, &Arc<ServerConfig>) -> HandshakeKind,
) {
    let mut left = left_on_stacks(|stacks| {
        let (client, server) = case.configs_with(recording(case.suite));
        let (client, server) = (Arc::new(client), Arc::new(server));
        let [full, resumed @ ..] = [0; 3].map(|_| connect(stacks, &client, &server));
        assert_eq!(full, HandshakeKind::Full);
        assert_eq!(resumed, [HandshakeKind::Resumed; 2]);
    });
    if format!("{:?}", case.suite.suite()).contains("CHACHA20") {
        // the libraries copy this cipher's key to their stack for each record
        left.retain(|(name, ..)| !name.ends_with("key"));
    }
    all_left.extend(left.iter().map(|left| format!("{case:?}: {left:?}")));
}

#[test]
#[cfg_attr(debug_assertions, ignore = "unoptimised frames are deeper")]
fn no_call_leaves_a_secret_on_the_stack() {
    let mut left = Vec::new();
    for provider in PROVIDERS {
        for versions in [Versions::Tls13, Versions::Tls12] {
            for auth in [ClientAuth::None, ClientAuth::Required] {
                for sessions in [Sessions::Tickets, Sessions::Fleet, Sessions::Stored] {
                    let case = Case {
                        auth,
                        sessions,
                        ..Case::of_version(provider, versions)
                    };
                    check(&mut left, case, Stacks::connect);
                    check(&mut left, case, Stacks::connect_unbuffered);
                    if case.is_tls13() {
                        check(&mut left, case, Stacks::connect_quic);
                    }
                }
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "unoptimised frames are deeper")]
fn no_call_of_any_suite_or_group_leaves_a_secret_on_the_stack() {
    let mut left = Vec::new();
    for provider in PROVIDERS {
        for suite in provider.this().cipher_suites {
            let case = Case::new(provider, suite.suite());
            check(&mut left, case, Stacks::connect);
            if case.is_tls13() {
                check(&mut left, case, Stacks::connect_quic);
            }
        }
        for group in provider.this_groups() {
            for versions in [Versions::Tls13, Versions::Tls12] {
                let case = Case {
                    group: group.name(),
                    ..Case::of_version(provider, versions)
                };
                if group.usable_for_version(case.suite.version().version) {
                    check(&mut left, case, Stacks::connect);
                }
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

/// Programs can call the key derivation of a suite, too. Padding of HMAC keys is our own code on
/// aws-lc-rs only; the library's frames may keep other copies.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "unoptimised frames keep copies of values that are moved"
)]
fn direct_calls_of_key_derivation_leave_no_padded_key_and_no_message_on_the_stack() {
    const SECRET_MESSAGE: &str = "extract_from_secret of the key";

    let key: [u8; 48] = core::array::from_fn(|at| 0x81 ^ (at as u8).wrapping_mul(37));
    for suite in Provider::AwsLc.this().cipher_suites {
        let mut stacks = Stacks::default();
        let mut output = [0; 48];
        match suite {
            SupportedCipherSuite::Tls13(suite) => {
                let hkdf = suite.hkdf_provider;
                let okm = OkmBlock::new(&key[..suite.common.hash_provider.output_len()]);
                let infos: [&[&[u8]]; 2] = [&[b"info"], &[&[7; 300]]];
                for info in infos {
                    stacks.call("expand_block", || {
                        hkdf.expander_for_okm(&okm).expand_block(info);
                    });
                    stacks.call("expand_slice", || {
                        let expander = hkdf.expander_for_okm(&okm);
                        expander.expand_slice(info, &mut output).unwrap();
                    });
                    stacks.call("with_expander", || {
                        hkdf.with_expander(&okm, &mut |expander| {
                            expander.expand_block(info);
                        });
                    });
                    stacks.call("hmac_sign", || hkdf.hmac_sign(&okm, info[0]));
                    stacks.call("extract_from_secret", || {
                        hkdf.extract_from_secret(Some(okm.as_ref()), info[0]);
                    });
                }
                stacks.call("extract_from_zero_ikm", || {
                    hkdf.extract_from_zero_ikm(Some(okm.as_ref()));
                });
                stacks.call(SECRET_MESSAGE, || hkdf.extract_from_secret(None, &key));
            }
            SupportedCipherSuite::Tls12(suite) => {
                let prf = suite.prf_provider;
                stacks.call("for_secret", || {
                    prf.for_secret(&mut output, &key, b"label", b"seed");
                });
                stacks.call("for_secret", || {
                    prf.for_secret(&mut output, &key, b"label", &[7; 300]);
                });
                stacks.call("prepare", || {
                    let secret = prf.prepare(&key).unwrap();
                    secret.derive(&mut output, b"label", b"seed");
                });
            }
        }
        for (name, stack) in &stacks.0 {
            let pads: &[u8] = match *name {
                SECRET_MESSAGE => &[0],
                _ => &[0x36, 0x5c],
            };
            for pad in pads {
                let padded = key.map(|byte| byte ^ pad);
                let mut parts = padded[..32].windows(16);
                let is_left = parts.any(|part| stack.windows(16).any(|window| window == part));
                assert!(!is_left, "{suite:?}, {name}, pad {pad:#x}");
            }
        }
    }
}
