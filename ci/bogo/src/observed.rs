//! What callbacks of the library saw during a connection: what no accessor tells afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rustls::KeyLog;

/// Facts of one connection.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// The verifier's verdict, and what it was about.
    pub(crate) verdict: Option<Verdict>,
    /// The scheme of the peer's signature over the handshake.
    pub(crate) peer_signature_algorithm: Option<u16>,
    pub(crate) selected_credential: Option<i32>,
    /// What a client advertised to this server, as on the wire.
    pub(crate) advertised_alpn: Option<Vec<u8>>,
    /// The schemes by which the peer says it can verify signatures.
    pub(crate) peer_verify_prefs: Vec<u16>,
    /// The authorities that a server named when it asked this client for a certificate.
    pub(crate) client_ca_list: Option<Vec<Vec<u8>>>,
    /// How much early data each ticket allows that came on this connection.
    pub(crate) tickets: Vec<u32>,
    /// The suite of a session that this client offers.
    pub(crate) suite_of_offered_session: Option<u16>,
    /// How much early data that session allows.
    pub(crate) early_data_of_offered_session: Option<u32>,
    /// The random of the ClientHello that secrets are logged for.
    pub(crate) client_random: Option<Vec<u8>>,
    /// Secrets by their label.
    pub(crate) secrets: HashMap<String, Vec<u8>>,
}

/// What a verifier was shown, and said.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) good: bool,
    /// The name that a server's certificate has to be for.
    pub(crate) name: Option<String>,
    pub(crate) ocsp_response: Vec<u8>,
}

impl Observed {
    /// Takes note of something. A callback that panicked has failed the process before.
    pub(crate) fn note(shared: &Mutex<Self>, change: impl FnOnce(&mut Self)) {
        change(&mut shared.lock().unwrap());
    }
}

/// The log of secrets: over QUIC's stand-in they go in the clear, and the runner may ask for them.
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
