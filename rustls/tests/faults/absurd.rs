//! Callbacks that return nonsense cause an error, or are treated as if they had returned nothing.
//! They never cause a panic or a connection that the other side should have rejected. Lengths that
//! no message can carry are tested in `behaviour/too_long.rs`.

use std::sync::Arc;
use std::time::Duration;

use harness::peers::configs::{
    self, ClientAuth, KeyType, Provider, Versions, product, server_name,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};
use pki_types::UnixTime;

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The nonsensical value that a callback returns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Absurd {
    Lifetime(u32),
    /// The ticketer returns this many bytes as a session.
    Decrypted(usize),
    EmptyTicket,
    /// The storage returns this many bytes as a session.
    Stored(usize),
    /// A storage that claims to store sessions but keeps none.
    Forgetful,
    EmptyChain,
    EmptySignature,
    /// A signature scheme that was not offered.
    OtherScheme,
    EmptyShare,
    EmptySecret,
    UnknownHint,
    /// A clock that always shows the same number of seconds.
    Clock(Option<u64>),
    /// A clock that goes back by a day on each call.
    BackwardClock,
}

fn all() -> Vec<Absurd> {
    use Absurd::*;
    let mut all = vec![EmptyTicket, Forgetful, UnknownHint, BackwardClock];
    all.extend([EmptyChain, EmptySignature, OtherScheme]);
    all.extend([EmptyShare, EmptySecret]);
    all.extend([0, 1 << 31, u32::MAX].map(Lifetime));
    all.extend([0, 1, 1 << 20].map(Decrypted));
    all.extend([0, 1, 1 << 20].map(Stored));
    all.extend([None, Some(0), Some(u64::MAX)].map(Clock));
    all
}

macro_rules! absurd {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use std::sync::Mutex;

            use harness::peers::callbacks::$module::{ServerKey, Sessions};
            use harness::providers::constant::$module::{Group, Key};
            use harness::providers::tickets::$module::Tickets;
            use $tls::client::{ClientSessionStore, Resumption};
            use $tls::server::NoServerSessionStorage;
            use $tls::sign::CertifiedKey;
            use $tls::time_provider::TimeProvider;
            use $tls::{NamedGroup, SignatureAlgorithm, SignatureScheme};

            use super::*;

            #[derive(Debug)]
            struct Clock(Absurd, Mutex<u64>);

            impl TimeProvider for Clock {
                fn current_time(&self) -> Option<UnixTime> {
                    let seconds = match self.0 {
                        Absurd::Clock(seconds) => seconds?,
                        _ => {
                            let mut seconds = self.1.lock().unwrap();
                            *seconds -= 24 * 60 * 60;
                            *seconds
                        }
                    };
                    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
                }
            }

            /// Returns the outcomes of two connections, the second of which may resume the first.
            /// Each has the values of both sides.
            pub(super) fn outcomes(versions: Versions, absurd: Absurd) -> Vec<String> {
                let mut provider = Provider::Ring.$module();
                let mut group = Group::new(NamedGroup::X25519, &[9; 32]);
                match absurd {
                    Absurd::EmptyShare => group.share.clear(),
                    Absurd::EmptySecret => group.secret.clear(),
                    _ => {}
                }
                if matches!(absurd, Absurd::EmptyShare | Absurd::EmptySecret) {
                    provider.kx_groups = vec![group.leak()];
                }
                let auth = ClientAuth::None;
                let mut client =
                    configs::$module::client_of(versions, provider.clone(), KEY_TYPE, auth);
                let mut server = configs::$module::server_of(versions, provider, KEY_TYPE, auth);
                match absurd {
                    Absurd::Lifetime(_) | Absurd::Decrypted(_) | Absurd::EmptyTicket => {
                        let lifetime = match absurd {
                            Absurd::Lifetime(seconds) => seconds,
                            _ => 3600,
                        };
                        let encrypt = move |plain: &[u8]| match absurd {
                            Absurd::EmptyTicket => Some(Vec::new()),
                            _ => Some(plain.to_vec()),
                        };
                        let decrypt = move |cipher: &[u8]| match absurd {
                            Absurd::Decrypted(len) => Some(vec![0xff; len]),
                            _ => Some(cipher.to_vec()),
                        };
                        server.ticketer = Arc::new(Tickets::new(lifetime, encrypt, decrypt));
                        server.session_storage = Arc::new(NoServerSessionStorage {});
                    }
                    Absurd::Stored(len) => {
                        let found = move |_: &[u8]| Some(vec![0xff; len]);
                        let storage = Tickets::new(0, |_| Some(Vec::new()), found);
                        server.session_storage = Arc::new(storage);
                    }
                    Absurd::Forgetful => server.session_storage = Arc::new(Tickets::of_len(0)),
                    Absurd::EmptyChain | Absurd::EmptySignature | Absurd::OtherScheme => {
                        let mut chain = KEY_TYPE.identities().server.chain.clone();
                        let mut scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
                        match absurd {
                            Absurd::EmptyChain => chain.clear(),
                            Absurd::OtherScheme => scheme = SignatureScheme::Unknown(0xfeed),
                            _ => {}
                        }
                        let key = Key {
                            algorithm: SignatureAlgorithm::ECDSA,
                            scheme,
                            signature: Vec::new(),
                        };
                        let key = Arc::new(CertifiedKey::new(chain, Arc::new(key)));
                        server.cert_resolver = ServerKey::by(move |_| Some(key.clone()));
                    }
                    Absurd::EmptyShare | Absurd::EmptySecret => {}
                    Absurd::UnknownHint => {
                        // true for the first call, and later only for this call
                        let is_first = Mutex::new(true);
                        let store = Sessions::when(move |call| {
                            call == "kx_hint" || std::mem::take(&mut *is_first.lock().unwrap())
                        });
                        store.set_kx_hint(server_name(), NamedGroup::Unknown(0xfeed));
                        client.resumption = Resumption::store(store);
                    }
                    Absurd::Clock(_) | Absurd::BackwardClock => {
                        let now = 1_780_000_000;
                        server.time_provider = Arc::new(Clock(absurd, Mutex::new(now)));
                        if absurd == Absurd::BackwardClock {
                            client.time_provider = Arc::new(Clock(absurd, Mutex::new(now)));
                        }
                    }
                }
                let (client, server) = (Arc::new(client), Arc::new(server));
                (0..2).map(|_| outcome(&client, &server)).collect()
            }

            fn outcome(
                client: &Arc<$tls::ClientConfig>,
                server: &Arc<$tls::ServerConfig>,
            ) -> String {
                let client = $tls::ClientConnection::new(client.clone(), server_name());
                let mut client = match client {
                    Ok(client) => $endpoint::new(client),
                    Err(error) => return format!("{error:?}"),
                };
                let mut server = $endpoint::server(server.clone());
                match exchange(&mut client, &mut server) {
                    Ok(()) => {
                        assert_eq!(client.negotiated(), server.negotiated());
                        format!("{:?}", client.conn.handshake_kind())
                    }
                    Err(error) => {
                        assert!(client.is_handshaking() || server.is_handshaking());
                        let received = (
                            server.receive(&client.take_output()),
                            client.receive(&server.take_output()),
                        );
                        format!("{error}, {received:?}")
                    }
                }
            }
        }
    };
}

absurd!(this, rustls, ThisBuffered);
absurd!(upstream, rustls_upstream, UpstreamBuffered);

/// This crate's outcome where it deliberately differs from upstream.
fn deviation(versions: Versions, absurd: Absurd) -> Option<&'static str> {
    Some(match absurd {
        // RFC 9846 §4.7.1: a ticket with lifetime 0 is discarded immediately
        Absurd::Lifetime(0) if versions == Versions::Tls13 => "Some(Full)",
        // RFC 9846 §4.7.1: empty tickets do not exist, so none is sent. Upstream panics
        Absurd::EmptyTicket if versions == Versions::Tls13 => "Some(Full)",
        // the side without a chain fails. In upstream, only the client notices the mistake
        Absurd::EmptyChain => "server: General(\"no server certificate chain resolved\")",
        // upstream panics
        Absurd::EmptyShare if versions == Versions::Tls12 => {
            "client: InvalidMessage(IllegalEmptyValue)"
        }
        Absurd::EmptyShare => "server: InvalidMessage(IllegalEmptyValue)",
        // without a clock, a connection succeeds but creates no session
        Absurd::Clock(None) => "Some(Full)",
        // a session's age is unknown if the clock goes back by its whole lifetime
        Absurd::BackwardClock => "Some(Full)",
        _ => return None,
    })
}

#[test]
fn absurd_results_of_callbacks_never_cause_a_panic() {
    for (versions, absurd) in product([Versions::Tls12, Versions::Tls13], all()) {
        println!("{versions:?} {absurd:?}");
        let ours = this::outcomes(versions, absurd);
        match deviation(versions, absurd) {
            Some(expected) => {
                let mut outcomes = ours.iter();
                assert!(outcomes.all(|it| it.starts_with(expected)), "{ours:?}");
            }
            None => assert_eq!(ours, upstream::outcomes(versions, absurd)),
        }
    }
}
