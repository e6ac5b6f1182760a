//! A private key in a token.
//!
//! A session makes one signature at a time, so each signature takes an idle session or opens
//! another one. A session is dropped after an error because it, or its handle of the key, may be
//! unusable.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, OtherError, SignatureAlgorithm, SignatureScheme};
use webpki::EndEntityCert;

use crate::token::{Failure, Token};

/// The name of P-256 in tokens: an OBJECT IDENTIFIER in DER (RFC 5480 §2.1.1.1).
const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];

/// A private key in a token: for ECDSA with P-256, or for RSA.
#[derive(Clone, Debug)]
pub(crate) struct ModuleKey(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    token: Token,
    label: String,
    scheme: SignatureScheme,
    idle: Mutex<Vec<KeySession>>,
}

impl ModuleKey {
    /// Logs in to the token and finds the key.
    pub(crate) fn find(token: Token, label: String) -> Result<Self, Failure> {
        let KeySession { session, key } = KeySession::open(&token, &label)?;
        let attributes = [AttributeType::KeyType, AttributeType::EcParams];
        let scheme = match &session.get_attributes(key, &attributes)?[..] {
            [Attribute::KeyType(KeyType::EC), Attribute::EcParams(curve)] if curve == P256 => {
                SignatureScheme::ECDSA_NISTP256_SHA256
            }
            [Attribute::KeyType(KeyType::RSA), ..] => SignatureScheme::RSA_PSS_SHA256,
            _ => return Err(format!("{label} is neither for P-256 nor for RSA").into()),
        };
        let idle = Mutex::new(vec![KeySession { session, key }]);
        Ok(Self(Arc::new(Shared {
            token,
            label,
            scheme,
            idle,
        })))
    }

    /// Makes a signature, and verifies it with the public key in `certificate`.
    ///
    /// Call this before the first client connects. It detects a key that does not match the
    /// certificate, or that must not be used for signatures.
    pub(crate) fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Failure> {
        const MESSAGE: &[u8] = b"a test of the private key";
        let certificate = EndEntityCert::try_from(certificate)?;
        let signature = self.make_signature(MESSAGE)?;
        let mapping = default_provider().signature_verification_algorithms.mapping;
        let algorithms = mapping
            .iter()
            .filter(|(scheme, _)| *scheme == self.0.scheme);
        let mut algorithms = algorithms.flat_map(|(_, algorithms)| *algorithms);
        let verify = |algorithm| certificate.verify_signature(algorithm, MESSAGE, &signature);
        match algorithms.any(|algorithm| verify(*algorithm).is_ok()) {
            true => Ok(()),
            false => Err(format!("certificate does not match key {}", self.0.label).into()),
        }
    }

    /// Signs. If an idle session fails, tries again with a new one.
    pub(crate) fn make_signature(&self, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let idle = self.idle().pop();
        if let Some(session) = idle {
            match session.sign(self.0.scheme, message) {
                Ok(signature) => {
                    self.idle().push(session);
                    return Ok(signature);
                }
                // The token may have been removed, the user logged out, or the session dropped by
                // the module: a second attempt with a new session shows whether the error persists.
                Err(error) => eprintln!("pkcs11_key: a session with the token failed: {error}"),
            }
        }
        let session = KeySession::open(&self.0.token, &self.0.label)?;
        let signature = session.sign(self.0.scheme, message)?;
        self.idle().push(session);
        Ok(signature)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<KeySession>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SigningKey for ModuleKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&self.0.scheme);
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.scheme.algorithm()
    }
}

impl Signer for ModuleKey {
    /// Blocks the thread until the module has signed.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.make_signature(message);
        signature.map_err(|error| Error::Other(OtherError(error.into())))
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme
    }
}

/// A session, and the handle of the key in it.
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
        if scheme == SignatureScheme::ECDSA_NISTP256_SHA256 {
            // Few tokens hash the message themselves for ECDSA.
            let suite = TLS13_AES_128_GCM_SHA256.tls13();
            let suite = suite.ok_or("a cipher suite without a hash")?;
            let hash = suite.common.hash_provider.hash(message);
            let signature = sign(Mechanism::Ecdsa, hash.as_ref())?;
            let signature = p256::ecdsa::Signature::from_slice(&signature)?;
            return Ok(signature.to_der().as_bytes().to_vec());
        }
        let parameters = PkcsPssParams {
            hash_alg: MechanismType::SHA256,
            mgf: PkcsMgfType::MGF1_SHA256,
            s_len: 32.into(),
        };
        Ok(sign(Mechanism::Sha256RsaPkcsPss(parameters), message)?)
    }
}
