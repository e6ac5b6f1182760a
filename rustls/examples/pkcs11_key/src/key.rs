//! A private key in a token.
//!
//! A session makes one signature at a time, so each signature takes an idle one, or opens another.
//! A session is dropped after an error: it may be unusable, and so may the handle of its key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use rustls::crypto::aws_lc_rs::cipher_suite::{TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, OtherError, SignatureAlgorithm, SignatureScheme, SupportedCipherSuite};
use webpki::EndEntityCert;

use crate::token::{Failure, Token};

/// The names of P-256 and P-384, as tokens state them: OBJECT IDENTIFIERs in DER (RFC 5480
/// §2.1.1.1).
const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const P384: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 0x22];

/// A private key for ECDSA, or for RSA, in a token.
#[derive(Clone, Debug)]
pub(crate) struct ModuleKey(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    token: Arc<Token>,
    label: String,
    algorithm: SignatureAlgorithm,
    /// The preferred scheme first.
    schemes: Vec<SignatureScheme>,
    idle: Mutex<Vec<KeySession>>,
    max_idle: usize,
}

impl ModuleKey {
    /// Logs in to the token and finds the key. Keeps at most `max_idle` sessions for later
    /// signatures.
    pub(crate) fn find(token: Arc<Token>, label: String, max_idle: usize) -> Result<Self, Failure> {
        let KeySession { session, key } = KeySession::open(&token, &label)?;
        let attributes = [AttributeType::KeyType, AttributeType::EcParams];
        let schemes: &[SignatureScheme] = match &session.get_attributes(key, &attributes)?[..] {
            [Attribute::KeyType(KeyType::EC), Attribute::EcParams(curve)] if curve == P256 => {
                &[SignatureScheme::ECDSA_NISTP256_SHA256]
            }
            [Attribute::KeyType(KeyType::EC), Attribute::EcParams(curve)] if curve == P384 => {
                &[SignatureScheme::ECDSA_NISTP384_SHA384]
            }
            [Attribute::KeyType(KeyType::RSA), ..] => &[
                SignatureScheme::RSA_PSS_SHA256,
                SignatureScheme::RSA_PKCS1_SHA256,
            ],
            _ => return Err(format!("{label} is for neither P-256 nor P-384 nor RSA").into()),
        };
        let mechanisms = token.mechanisms()?;
        let supported = |scheme: &&SignatureScheme| mechanisms.contains(&mechanism_type(**scheme));
        let schemes: Vec<_> = schemes.iter().filter(supported).copied().collect();
        let Some(first) = schemes.first() else {
            return Err(format!("{} does not sign with {label}", token.label()).into());
        };
        Ok(Self(Arc::new(Shared {
            algorithm: first.algorithm(),
            schemes,
            token,
            label,
            idle: Mutex::new(vec![KeySession { session, key }]),
            max_idle,
        })))
    }

    /// Makes a signature with each scheme, and verifies it with the public key in `certificate`.
    ///
    /// Call it before the first client comes. It reports a key of another certificate, and a key
    /// that may not sign.
    pub(crate) fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Failure> {
        const MESSAGE: &[u8] = b"a test of the private key";
        let certificate = EndEntityCert::try_from(certificate)?;
        let algorithms = default_provider().signature_verification_algorithms;
        for scheme in &self.0.schemes {
            let signature = self.sign(*scheme, MESSAGE)?;
            let mut mapping = algorithms.mapping.iter();
            let found = mapping.find(|(candidate, _)| candidate == scheme);
            let verified = found.is_some_and(|(_, algorithms)| {
                let verify =
                    |algorithm| certificate.verify_signature(algorithm, MESSAGE, &signature);
                algorithms
                    .iter()
                    .any(|algorithm| verify(*algorithm).is_ok())
            });
            if !verified {
                let label = &self.0.label;
                return Err(format!("the certificate does not fit the key {label}").into());
            }
        }
        Ok(())
    }

    /// Signs, with a second session if an idle one fails.
    pub(crate) fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let idle = self.idle().pop();
        if let Some(session) = idle {
            match session.sign(scheme, message) {
                Ok(signature) => {
                    self.keep(session);
                    return Ok(signature);
                }
                // The token was removed, somebody logged out, the module dropped an idle session: a
                // second attempt with a new session tells.
                Err(error) => eprintln!("pkcs11_key: a session with the token failed: {error}"),
            }
        }
        let session = KeySession::open(&self.0.token, &self.0.label)?;
        let signature = session.sign(scheme, message)?;
        self.keep(session);
        Ok(signature)
    }

    fn keep(&self, session: KeySession) {
        let mut idle = self.idle();
        if idle.len() < self.0.max_idle {
            idle.push(session);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<KeySession>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SigningKey for ModuleKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let mut schemes = self.0.schemes.iter().copied();
        Some(Box::new(ModuleSigner {
            scheme: schemes.find(|scheme| offered.contains(scheme))?,
            key: self.clone(),
        }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm
    }
}

/// A [`ModuleKey`] with the scheme of one handshake.
#[derive(Debug)]
struct ModuleSigner {
    scheme: SignatureScheme,
    key: ModuleKey,
}

impl Signer for ModuleSigner {
    /// Blocks the thread until the module has signed.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.key.sign(self.scheme, message);
        signature.map_err(|error| Error::Other(OtherError(error.into())))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

/// A session, and the handle that the key has since it was opened.
#[derive(Debug)]
struct KeySession {
    session: Session,
    key: ObjectHandle,
}

impl KeySession {
    fn open(token: &Token, label: &str) -> Result<Self, Failure> {
        let session = token.session()?;
        let private = Attribute::Class(ObjectClass::PRIVATE_KEY);
        let found = session.find_objects(&[private, Attribute::Label(label.into())])?;
        match found[..] {
            [key] => Ok(Self { session, key }),
            _ => {
                let (token, count) = (token.label(), found.len());
                Err(format!("{token} has {count} private keys with the label {label}").into())
            }
        }
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let sign = |mechanism, message: &[u8]| self.session.sign(&mechanism, self.key, message);
        match scheme {
            SignatureScheme::ECDSA_NISTP256_SHA256 => {
                let hash = hash(TLS13_AES_128_GCM_SHA256, message)?;
                der(&sign(Mechanism::Ecdsa, &hash)?, 32)
            }
            SignatureScheme::ECDSA_NISTP384_SHA384 => {
                let hash = hash(TLS13_AES_256_GCM_SHA384, message)?;
                der(&sign(Mechanism::Ecdsa, &hash)?, 48)
            }
            SignatureScheme::RSA_PSS_SHA256 => {
                let parameters = PkcsPssParams {
                    hash_alg: MechanismType::SHA256,
                    mgf: PkcsMgfType::MGF1_SHA256,
                    s_len: 32.into(),
                };
                Ok(sign(Mechanism::Sha256RsaPkcsPss(parameters), message)?)
            }
            SignatureScheme::RSA_PKCS1_SHA256 => Ok(sign(Mechanism::Sha256RsaPkcs, message)?),
            _ => Err(format!("no signatures with {scheme:?}").into()),
        }
    }
}

/// Returns the mechanism for a scheme. Few tokens have ECDSA with the hash.
fn mechanism_type(scheme: SignatureScheme) -> MechanismType {
    match scheme {
        SignatureScheme::RSA_PSS_SHA256 => MechanismType::SHA256_RSA_PKCS_PSS,
        SignatureScheme::RSA_PKCS1_SHA256 => MechanismType::SHA256_RSA_PKCS,
        _ => MechanismType::ECDSA,
    }
}

/// Hashes a message with the hash function of `suite`.
fn hash(suite: SupportedCipherSuite, message: &[u8]) -> Result<Vec<u8>, Failure> {
    let suite = suite.tls13().ok_or("a cipher suite without a hash")?;
    let hash = suite.common.hash_provider.hash(message);
    Ok(hash.as_ref().to_vec())
}

/// Encodes a signature of ECDSA. PKCS#11 has two numbers of `len` bytes, TLS has DER (RFC 3279
/// §2.2.3).
pub(crate) fn der(signature: &[u8], len: usize) -> Result<Vec<u8>, Failure> {
    let number = |bytes: &[u8]| {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let bytes = &bytes[zeros..];
        // A number whose first bit is set would be negative; zero has one byte.
        let sign = bytes.first().is_none_or(|byte| byte >> 7 == 1);
        let len = (bytes.len() + usize::from(sign)) as u8;
        [&[0x02, len], &[0][..usize::from(sign)], bytes].concat()
    };
    if signature.len() != 2 * len {
        let actual = signature.len();
        return Err(format!("a signature of {actual} bytes, not {}", 2 * len).into());
    }
    let (r, s) = signature.split_at(len);
    let numbers = [number(r), number(s)].concat();
    Ok([&[0x30, numbers.len() as u8], &numbers[..]].concat())
}
