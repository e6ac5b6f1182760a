//! The key schedule (RFC 5246 §6.3, §8.1, RFC 7627): secrets in, secrets out.
//!
//! It knows no message, no connection and no log; the handshakes install, log and hand out what is derived
//! here:
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

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use zeroize::Zeroizing;

use crate::crypto::ActiveKeyExchange;
use crate::crypto::cipher::{AeadKey, MessageDecrypter, MessageEncrypter};
use crate::crypto::hash::Output;
use crate::enums::Side;
use crate::error::Error;
use crate::msgs::client_hello::Random;
use crate::session::MASTER_SECRET_LEN;
use crate::suites::{ConnectionTrafficSecrets, Tls12CipherSuite};

/// The `verify_data` of a Finished message: 12 bytes in all suites (RFC 5246 §7.4.9).
pub(crate) type VerifyData = [u8; 12];

/// What both sides contributed to a connection's keys in the clear: the randoms of ClientHello and
/// ServerHello.
#[derive(Clone, Copy)]
pub(crate) struct Randoms {
    pub(crate) client: Random,
    pub(crate) server: Random,
}

impl Randoms {
    /// The seed of the master secret and of exporters.
    fn client_server(&self) -> [u8; 64] {
        Self::joined(&self.client, &self.server)
    }

    /// The seed of the key block.
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

/// The master secret of a session, by itself. It lies in one place until nobody needs it, and is zeroized there:
/// connections and stores that have it share it, and where they are moved no copy is left behind.
#[derive(Clone)]
pub(crate) struct SessionSecret(Arc<Zeroizing<[u8; MASTER_SECRET_LEN]>>);

impl SessionSecret {
    /// One that `derive` writes to its place.
    fn derived<E>(
        derive: impl FnOnce(&mut [u8; MASTER_SECRET_LEN]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut secret = Arc::new(Zeroizing::new([0; MASTER_SECRET_LEN]));
        // nobody shares it yet
        let unshared: &mut Zeroizing<_> = Arc::make_mut(&mut secret);
        derive(unshared)?;
        Ok(Self(secret))
    }

    /// The secret of a session that was kept as bytes.
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

/// The secret of a session, and the randoms that make it a connection's.
pub(crate) struct MasterSecret {
    suite: &'static Tls12CipherSuite,
    randoms: Randoms,
    secret: SessionSecret,
    /// Bound to the whole handshake that made it (RFC 7627).
    is_extended: bool,
}

impl MasterSecret {
    /// Completes `kx` with the peer's share and derives the secret from its result.
    ///
    /// `session_hash` is that of ClientHello…ClientKeyExchange when the extended master secret was agreed on
    /// (RFC 7627 §4), `None` otherwise.
    ///
    /// # Errors
    ///
    /// Those of [`ActiveKeyExchange::complete_for_tls_version`].
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
                prf.for_key_exchange(secret, kx, peer_share, label, seed)
            })?,
            is_extended: session_hash.is_some(),
        })
    }

    /// The secret of a session that is resumed.
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

    /// The secret itself, for sessions.
    pub(crate) fn session_secret(&self) -> &SessionSecret {
        &self.secret
    }

    /// Its bytes, for tickets and key logs.
    pub(crate) fn as_bytes(&self) -> &[u8; MASTER_SECRET_LEN] {
        self.secret.as_bytes()
    }

    /// The `key_block` of RFC 5246 §6.3.
    pub(crate) fn key_block(&self) -> KeyBlock {
        let shape = self.suite.aead_alg.key_block_shape();
        let len = 2 * (shape.enc_key_len + shape.fixed_iv_len) + shape.explicit_nonce_len;
        let mut bytes = Zeroizing::new(vec![0; len]);
        self.derive(b"key expansion", &self.randoms.server_client(), &mut bytes);
        KeyBlock {
            suite: self.suite,
            bytes,
        }
    }

    /// What the Finished of `sender` says, given the hash of all messages before it (RFC 5246 §7.4.9).
    pub(crate) fn verify_data(&self, sender: Side, transcript: &Output) -> VerifyData {
        let label: &[u8] = match sender {
            Side::Client => b"client finished",
            Side::Server => b"server finished",
        };
        let mut verify_data = VerifyData::default();
        self.derive(label, transcript.as_ref(), &mut verify_data);
        verify_data
    }

    /// Fills `output` with an exporter's keying material (RFC 5705 §4). An empty context differs from none.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when the secret is not an extended one, or `context` is longer than 2^16 - 1
    /// bytes.
    pub(crate) fn export(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error> {
        // RFC 7627 §5.4: exporters must be disabled without an extended master secret, as another connection
        // may have the same secret
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
        self.derive(label, &seed, output);
        Ok(())
    }

    fn derive(&self, label: &[u8], seed: &[u8], output: &mut [u8]) {
        self.suite
            .prf_provider
            .for_secret(output, self.secret.as_bytes(), label, seed);
    }
}

/// The keys of both directions (RFC 5246 §6.3), without MAC keys, which AEADs do not have:
///
/// ```text
///   client key │ server key │ client IV │ server IV │ explicit nonce
/// ```
///
/// The explicit nonce is where a sender starts. RFC 5288 §3 leaves that to it, and no receiver needs it.
pub(crate) struct KeyBlock {
    suite: &'static Tls12CipherSuite,
    bytes: Zeroizing<Vec<u8>>,
}

impl KeyBlock {
    /// Protects what `sender`, this side, sends.
    pub(crate) fn encrypter(&self, sender: Side) -> Box<dyn MessageEncrypter> {
        let (key, iv, explicit) = self.keys(sender);
        self.suite.aead_alg.encrypter(key, iv, explicit)
    }

    /// Opens what `sender`, the peer, sends.
    pub(crate) fn decrypter(&self, sender: Side) -> Box<dyn MessageDecrypter> {
        let (key, iv, _) = self.keys(sender);
        self.suite.aead_alg.decrypter(key, iv)
    }

    /// The keys with which `side` sends, for another to go on sending with.
    ///
    /// RFC 5288 §3: a nonce must not be used twice. Ours are the initial explicit part with the sequence
    /// number added bit by bit. Others count up from what they are given, as the Linux kernel does, and would
    /// come across those. They get one that differs in its highest bit, where no number of records leads from
    /// one to the other.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when the crypto provider does not hand out keys.
    pub(crate) fn extract_sending(&self, side: Side) -> Result<ConnectionTrafficSecrets, Error> {
        self.extract(side)
    }

    /// The keys with which `side` receives, equal to those with which its peer sends. The explicit part of nonces is in
    /// the records.
    ///
    /// # Errors
    ///
    /// As for [`Self::extract_sending`].
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

    /// How many records a key of this block may protect.
    pub(crate) fn confidentiality_limit(&self) -> u64 {
        self.suite.common.confidentiality_limit
    }

    /// Key, fixed part of the nonce, and explicit part.
    pub(crate) fn keys(&self, sender: Side) -> (AeadKey, &[u8], &[u8]) {
        let shape = self.suite.aead_alg.key_block_shape();
        // `key_block` has made it as long as all parts together
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
