//! Providers: using another crypto library, a key store or a hardware engine.
//!
//! A [`CryptoProvider`](crate::crypto::CryptoProvider) is a struct with public fields: cipher
//! suites, key exchange groups, algorithms for verifying signatures, a source of randomness, and a
//! loader of private keys. Take an existing one and replace parts of it, or build all of it.
//!
//! # One part: a key in hardware
//!
//! Private keys in an HSM or TPM need no provider. They need a
//! [`SigningKey`](crate::sign::SigningKey), and a [`Signer`](crate::sign::Signer) for a scheme that
//! the peer accepts:
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::sign::{Signer, SigningKey};
//! use rustls::{Error, OtherError, SignatureAlgorithm, SignatureScheme};
//!
//! /// The interface of the hardware's library.
//! trait Token: std::fmt::Debug + Send + Sync {
//!     fn sign_p256(&self, message: &[u8]) -> std::io::Result<Vec<u8>>;
//! }
//!
//! #[derive(Clone, Debug)]
//! struct TokenKey(Arc<dyn Token>);
//!
//! impl SigningKey for TokenKey {
//!     fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
//!         let offers_ours = offered.contains(&SignatureScheme::ECDSA_NISTP256_SHA256);
//!         offers_ours.then(|| Box::new(self.clone()) as _)
//!     }
//!
//!     fn algorithm(&self) -> SignatureAlgorithm {
//!         SignatureAlgorithm::ECDSA
//!     }
//! }
//!
//! impl Signer for TokenKey {
//!     /// Takes the unhashed message, and returns the signature in the DER form of X.509.
//!     fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
//!         let signed = self.0.sign_p256(message);
//!         signed.map_err(|error| OtherError(Arc::new(error)).into())
//!     }
//!
//!     fn scheme(&self) -> SignatureScheme {
//!         SignatureScheme::ECDSA_NISTP256_SHA256
//!     }
//! }
//! ```
//!
//! Put it with its chain into a [`CertifiedKey`](crate::sign::CertifiedKey), and that into a
//! [resolver](crate::server::ResolvesServerCert) such as
//! [`SingleCertAndKey`](crate::sign::SingleCertAndKey). Signing blocks the thread of the handshake.
//! If the token is slow, run handshakes on their own threads.
//!
//! # A whole library
//!
//! [`crypto::blocks`](crate::crypto::blocks) contains the code that all providers would write the
//! same way, over small traits for the library. An AEAD that seals in place needs the following
//! code. The blocks turn it into the records of TLS 1.2 and 1.3, with their nonces, additional
//! data, content types and padding:
//!
//! ```
//! use rustls::crypto::blocks::{
//!     Aead, AeadAlgorithm, AeadError, Aes128Gcm, BulkCipher, Cipher, InPlace, TAG_LEN, Tag,
//!     Tls13Suite,
//! };
//! use rustls::crypto::cipher::{AeadKey, Nonce};
//! # use rustls::crypto::blocks::{Computation, HashFunction};
//! # mod library {
//! #     pub struct Gcm;
//! #     impl Gcm {
//! #         pub fn new(_: &[u8]) -> Self { Self }
//! #         pub fn seal(&self, _: &[u8; 12], _: &[u8], _: &mut [u8]) -> Option<[u8; 16]> { None }
//! #         pub fn open(&self, _: &[u8; 12], _: &[u8], _: &mut [u8], _: &[u8; 16]) -> bool {
//! #             false
//! #         }
//! #     }
//! # }
//!
//! struct Key(library::Gcm);
//!
//! impl Aead for Key {
//!     fn seal_in_place(
//!         &self,
//!         nonce: Nonce,
//!         aad: &[u8],
//!         text: &mut [u8],
//!     ) -> Result<Tag, AeadError> {
//!         self.0.seal(&nonce.0, aad, text).ok_or(AeadError)
//!     }
//!
//!     /// Replaces ciphertext and tag in `text` by the plaintext, and returns its length.
//!     fn open_in_place(
//!         &self,
//!         nonce: Nonce,
//!         aad: &[u8],
//!         text: &mut [u8],
//!     ) -> Result<usize, AeadError> {
//!         let (text, tag) = text.split_last_chunk_mut::<TAG_LEN>().ok_or(AeadError)?;
//!         match self.0.open(&nonce.0, aad, text, tag) {
//!             true => Ok(text.len()),
//!             false => Err(AeadError),
//!         }
//!     }
//! }
//!
//! struct Gcm128;
//!
//! impl AeadAlgorithm for Gcm128 {
//!     type SealingKey = InPlace<Key>;
//!     type OpeningKey = InPlace<Key>;
//!
//!     const CIPHER: BulkCipher = Aes128Gcm::CIPHER;
//!
//!     fn sealing_key(key: &AeadKey) -> InPlace<Key> {
//!         InPlace(Key(library::Gcm::new(key.as_ref())))
//!     }
//!
//!     fn opening_key(key: &AeadKey) -> InPlace<Key> {
//!         InPlace(Key(library::Gcm::new(key.as_ref())))
//!     }
//! }
//! ```
//!
//! Together with a [`HashFunction`](crate::crypto::blocks::HashFunction),
//! `Tls13Suite::<Gcm128, Sha256>` is a cipher suite. The other traits are about as small:
//!
//! | the library has | trait | you get |
//! |---|---|---|
//! | an AEAD | [`AeadAlgorithm`], [`Aead`] | records of TLS 1.2 and 1.3 |
//! | … and a cipher for QUIC's headers | [`PacketAlgorithm`] | QUIC packets and headers |
//! | a hash function and HMAC | [`HashFunction`] | transcript hash, HKDF, the PRF of TLS 1.2 |
//! | … and an AEAD | the above | whole cipher suites: `Tls13Suite`, `Tls12Suite` |
//! | Diffie-Hellman on a curve | [`Ecdh`] | key exchange groups with all checks: `EcdhGroup` |
//! | … with keys that can be serialised | [`HpkeDh`] | HPKE, with an AEAD and a hash: `HpkeBase` |
//! | private keys | [`KeyPair`] | loading, choice of a scheme, SubjectPublicKeyInfo: `KeyLoader` |
//! | an AEAD that can be shared | [`Aead`] | tickets: `make_ticketer`, `FleetTicketer` and others |
//!
//! [`AeadAlgorithm`]: crate::crypto::blocks::AeadAlgorithm
//! [`Aead`]: crate::crypto::blocks::Aead
//! [`PacketAlgorithm`]: crate::crypto::blocks::PacketAlgorithm
//! [`HashFunction`]: crate::crypto::blocks::HashFunction
//! [`Ecdh`]: crate::crypto::blocks::Ecdh
//! [`HpkeDh`]: crate::crypto::blocks::HpkeDh
//! [`KeyPair`]: crate::crypto::blocks::KeyPair
//!
//! A library that only seals in place wraps its key in [`InPlace`](crate::crypto::blocks::InPlace),
//! for one copy. One that seals from an input to an output implements
//! [`SealingKey`](crate::crypto::blocks::SealingKey), without any copy. Both take `&mut self`, so a
//! key may count nonces or keep a context.
//!
//! The two providers of this repository consist of these blocks. `ci/provider-rustcrypto` in the
//! repository is a whole provider over the pure Rust of RustCrypto, in five hundred lines.
//! `ci/provider-checks` runs published vectors (Wycheproof, the RFCs') over any provider: run them
//! over yours.
//!
//! # An engine that makes records itself
//!
//! Implement [`MessageEncrypter`](crate::crypto::cipher::MessageEncrypter) and
//! [`MessageDecrypter`](crate::crypto::cipher::MessageDecrypter) if the hardware has a record
//! engine rather than an AEAD. An encrypter writes the payload of a record to the front of a slice.
//! The caller has asked for its length before, and writes the header itself.
//!
//! # Porting a provider from rustls 0.23
//!
//! A provider for rustls 0.23 needs one change, in `MessageEncrypter`. `encrypt` does not return an
//! allocated record; it writes what follows the record header into `out`. `OutboundOpaqueMessage`
//! and `PrefixedPayload` do not exist, so an encrypter has no buffer to prepare. All other traits
//! are the same. `Hkdf::with_expander` and `MessageDecrypter::max_content_len` are new and have
//! defaults. The first saves an allocation for each key, the second reports a tighter limit on a
//! record's content.
//!
//! `MessageEncrypter` in 0.23:
//!
//! ```text
//! encrypt(&mut self, msg, seq) -> Result<OutboundOpaqueMessage, Error>
//! encrypted_payload_len(&self, payload_len) -> usize
//! ```
//!
//! And here:
//!
//! ```text
//! encrypt(&mut self, msg, seq, out: &mut [u8]) -> Result<usize, EncryptError>
//! encrypt_in_place(&mut self, typ, version, payload_len, seq, out: &mut [u8])
//!     -> Result<usize, EncryptError>
//! encrypted_payload_len(&self, payload_len) -> usize // the bytes of `out` that are written
//! payload_offset(&self) -> usize // of the payload in `out`: 8 for TLS 1.2 GCM, else 0
//! ```
//!
//! A body that extended a `PrefixedPayload` by the chunks and the content type, encrypted it and
//! appended the tag now does the same to `out`. Both methods together take about ten lines:
//!
//! ```
//! use rustls::crypto::blocks::Aead;
//! use rustls::crypto::cipher::{
//!     EncryptError, Iv, MessageEncrypter, Nonce, OutboundPlainMessage, make_tls13_aad,
//! };
//! use rustls::{ContentType, ProtocolVersion};
//!
//! struct Encrypter<K> {
//!     key: K, // here any `Aead`; yours is what your library seals with
//!     iv: Iv,
//! }
//!
//! impl<K: Aead> MessageEncrypter for Encrypter<K> {
//!     fn encrypt(
//!         &mut self,
//!         msg: OutboundPlainMessage<'_>,
//!         seq: u64,
//!         out: &mut [u8],
//!     ) -> Result<usize, EncryptError> {
//!         let len = msg.payload.len();
//!         let out = EncryptError::check_size(out, self.encrypted_payload_len(len))?;
//!         // better: seal from `msg.payload` into `out`
//!         msg.payload.copy_to_slice(&mut out[..len]);
//!         self.encrypt_in_place(msg.typ, msg.version, len, seq, out)
//!     }
//!
//!     fn encrypt_in_place(
//!         &mut self,
//!         typ: ContentType,
//!         _version: ProtocolVersion,
//!         payload_len: usize,
//!         seq: u64,
//!         out: &mut [u8],
//!     ) -> Result<usize, EncryptError> {
//!         let out = EncryptError::check_size(out, self.encrypted_payload_len(payload_len))?;
//!         let aad = make_tls13_aad(out.len());
//!         let (text, tag) = out.split_at_mut(payload_len + 1);
//!         text[payload_len] = typ.into();
//!         let nonce = Nonce::new(&self.iv, seq);
//!         tag.copy_from_slice(&self.key.seal_in_place(nonce, &aad, text)?);
//!         Ok(out.len())
//!     }
//!
//!     fn encrypted_payload_len(&self, payload_len: usize) -> usize {
//!         payload_len + 1 + 16
//!     }
//!
//!     fn payload_offset(&self) -> usize {
//!         0
//!     }
//! }
//! ```
//!
//! The documentation of [`MessageEncrypter`](crate::crypto::cipher::MessageEncrypter) has the
//! layout of `out` and the obligations of an implementer. `ci/drop-in/provider` in the repository
//! ports rustls-graviola 0.4.0 in this way and connects it with aws-lc-rs. 54 lines of its four
//! encrypters become 97, and two lines of imports change.
//!
//! # Rules
//!
//! - If its output is too short, an encrypter changes nothing and returns the size that it needs.
//!   The next call has the same sequence number.
//! - No sequence number succeeds twice, so a nonce derived from it does not repeat.
//! - Nobody sees the buffer after a failed decryption, but it should reveal nothing. Wipe it, or
//!   verify before decrypting.
//! - Lengths are checked before they are used. A configuration rejects a cipher suite whose keys or
//!   hashes are longer than this library can hold. A connection fails if an encrypter adds more
//!   than 256 bytes to a record in TLS 1.3, or 2048 in TLS 1.2.
//! - Secrets are overwritten when they are dropped. The types of this crate
//!   ([`AeadKey`](crate::crypto::cipher::AeadKey), [`SharedSecret`](crate::crypto::SharedSecret),
//!   `OkmBlock`) do it themselves.
//! - `Debug` of a signature verification algorithm names its implementation. It is the only thing
//!   that tells two with equal identifiers and `fips` apart, for a verifier that relies on what
//!   another one [has accepted](super::certificates#verified-once).
//! - `fips()` describes only the part that it belongs to, and returns false by default.
