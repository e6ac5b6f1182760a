//! The key schedule of TLS 1.2 (RFC 5246 §6.3, §8.1, RFC 7627): secrets in, secrets out.
//!
//! This module does not read messages, and does not depend on connections or logs. The handshakes
//! install, log and export the secrets that are derived here:
//!
//! ```text
//!   key exchange = pre_master_secret
//!        │
//!        │ "master secret", randoms    or    "extended master secret", session_hash
//!        ▼
//!   MasterSecret ◄── a session that is resumed
//!        ├──► "key expansion", randoms     = KeyBlock: keys and nonces of both directions
//!        ├──► "client finished", messages  = verify_data of either side
//!        ├──► "server finished", messages
//!        └──► an exporter's label, randoms, context
//! ```
//!
//! The stack that a derivation used is overwritten ([`with_erased_stack`]).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::iter;

use rustls_core::crypto::cipher::{AeadKey, MessageDecrypter, MessageEncrypter};
use rustls_core::crypto::hash::Output;
use rustls_core::crypto::tls12::{self, Prf};
use rustls_core::crypto::{ActiveKeyExchange, with_deep_stack_erased, with_erased_stack};
use zeroize::Zeroizing;

use crate::enums::Side;
use crate::error::Error;
use crate::msgs::client_hello::Random;
use crate::suites::{ConnectionTrafficSecrets, Tls12CipherSuite};

/// The length of the master secret in bytes (RFC 5246 §8.1), which is the secret of a TLS 1.2
/// session.
pub(crate) const MASTER_SECRET_LEN: usize = 48;

/// The `verify_data` of a Finished message: 12 bytes in all suites (RFC 5246 §7.4.9).
pub(crate) type VerifyData = [u8; 12];

/// The public inputs to a connection's keys: the randoms of ClientHello and ServerHello.
#[derive(Clone, Copy)]
pub(crate) struct Randoms {
    pub(crate) client: Random,
    pub(crate) server: Random,
}

impl Randoms {
    /// Returns the seed for exporters, and for a master secret that is not extended.
    fn client_server(&self) -> [u8; 64] {
        Self::joined(&self.client, &self.server)
    }

    /// Returns the seed for the key block.
    fn server_client(&self) -> [u8; 64] {
        Self::joined(&self.server, &self.client)
    }

    fn joined(first: &Random, second: &Random) -> [u8; 64] {
        let mut both = [0; 64];
        let (front, back) = both.split_at_mut(32);
        front.copy_from_slice(&first.0);
        back.copy_from_slice(&second.0);
        both
    }
}

/// The master secret of a session. It stays at one address until it is dropped and zeroized.
/// Connections and stores share it, so moving them leaves no copy behind.
#[derive(Clone)]
pub(crate) struct SessionSecret(Arc<Zeroizing<[u8; MASTER_SECRET_LEN]>>);

impl SessionSecret {
    /// Creates a secret that `derive` writes in place.
    fn derived<E>(
        derive: impl FnOnce(&mut [u8; MASTER_SECRET_LEN]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut secret = Arc::new(Zeroizing::new([0; MASTER_SECRET_LEN]));
        // not shared yet, so nothing is cloned
        let unshared: &mut Zeroizing<_> = Arc::make_mut(&mut secret);
        derive(unshared)?;
        Ok(Self(secret))
    }

    /// Creates a secret from the bytes in a session.
    pub(crate) fn copy(kept: &[u8; MASTER_SECRET_LEN]) -> Self {
        let Ok(secret) = Self::derived(|secret| {
            secret.copy_from_slice(kept);
            Ok::<(), Infallible>(())
        });
        secret
    }

    pub(crate) fn as_bytes(&self) -> &[u8; MASTER_SECRET_LEN] {
        &self.0
    }
}

/// The secret of a session, with the randoms of one connection.
pub(crate) struct MasterSecret {
    suite: &'static Tls12CipherSuite,
    randoms: Randoms,
    secret: SessionSecret,
    /// True if the secret is bound to the handshake that created it (RFC 7627).
    is_extended: bool,
}

impl MasterSecret {
    /// Completes `kx` with the peer's share, and derives the secret from the result.
    ///
    /// `session_hash` is the hash of ClientHello…ClientKeyExchange if the extended master secret
    /// was negotiated (RFC 7627 §4), and `None` otherwise.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ActiveKeyExchange::complete_for_tls_version`].
    pub(crate) fn new(
        suite: &'static Tls12CipherSuite,
        kx: Box<dyn ActiveKeyExchange>,
        peer_share: &[u8],
        randoms: Randoms,
        session_hash: Option<&Output>,
    ) -> Result<Self, Error> {
        let both = randoms.client_server();
        let (label, seed) = match session_hash {
            Some(hash) => (&b"extended master secret"[..], hash.as_ref()),
            None => (&b"master secret"[..], &both[..]),
        };
        let prf = suite.prf_provider;
        Ok(Self {
            suite,
            randoms,
            secret: SessionSecret::derived(|secret| {
                with_deep_stack_erased(|| prf.for_key_exchange(secret, kx, peer_share, label, seed))
            })?,
            is_extended: session_hash.is_some(),
        })
    }

    /// Creates the secret of a resumed session.
    pub(crate) fn resumed(
        suite: &'static Tls12CipherSuite,
        secret: SessionSecret,
        randoms: Randoms,
        is_extended: bool,
    ) -> Self {
        Self {
            suite,
            randoms,
            secret,
            is_extended,
        }
    }

    pub(crate) fn is_extended(&self) -> bool {
        self.is_extended
    }

    /// Returns the secret without the randoms, for sessions.
    pub(crate) fn session_secret(&self) -> &SessionSecret {
        &self.secret
    }

    /// Returns the bytes of the secret, for tickets and key logs.
    pub(crate) fn as_bytes(&self) -> &[u8; MASTER_SECRET_LEN] {
        self.secret.as_bytes()
    }

    /// Derives the `key_block` of RFC 5246 §6.3.
    pub(crate) fn key_block(&self) -> KeyBlock {
        let shape = self.suite.aead_alg.key_block_shape();
        let len = 2 * (shape.enc_key_len + shape.fixed_iv_len) + shape.explicit_nonce_len;
        // `vec!` calls calloc, which takes longer than malloc
        let mut bytes = Zeroizing::new(Vec::from_iter(iter::repeat_n(0, len)));
        let seed = self.randoms.server_client();
        let secret = PreparedSecret::new(self.suite, &self.secret);
        secret.with_erased_stack(|secret| secret.derive(b"key expansion", &seed, &mut bytes));
        KeyBlock {
            suite: self.suite,
            bytes,
            secret,
        }
    }

    /// Fills `output` with keying material (RFC 5705 §4). An empty context differs from no context.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the secret is not an extended master secret, or if `context`
    /// is longer than 2^16 - 1 bytes.
    pub(crate) fn export(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        // RFC 7627 §5.4: no exporters without an extended master secret, because a different
        // connection may have the same secret
        if !self.is_extended {
            return Err(Error::General(
                "keying material cannot be exported: the peer does not support the extended master secret"
                    .into(),
            ));
        }
        let mut seed = Vec::with_capacity(64 + 2 + context.map_or(0, <[u8]>::len));
        seed.extend_from_slice(&self.randoms.client_server());
        if let Some(context) = context {
            let len = u16::try_from(context.len())
                .map_err(|_| Error::General("the exporter's context is too long".into()))?;
            seed.extend_from_slice(&len.to_be_bytes());
            seed.extend_from_slice(context);
        }
        let prf = self.suite.prf_provider;
        with_deep_stack_erased(|| prf.for_secret(output, self.secret.as_bytes(), label, &seed));
        Ok(())
    }
}

/// The master secret, ready for several derivations. The preparation costs about as much as
/// deriving one Finished, so a handshake does it once.
enum PreparedSecret {
    ByProvider(Box<dyn tls12::PreparedSecret>),
    /// The provider does not prepare secrets.
    Unprepared(&'static dyn Prf, SessionSecret),
}

impl PreparedSecret {
    /// Prepares `secret`. Leaves copies on the stack, which the caller must erase.
    fn new(suite: &'static Tls12CipherSuite, secret: &SessionSecret) -> Self {
        let prf = suite.prf_provider;
        match prf.prepare(secret.as_bytes()) {
            Some(prepared) => Self::ByProvider(prepared),
            None => Self::Unprepared(prf, secret.clone()),
        }
    }

    /// Calls `derive`, and overwrites the stack.
    fn with_erased_stack<T>(&self, derive: impl FnOnce(&Self) -> T) -> T {
        match self {
            Self::ByProvider(_) => with_erased_stack(|| derive(self)),
            // a library's own PRF has deep frames
            Self::Unprepared(..) => with_deep_stack_erased(|| derive(self)),
        }
    }

    /// Fills `output`. Leaves copies of secrets on the stack, which the caller must erase.
    fn derive(&self, label: &[u8], seed: &[u8], output: &mut [u8]) {
        match self {
            Self::ByProvider(secret) => secret.derive(output, label, seed),
            Self::Unprepared(prf, secret) => {
                prf.for_secret(output, secret.as_bytes(), label, seed);
            }
        }
    }

    fn verify_data(&self, sender: Side, transcript: &Output) -> VerifyData {
        let label: &[u8] = match sender {
            Side::Client => b"client finished",
            Side::Server => b"server finished",
        };
        let mut verify_data = VerifyData::default();
        self.derive(label, transcript.as_ref(), &mut verify_data);
        verify_data
    }
}

/// The keys for both directions (RFC 5246 §6.3). AEAD suites have no MAC keys, so the block
/// consists of:
///
/// ```text
///   client key │ server key │ client IV │ server IV │ explicit nonce
/// ```
///
/// A sender may use the explicit nonce as its first one. RFC 5288 §3 leaves the choice to the
/// sender, and receivers do not need it.
///
/// The key block also derives the content of both Finished messages, because the handshake keeps it
/// until then.
pub(crate) struct KeyBlock {
    suite: &'static Tls12CipherSuite,
    bytes: Zeroizing<Vec<u8>>,
    secret: PreparedSecret,
}

impl KeyBlock {
    /// Creates the encrypter for the side `sender`. Copies of the key stay on the stack until
    /// [`Self::sent_verify_data`], which is called next: the Finished is the first message under
    /// the key.
    pub(crate) fn encrypter(&self, sender: Side) -> Box<dyn MessageEncrypter> {
        let (key, iv, explicit) = self.keys(sender);
        self.suite.aead_alg.encrypter(key, iv, explicit)
    }

    /// Creates the decrypter for records from the side `sender`.
    pub(crate) fn decrypter(&self, sender: Side) -> Box<dyn MessageDecrypter> {
        with_deep_stack_erased(|| {
            let (key, iv, _) = self.keys(sender);
            self.suite.aead_alg.decrypter(key, iv)
        })
    }

    /// Derives the content of the Finished sent by `sender`, the peer, from the hash of all
    /// messages before that Finished (RFC 5246 §7.4.9).
    pub(crate) fn received_verify_data(&self, sender: Side, transcript: &Output) -> VerifyData {
        self.secret
            .with_erased_stack(|secret| secret.verify_data(sender, transcript))
    }

    /// Derives the content of this side's Finished like [`Self::received_verify_data`]. Also erases
    /// what [`Self::encrypter`] left on the stack.
    pub(crate) fn sent_verify_data(&self, sender: Side, transcript: &Output) -> VerifyData {
        with_deep_stack_erased(|| self.secret.verify_data(sender, transcript))
    }

    /// Returns the keys that `side` sends with, for another implementation that continues to send
    /// with them.
    ///
    /// RFC 5288 §3: a nonce must not be used twice. This library's explicit parts are the initial
    /// one XORed with the sequence number. Other implementations, such as the Linux kernel, count
    /// up from the value they are given. So the extracted explicit part differs in its highest bit,
    /// and no realistic number of records makes the two ranges overlap.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the crypto provider does not export keys.
    pub(crate) fn extract_sending(&self, side: Side) -> Result<ConnectionTrafficSecrets, Error> {
        self.extract(side)
    }

    /// Returns the keys that `side` receives with, which are the peer's sending keys. If nonces
    /// have an explicit part, each record contains its own.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::extract_sending`].
    pub(crate) fn extract_receiving(&self, side: Side) -> Result<ConnectionTrafficSecrets, Error> {
        self.extract(match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        })
    }

    fn extract(&self, sender: Side) -> Result<ConnectionTrafficSecrets, Error> {
        let (key, iv, explicit) = self.keys(sender);
        let mut explicit = explicit.to_vec();
        if let Some(highest) = explicit.first_mut() {
            *highest ^= 0x80;
        }
        Ok(self.suite.aead_alg.extract_keys(key, iv, &explicit)?)
    }

    /// Returns the number of records that a key in this block may protect.
    pub(crate) fn confidentiality_limit(&self) -> u64 {
        self.suite.common.confidentiality_limit
    }

    /// Returns the key, the fixed part of the nonce, and the explicit part.
    pub(crate) fn keys(&self, sender: Side) -> (AeadKey, &[u8], &[u8]) {
        let shape = self.suite.aead_alg.key_block_shape();
        // `key_block` created the block with the length of all parts
        let (client_key, rest) = self.bytes.split_at(shape.enc_key_len);
        let (server_key, rest) = rest.split_at(shape.enc_key_len);
        let (client_iv, rest) = rest.split_at(shape.fixed_iv_len);
        let (server_iv, explicit) = rest.split_at(shape.fixed_iv_len);
        match sender {
            Side::Client => (AeadKey::new(client_key), client_iv, explicit),
            Side::Server => (AeadKey::new(server_key), server_iv, explicit),
        }
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
