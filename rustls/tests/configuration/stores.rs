//! Session stores and wrapping ticketers match upstream's in capacity and return values.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rustls_upstream::pki_types::ServerName;

use crate::configuration::refused::outcome;

const SIZES: [usize; 14] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 100, 255, 256, 2048];

fn name(number: usize) -> ServerName<'static> {
    ServerName::try_from(format!("server-{number}.example")).unwrap()
}

macro_rules! stores {
    ($module:ident, $tls:ident) => {
        mod $module {
            use harness::providers::tickets::$module::Tickets;
            use $tls::NamedGroup;
            use $tls::client::{
                ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12Resumption,
            };
            use $tls::crypto::GetRandomFailed;
            use $tls::lock::Mutex;
            use $tls::server::{
                NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache,
                StoresServerSessions,
            };
            use $tls::ticketer::TicketRotator;
            use $tls::time_provider::{DefaultTimeProvider, TimeProvider};

            use super::*;

            /// Logs the servers that a client still remembers after many.
            pub(super) fn servers(size: usize) -> Vec<String> {
                let cache = ClientSessionMemoryCache::new(size);
                let servers = size + 20;
                for number in 0..servers {
                    cache.set_kx_hint(name(number), NamedGroup::X25519);
                    // the same server again, not a second one
                    cache.set_kx_hint(name(number), NamedGroup::secp256r1);
                }
                let hints = (0..servers).map(|number| cache.kx_hint(&name(number)));
                let mut log: Vec<_> = hints.map(|hint| format!("{hint:?}")).collect();
                log.push(format!("{:?}", cache.tls12_session(&name(0)).is_some()));
                log.push(format!("{:?}", cache.take_tls13_ticket(&name(0)).is_some()));
                cache.remove_tls12_session(&name(0));
                log
            }

            /// Logs the sessions that a server still remembers after many.
            pub(super) fn sessions(size: usize) -> Vec<String> {
                let cache = ServerSessionMemoryCache::new(size);
                let sessions = size + 40;
                let mut log = vec![format!("{}", cache.can_cache())];
                let key = |number: usize| number.to_be_bytes().to_vec();
                for number in 0..sessions {
                    let (first, second) = (
                        cache.put(key(number), vec![1]),
                        cache.put(key(number), vec![2]),
                    );
                    log.push(format!("{first} {second}"));
                }
                for number in 0..sessions {
                    log.push(format!(
                        "{:?} {:?} {:?} {:?} {:?}",
                        cache.get(&key(number)),
                        cache.get(&key(number)),
                        cache.take(&key(number)),
                        cache.take(&key(number)),
                        cache.get(&key(number)),
                    ));
                }
                log.push(format!("{:?} {:?}", cache.get(&[]), cache.take(&[7; 300])));
                log
            }

            pub(super) fn others() -> Vec<String> {
                fn reverse(plain: &[u8]) -> Option<Vec<u8>> {
                    (plain.len() < 5).then(|| plain.iter().rev().copied().collect())
                }

                let none = NoServerSessionStorage {};
                let mut log = vec![
                    format!("{none:?} {}", none.can_cache()),
                    format!("{}", none.put(vec![1], vec![2])),
                    format!("{:?} {:?}", none.get(&[1]), none.take(&[1])),
                    format!("{}", DefaultTimeProvider.current_time().is_some()),
                ];
                for kind in [
                    Tls12Resumption::Disabled,
                    Tls12Resumption::SessionIdOnly,
                    Tls12Resumption::SessionIdOrTickets,
                ] {
                    let resumption = Resumption::disabled().tls12_resumption(kind);
                    log.push(format!("{kind:?} {resumption:?}"));
                }
                for lifetime in [0, 1, 3600, 86_400, 604_800, 1 << 30] {
                    let rotator = TicketRotator::new(lifetime, || {
                        Ok(Box::new(Tickets::new(77, reverse, reverse)))
                    });
                    log.push(outcome(rotator.as_ref()));
                    let failing = TicketRotator::new(lifetime, || Err(GetRandomFailed));
                    log.push(outcome(failing));
                    let Ok(rotator) = rotator else { continue };
                    log.push(format!(
                        "{} {} {:?} {:?} {:?}",
                        rotator.enabled(),
                        rotator.lifetime(),
                        rotator.encrypt(b"abc"),
                        rotator.encrypt(b"abcdef"),
                        rotator.decrypt(b"cba"),
                    ));
                }
                let mutex = Mutex::new(7);
                log.push(format!("{:?}", mutex.lock().map(|guard| *guard)));
                let panics = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = mutex.lock();
                    panic!("under the lock");
                }));
                log.push(format!("{} {}", panics.is_err(), mutex.lock().is_none()));
                log
            }
        }
    };
}

stores!(this, rustls);
stores!(upstream, rustls_upstream);

#[test]
fn a_client_remembers_as_many_servers_as_upstream() {
    for size in SIZES {
        assert_eq!(this::servers(size), upstream::servers(size), "{size}");
    }
}

#[test]
fn a_server_remembers_as_many_sessions_as_upstream() {
    for size in SIZES.into_iter().filter(|size| *size != 0) {
        assert_eq!(this::sessions(size), upstream::sessions(size), "{size}");
    }
}

/// A store of size zero reports failure. Upstream's does not store anything either, but reports
/// success.
#[test]
fn a_store_of_size_zero_reports_failure() {
    let denied =
        |log: Vec<String>| -> Vec<_> { log.iter().map(|it| it.replace("true", "false")).collect() };
    let ours = this::sessions(0);
    assert_eq!(ours, denied(ours.clone()));
    assert_eq!(ours, denied(upstream::sessions(0)));
}

#[test]
fn empty_storages_and_ticketers_match_upstream() {
    assert_eq!(this::others(), upstream::others());
}
