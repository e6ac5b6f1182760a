//! Session stores for many connections: once frozen, a store accepts no more sessions. Sessions of
//! TLS 1.2 and those of a server are returned repeatedly. A client has many TLS 1.3 sessions.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

macro_rules! stores {
    ($module:ident, $tls:ident) => {
        pub(crate) mod $module {
            use $tls::NamedGroup;
            use $tls::client::{
                ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
            };
            use $tls::pki_types::ServerName;
            use $tls::server::StoresServerSessions;

            use super::*;

            /// The store of a client.
            #[derive(Debug, Default)]
            pub(crate) struct Client {
                pub(crate) is_frozen: AtomicBool,
                tls12: Mutex<Option<Tls12ClientSessionValue>>,
                tls13: Mutex<VecDeque<Tls13ClientSessionValue>>,
            }

            impl Client {
                fn is_frozen(&self) -> bool {
                    self.is_frozen.load(Ordering::Relaxed)
                }

                /// True if no session is left.
                pub(crate) fn is_empty(&self) -> bool {
                    self.tls12.lock().unwrap().is_none() && self.tls13.lock().unwrap().is_empty()
                }
            }

            impl ClientSessionStore for Client {
                fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

                fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
                    None
                }

                fn set_tls12_session(
                    &self,
                    _: ServerName<'static>,
                    value: Tls12ClientSessionValue,
                ) {
                    if !self.is_frozen() {
                        *self.tls12.lock().unwrap() = Some(value);
                    }
                }

                fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
                    self.tls12.lock().unwrap().clone()
                }

                fn remove_tls12_session(&self, _: &ServerName<'static>) {}

                fn insert_tls13_ticket(
                    &self,
                    _: ServerName<'static>,
                    value: Tls13ClientSessionValue,
                ) {
                    if !self.is_frozen() {
                        self.tls13.lock().unwrap().push_back(value);
                    }
                }

                fn take_tls13_ticket(
                    &self,
                    _: &ServerName<'static>,
                ) -> Option<Tls13ClientSessionValue> {
                    self.tls13.lock().unwrap().pop_front()
                }
            }

            /// The store of a server.
            #[derive(Debug, Default)]
            pub(crate) struct Server {
                pub(crate) is_frozen: AtomicBool,
                sessions: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
            }

            impl StoresServerSessions for Server {
                fn can_cache(&self) -> bool {
                    true
                }

                fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
                    if !self.is_frozen.load(Ordering::Relaxed) {
                        self.sessions.lock().unwrap().insert(key, value);
                    }
                    true
                }

                fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
                    self.sessions.lock().unwrap().get(key).cloned()
                }

                fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
                    self.get(key)
                }
            }
        }
    };
}

stores!(this, rustls);
stores!(upstream, rustls_upstream);
