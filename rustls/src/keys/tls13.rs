//! The key schedule of TLS 1.3 (RFC 9846 §7): secrets in, secrets out.
//!
//! This module does not depend on messages, connections or logs. The handshakes install, log and
//! export the secrets that are derived here. Each stage is a type. Its methods derive the secrets
//! to its right, or lead to the next stage:
//!
//! ```text
//!                 0
//!                 |
//!      PSK --> Extract = EarlySecret
//!                 +--> "res binder"   = binder_key
//!                 +--> "c e traffic"  = client_early_traffic_secret
//!                 +--> "e exp master" = early_exporter_secret
//!                 |
//!              "derived"
//!   asymmetric    |
//!   shared ---> Extract = HandshakeSecret
//!   secret        +--> "c hs traffic" = client_handshake_traffic_secret
//!                 +--> "s hs traffic" = server_handshake_traffic_secret
//!                 |
//!              "derived"
//!                 |
//!        0 --> Extract = MainSecret
//!                 +--> "c ap traffic" = client_application_traffic_secret_0
//!                 +--> "s ap traffic" = server_application_traffic_secret_0
//!                 +--> "exp master"   = exporter_secret
//!                 +--> "res master"   = resumption_secret
//! ```
//!
//! Other functions start from a single secret. They derive traffic keys, Finished values, the next
//! traffic secret, exported keying material, and the PSKs of tickets. The confirmations of ECH are
//! derived from the random of the inner ClientHello.
//!
//! Secrets are written into the caller's buffers, because moving a secret leaves a copy. The stack
//! is overwritten after secrets are derived ([`with_erased_stack`]).

mod constants;

use alloc::boxed::Box;

use rustls_core::crypto::cipher::{AeadKey, Iv};
use rustls_core::crypto::hash::Output;
use rustls_core::crypto::hmac::Tag;
use rustls_core::crypto::tls13::{
    HkdfExpander, OkmBlock, OutputLengthError, expand_label_block, expand_label_slice,
    with_expander,
};
use rustls_core::crypto::{ActiveKeyExchange, with_deep_stack_erased, with_erased_stack};
use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::suites::Tls13CipherSuite;

/// The first stage, before the key exchange is complete.
pub(crate) enum EarlySecret {
    WithPsk(Stage),
    WithoutPsk(&'static Tls13CipherSuite),
}

impl EarlySecret {
    /// Creates the stage. `psk` is the offered or negotiated pre-shared key, if any.
    pub(crate) fn new(suite: &'static Tls13CipherSuite, psk: Option<&[u8]>) -> Self {
        let Some(psk) = psk else {
            return Self::WithoutPsk(suite);
        };
        let hkdf = suite.hkdf_provider;
        let expander = with_erased_stack(|| hkdf.extract_from_secret(None, psk));
        Self::WithPsk(Stage { suite, expander })
    }

    /// See [`Stage::expand`].
    fn expand(&self, label: &[u8], transcript: &Output) -> OkmBlock {
        match self {
            Self::WithPsk(stage) => stage.expand(label, transcript),
            Self::WithoutPsk(suite) => Stage::from_zeros(suite).expand(label, transcript),
        }
    }

    fn derive_secret(&self, label: &[u8], transcript: &Output, secret: &mut OkmBlock) {
        with_erased_stack(|| secret.clone_from(&self.expand(label, transcript)));
    }

    /// See [`Stage::derived`].
    fn derived(&self) -> OkmBlock {
        match self {
            Self::WithPsk(stage) => stage.derived(),
            Self::WithoutPsk(suite) => {
                let known = constants::salt_without_psk(suite.common.hash_provider.algorithm());
                known.map_or_else(|| Stage::from_zeros(suite).derived(), OkmBlock::new)
            }
        }
    }

    const fn suite(&self) -> &'static Tls13CipherSuite {
        match self {
            Self::WithPsk(stage) => stage.suite,
            Self::WithoutPsk(suite) => suite,
        }
    }

    /// Computes the binder of a resumption PSK (RFC 9846 §4.3.11.2). `transcript` is the hash of
    /// all messages up to the binders of the ClientHello.
    pub(crate) fn resumption_binder(&self, transcript: &Output) -> Tag {
        let suite = self.suite();
        let mut finished_key = OkmBlock::new(&[]);
        with_erased_stack(|| {
            let binder_key = self.expand(b"res binder", &no_messages(suite));
            with_expander(suite.hkdf_provider, &binder_key, |expander| {
                finished_key.clone_from(&expand_label_block(expander, b"finished", &[]));
            });
        });
        verify_data(suite, &finished_key, transcript)
    }

    /// True if `binder` equals [`Self::resumption_binder`]. The comparison takes constant time. A
    /// binder of a different length is wrong.
    pub(crate) fn is_resumption_binder(&self, transcript: &Output, binder: &[u8]) -> bool {
        let expected = self.resumption_binder(transcript);
        expected.as_ref().ct_eq(binder).into()
    }

    /// Derives `client_early_traffic_secret`. `transcript` is the hash of the ClientHello.
    pub(crate) fn client_early_traffic_secret(&self, transcript: &Output, secret: &mut OkmBlock) {
        self.derive_secret(b"c e traffic", transcript, secret);
    }

    /// Derives `early_exporter_secret`. `transcript` is the hash of the ClientHello.
    pub(crate) fn early_exporter_secret(&self, transcript: &Output, secret: &mut OkmBlock) {
        self.derive_secret(b"e exp master", transcript, secret);
    }

    /// Completes `kx` with the peer's share, and continues with the result.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ActiveKeyExchange::complete_for_tls_version`].
    pub(crate) fn into_handshake_secret(
        self,
        kx: Box<dyn ActiveKeyExchange>,
        peer_share: &[u8],
    ) -> Result<HandshakeSecret, Error> {
        let suite = self.suite();
        let expander = with_deep_stack_erased(|| {
            let salt = self.derived();
            let hkdf = suite.hkdf_provider;
            hkdf.extract_from_kx_shared_secret(Some(salt.as_ref()), kx, peer_share)
        })?;
        Ok(HandshakeSecret(Stage { suite, expander }))
    }

    /// Continues with the result of a completed key exchange.
    pub(crate) fn into_handshake_secret_with_shared(self, shared: &[u8]) -> HandshakeSecret {
        let suite = self.suite();
        let expander = with_erased_stack(|| {
            let salt = self.derived();
            let hkdf = suite.hkdf_provider;
            hkdf.extract_from_secret(Some(salt.as_ref()), shared)
        });
        HandshakeSecret(Stage { suite, expander })
    }
}

/// The stage for handshake traffic.
pub(crate) struct HandshakeSecret(Stage);

impl HandshakeSecret {
    /// Derives `client_handshake_traffic_secret` and `server_handshake_traffic_secret`.
    /// `transcript` is the hash of ClientHello…ServerHello.
    pub(crate) fn handshake_traffic_secrets(
        &self,
        transcript: &Output,
        client: &mut OkmBlock,
        server: &mut OkmBlock,
    ) {
        with_erased_stack(|| {
            client.clone_from(&self.0.expand(b"c hs traffic", transcript));
            server.clone_from(&self.0.expand(b"s hs traffic", transcript));
        });
    }

    pub(crate) fn into_main_secret(self) -> MainSecret {
        let Stage { suite, .. } = self.0;
        let expander = with_erased_stack(|| {
            let salt = self.0.derived();
            let hkdf = suite.hkdf_provider;
            hkdf.extract_from_zero_ikm(Some(salt.as_ref()))
        });
        MainSecret(Stage { suite, expander })
    }
}

/// The stage for application traffic, exporters and resumption.
pub(crate) struct MainSecret(Stage);

impl MainSecret {
    /// Derives `client_application_traffic_secret_0`, `server_application_traffic_secret_0` and
    /// `exporter_secret`. `transcript` is the hash of ClientHello…server Finished.
    pub(crate) fn application_secrets(
        &self,
        transcript: &Output,
        client: &mut OkmBlock,
        server: &mut OkmBlock,
        exporter: &mut OkmBlock,
    ) {
        with_erased_stack(|| {
            client.clone_from(&self.0.expand(b"c ap traffic", transcript));
            server.clone_from(&self.0.expand(b"s ap traffic", transcript));
            exporter.clone_from(&self.0.expand(b"exp master", transcript));
        });
    }

    /// Derives `resumption_secret`. `transcript` is the hash of ClientHello…client Finished.
    pub(crate) fn resumption_secret(&self, transcript: &Output, secret: &mut OkmBlock) {
        with_erased_stack(|| secret.clone_from(&self.0.expand(b"res master", transcript)));
    }
}

/// The pseudorandom key of a stage, held by the provider.
pub(crate) struct Stage {
    suite: &'static Tls13CipherSuite,
    expander: Box<dyn HkdfExpander>,
}

impl Stage {
    /// Creates the early secret without a PSK, `HKDF-Extract(0, 0)` (RFC 9846 §7.1).
    fn from_zeros(suite: &'static Tls13CipherSuite) -> Self {
        let expander = suite.hkdf_provider.extract_from_zero_ikm(None);
        Self { suite, expander }
    }

    /// Returns `Derive-Secret(., label, Messages)` of RFC 9846 §7.1, given
    /// `Transcript-Hash(Messages)`. Leaves copies of it on the stack, which the caller must erase.
    fn expand(&self, label: &[u8], transcript: &Output) -> OkmBlock {
        expand_label_block(&*self.expander, label, transcript.as_ref())
    }

    /// Returns `Derive-Secret(., "derived", "")`, the salt of the next stage. Leaves copies of it
    /// on the stack, which the caller must erase.
    fn derived(&self) -> OkmBlock {
        self.expand(b"derived", &no_messages(self.suite))
    }
}

/// Returns `Transcript-Hash("")`.
fn no_messages(suite: &Tls13CipherSuite) -> Output {
    let hash = suite.common.hash_provider;
    let known = constants::no_messages(hash.algorithm());
    known.map_or_else(|| hash.hash(&[]), Output::new)
}

/// Derives `application_traffic_secret_N+1` (RFC 9846 §7.2) from `secret`.
pub(crate) fn next_application_traffic_secret(
    suite: &'static Tls13CipherSuite,
    secret: &OkmBlock,
    next: &mut OkmBlock,
) {
    with_erased_stack(|| {
        with_expander(suite.hkdf_provider, secret, |expander| {
            next.clone_from(&expand_label_block(expander, b"traffic upd", &[]));
        });
    });
}

/// A traffic secret, ready to be expanded. The preparation costs about as much as one expansion, so
/// derive all values from one secret together.
pub(crate) struct TrafficSecret<'a> {
    pub(crate) suite: &'static Tls13CipherSuite,
    /// The secret itself.
    pub(crate) okm: &'a OkmBlock,
    expander: &'a dyn HkdfExpander,
}

impl TrafficSecret<'_> {
    /// Prepares `secret`, and returns the result of `expand`. The result should not contain
    /// secrets: `expand` writes them into their final places.
    pub(crate) fn with<T>(
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        mut expand: impl FnMut(&TrafficSecret<'_>) -> T,
    ) -> T {
        with_deep_stack_erased(|| {
            with_expander(suite.hkdf_provider, secret, |expander| {
                expand(&TrafficSecret {
                    suite,
                    okm: secret,
                    expander,
                })
            })
        })
    }

    /// Derives the write key and IV (RFC 9846 §7.3), and passes them to `make`, which creates the
    /// provider's key.
    pub(crate) fn with_key<T>(&self, make: impl FnOnce(AeadKey, Iv) -> T) -> T {
        // key and IV lengths are far below the 255 blocks of HKDF's limit
        const SHORT_ENOUGH: &str = "a key is shorter than 255 blocks";
        let iv = Iv::written_by(|iv| {
            expand_label_slice(self.expander, b"iv", &[], iv).expect(SHORT_ENOUGH);
        });
        let key = AeadKey::written_by(self.suite.aead_alg.key_len(), |key| {
            // a provider's key may have unused bytes, into which a move would copy old stack
            // content
            with_erased_stack(|| expand_label_slice(self.expander, b"key", &[], key))
                .expect(SHORT_ENOUGH);
        });
        make(key, iv)
    }

    /// Derives `finished_key` (RFC 9846 §4.5.3), for the Finished of the side that has this
    /// handshake traffic secret.
    pub(crate) fn finished_key(&self, key: &mut OkmBlock) {
        key.clone_from(&expand_label_block(self.expander, b"finished", &[]));
    }
}

/// Computes the `verify_data` of a Finished message (RFC 9846 §4.5.3).
pub(crate) fn verify_data(
    suite: &'static Tls13CipherSuite,
    finished_key: &OkmBlock,
    transcript: &Output,
) -> Tag {
    let hkdf = suite.hkdf_provider;
    with_erased_stack(|| hkdf.hmac_sign(finished_key, transcript.as_ref()))
}

/// Computes `accept_confirmation` (RFC 9849 §7.2). `transcript` is the hash of
/// ClientHelloInner…ServerHello, with zeros for the confirmation.
pub(crate) fn ech_accept_confirmation(
    suite: &Tls13CipherSuite,
    client_hello_inner_random: &[u8; 32],
    transcript: &Output,
) -> [u8; 8] {
    ech_confirmation(
        suite,
        client_hello_inner_random,
        b"ech accept confirmation",
        transcript,
    )
}

/// Computes `hrr_accept_confirmation` (RFC 9849 §7.2.1). `transcript` is the hash of
/// ClientHelloInner1, as a message_hash, and HelloRetryRequest, with zeros for the confirmation.
pub(crate) fn ech_hrr_accept_confirmation(
    suite: &Tls13CipherSuite,
    client_hello_inner_random: &[u8; 32],
    transcript: &Output,
) -> [u8; 8] {
    ech_confirmation(
        suite,
        client_hello_inner_random,
        b"hrr ech accept confirmation",
        transcript,
    )
}

fn ech_confirmation(
    suite: &Tls13CipherSuite,
    client_hello_inner_random: &[u8; 32],
    label: &[u8],
    transcript: &Output,
) -> [u8; 8] {
    let mut confirmation = [0; 8];
    let expander = suite
        .hkdf_provider
        .extract_from_secret(None, client_hello_inner_random);
    expand_label_slice(&*expander, label, transcript.as_ref(), &mut confirmation)
        .expect("8 bytes are less than 255 blocks");
    confirmation
}

/// The longest label in bytes: with its prefix "tls13 ", its length fits into one byte (RFC 9846
/// §7.1).
const MAX_LABEL_LEN: usize = 255 - 6;

/// Fills `output` with `TLS-Exporter(label, context, output.len())` (RFC 9846 §7.5).
///
/// # Errors
///
/// Returns [`OutputLengthError`] if `output` is longer than 255 times the hash function's output
/// length, or `label` is longer than 249 bytes.
pub(crate) fn exporter(
    suite: &'static Tls13CipherSuite,
    exporter_secret: &OkmBlock,
    label: &[u8],
    context: Option<&[u8]>,
    output: &mut [u8],
) -> Result<(), OutputLengthError> {
    // unlike all other labels, it comes from the application
    if label.len() > MAX_LABEL_LEN {
        return Err(OutputLengthError);
    }
    let hash = suite.common.hash_provider;
    // RFC 9846 §7.5: no context gives the same value as an empty one
    let context = hash.hash(context.unwrap_or_default());
    with_erased_stack(|| {
        let expander = suite.hkdf_provider.expander_for_okm(exporter_secret);
        let secret = expand_label_block(&*expander, label, no_messages(suite).as_ref());
        let expander = suite.hkdf_provider.expander_for_okm(&secret);
        expand_label_slice(&*expander, b"exporter", context.as_ref(), output)
    })
}

/// Derives the PSK for the ticket with this nonce (RFC 9846 §4.7.1). A nonce has at most 255 bytes
/// on the wire.
pub(crate) fn ticket_psk(
    suite: &'static Tls13CipherSuite,
    resumption_secret: &OkmBlock,
    ticket_nonce: &[u8],
    psk: &mut OkmBlock,
) {
    with_erased_stack(|| {
        with_expander(suite.hkdf_provider, resumption_secret, |expander| {
            psk.clone_from(&expand_label_block(expander, b"resumption", ticket_nonce));
        });
    });
}

/// Derives the PSKs for several tickets, like [`ticket_psk`].
pub(crate) struct TicketPsks(Box<dyn HkdfExpander>);

impl TicketPsks {
    pub(crate) fn new(suite: &'static Tls13CipherSuite, resumption_secret: &OkmBlock) -> Self {
        let hkdf = suite.hkdf_provider;
        Self(with_erased_stack(|| {
            hkdf.expander_for_okm(resumption_secret)
        }))
    }

    /// Derives one PSK. A nonce has at most 255 bytes on the wire.
    pub(crate) fn derive_psk(&self, ticket_nonce: &[u8], psk: &mut OkmBlock) {
        with_erased_stack(|| {
            psk.clone_from(&expand_label_block(&*self.0, b"resumption", ticket_nonce));
        });
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
