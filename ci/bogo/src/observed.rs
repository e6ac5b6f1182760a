//! The values that callbacks of the library saw during a connection, and that no accessor returns
//! afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rustls::KeyLog;

/// The observations of one connection.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The verifier's verdict, with its subject.
    pub(crate) verdict: Option<Verdict>,
    /// The scheme of the peer's signature over the handshake.
    pub(crate) peer_signature_algorithm: Option<u16>,
    pub(crate) selected_credential: Option<i32>,
    /// The protocols that a client advertised to this server, in wire format.
    pub(crate) advertised_alpn: Option<Vec<u8>>,
    /// The schemes that the peer can verify, according to itself.
    pub(crate) peer_verify_prefs: Vec<u16>,
    /// The authorities that a server named when it asked this client for a certificate.
    pub(crate) client_ca_list: Option<Vec<Vec<u8>>>,
    /// The number of bytes of early data that each ticket of this connection allows.
    pub(crate) tickets: Vec<u32>,
    /// The suite of a session that this client offers.
    pub(crate) suite_of_offered_session: Option<u16>,
    /// The number of bytes of early data that this session allows.
    pub(crate) early_data_of_offered_session: Option<u32>,
    /// The random of the ClientHello for which secrets are logged.
    pub(crate) client_random: Option<Vec<u8>>,
    /// Secrets by their label.
    pub(crate) secrets: HashMap<String, Vec<u8>>,
}

/// A verifier's input and verdict.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) good: bool,
    /// The name for which a server's certificate must be valid.
    pub(crate) name: Option<String>,
    pub(crate) ocsp_response: Vec<u8>,
}

impl Observed {
    /// Records an observation. The lock is not poisoned: a panic in a callback fails the process
    /// first.
    pub(crate) fn note(shared: &Mutex<Self>, change: impl FnOnce(&mut Self)) {
        change(&mut shared.lock().unwrap());
    }
}

/// The log of secrets. QUIC's stand-in sends secrets in the clear, and the runner may ask for them.
#[derive(Debug)]
pub(crate) struct SecretsSeen(pub(crate) Arc<Mutex<Observed>>);

impl KeyLog for SecretsSeen {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        Observed::note(&self.0, |o| {
            o.client_random = Some(client_random.into());
            o.secrets.insert(label.into(), secret.into());
        });
    }
}
