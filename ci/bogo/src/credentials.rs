//! This side's certificates and keys: read from files, and chosen by what the peer can verify.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};

use crate::certificate_types::CertificateType;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::options::{Credential, Options};

/// The credentials of a connection, most preferred first.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    list: Vec<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    /// The number that `-expect-selected-credential` uses.
    number: i32,
    key: Arc<CertifiedKey>,
    /// The issuer's name in each certificate of the chain, if the peer must name one of them.
    issuers: Option<Vec<Vec<u8>>>,
}

impl Credentials {
    /// Reads the credentials of one type that `options` name.
    pub(crate) fn load(
        options: &Options,
        typ: CertificateType,
        provider: &CryptoProvider,
    ) -> Result<Self, Failure> {
        let numbered = (0..).zip(&options.credentials);
        let default = (-1, &options.default_credential);
        let list = numbered
            .chain([default])
            .filter(|(_, credential)| credential.typ() == Some(typ))
            .map(|(number, credential)| Loaded::read(number, credential, options, provider))
            .collect::<Result<_, _>>()?;
        Ok(Self { list })
    }

    fn choose(
        &self,
        acceptable: impl Fn(&Loaded) -> bool,
        observed: &Mutex<Observed>,
    ) -> Option<Arc<CertifiedKey>> {
        let chosen = self.list.iter().find(|credential| acceptable(credential))?;
        Observed::note(observed, |o| o.selected_credential = Some(chosen.number));
        Some(chosen.key.clone())
    }
}

impl Loaded {
    fn read(
        number: i32,
        credential: &Credential,
        options: &Options,
        provider: &CryptoProvider,
    ) -> Result<Self, Failure> {
        let key_file = credential.key_file.as_deref().unwrap_or_default();
        let key = PrivateKeyDer::from_pem_file(key_file)
            .map_err(|error| Failure::Usage(format!("{key_file}: {error}")))?;
        let key = provider
            .key_provider
            .load_private_key(key)
            .map_err(|error| Failure::Unsupported(format!("{key_file}: {error}")))?;
        let chain = match (credential.is_raw_public_key, &credential.cert_file) {
            (false, Some(file)) => read_chain(file)?,
            _ => {
                let public_key = key.public_key().ok_or_else(|| {
                    Failure::Unsupported(format!("{key_file}: the public key is not told"))
                })?;
                vec![CertificateDer::from(public_key.as_ref().to_vec())]
            }
        };
        let supported = provider
            .signature_verification_algorithms
            .supported_schemes();
        for &scheme in &credential.signing_prefs {
            if !supported.contains(&scheme.into()) {
                return Err(Failure::Unsupported(format!("signing by {scheme:#06x}")));
            }
        }
        let key = match preferred_schemes(credential, options) {
            None => key,
            Some(preferred) => Arc::new(PreferringKey { key, preferred }),
        };
        let issuers = credential
            .must_match_issuer
            .then(|| chain.iter().map(issuer).collect::<Result<_, _>>())
            .transpose()?;
        let mut key = CertifiedKey::new(chain, key);
        key.ocsp = credential
            .ocsp_response
            .clone()
            .filter(|_| !options.ocsp_callback.declines);
        Ok(Self {
            number,
            key: Arc::new(key),
            issuers,
        })
    }

    fn signs_by_one_of(&self, schemes: &[SignatureScheme]) -> bool {
        self.key.key.choose_scheme(schemes).is_some()
    }

    fn is_of_one_of(&self, authorities: &[&[u8]]) -> bool {
        self.issuers.as_ref().is_none_or(|issuers| {
            issuers
                .iter()
                .any(|issuer| authorities.contains(&issuer.as_slice()))
        })
    }
}

/// The schemes to sign with, if they are not all of the key's.
fn preferred_schemes(credential: &Credential, options: &Options) -> Option<Vec<SignatureScheme>> {
    match credential.signing_prefs.as_slice() {
        [] => options.policy?.allowed().schemes.map(Into::into),
        prefs => Some(prefs.iter().map(|&scheme| scheme.into()).collect()),
    }
}

/// Reads the certificates of a PEM file.
pub(crate) fn read_chain(file: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| Failure::Usage(format!("{file}: {error}")))
}

/// Reads names of authorities: DER in hexadecimal, separated by commas.
pub(crate) fn names_of_authorities(list: Option<&str>) -> Result<Vec<Vec<u8>>, Failure> {
    let list = match list {
        None | Some("<EMPTY>" | "<NULL>") => return Ok(vec![]),
        Some(list) => list,
    };
    list.split(',')
        .map(|name| {
            let der: Option<_> = (0..name.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(name.get(at..at + 2)?, 16).ok())
                .collect();
            der.ok_or_else(|| Failure::Usage(format!("{name:?} is not hexadecimal")))
        })
        .collect()
}

fn issuer(certificate: &CertificateDer<'static>) -> Result<Vec<u8>, Failure> {
    let parsed = rustls::certificates::Certificate::new(certificate.clone());
    let name = parsed
        .issuer()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(name.der().into())
}

/// A server's choice: a credential that the client can verify. If there is none, the library
/// rejects the choice.
#[derive(Debug)]
pub(crate) struct ServerResolver {
    /// All credentials have the same type.
    pub(crate) credentials: Credentials,
    pub(crate) is_raw: bool,
    /// True to return no credential.
    pub(crate) fails: bool,
    pub(crate) observed: Arc<Mutex<Observed>>,
}

impl ResolvesServerCert for ServerResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Observed::note(&self.observed, |o| {
            o.advertised_alpn = hello.alpn().map(|protocols| {
                protocols
                    .flat_map(|protocol| {
                        let mut entry = vec![protocol.len() as u8];
                        entry.extend_from_slice(protocol);
                        entry
                    })
                    .collect()
            });
            o.peer_verify_prefs = hello
                .signature_schemes()
                .iter()
                .map(|&scheme| scheme.into())
                .collect();
        });
        if self.fails {
            return None;
        }
        let authorities: Vec<&[u8]> = hello
            .certificate_authorities()
            .unwrap_or_default()
            .iter()
            .map(AsRef::as_ref)
            .collect();
        let schemes = hello.signature_schemes();
        let fits = |credential: &Loaded| {
            credential.signs_by_one_of(schemes) && credential.is_of_one_of(&authorities)
        };
        let last_resort = |credential: &Loaded| credential.is_of_one_of(&authorities);
        self.credentials
            .choose(fits, &self.observed)
            .or_else(|| self.credentials.choose(last_resort, &self.observed))
    }

    fn only_raw_public_keys(&self) -> bool {
        self.is_raw
    }
}

/// A client's choice. All connections of the process share it, because a session belongs to the
/// resolver of its first connection.
#[derive(Debug, Default)]
pub(crate) struct ClientResolver {
    current: Mutex<ClientChoice>,
}

/// The choices of a client on one connection.
#[derive(Debug, Default)]
pub(crate) struct ClientChoice {
    /// All credentials have the same type.
    pub(crate) credentials: Credentials,
    pub(crate) is_raw: bool,
    pub(crate) observed: Arc<Mutex<Observed>>,
}

impl ClientResolver {
    /// Sets the choices of the next connection.
    pub(crate) fn set(&self, choice: ClientChoice) {
        *self.current.lock().unwrap() = choice;
    }
}

impl ResolvesClientCert for ClientResolver {
    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let ClientChoice {
            credentials,
            observed,
            ..
        } = &*self.current.lock().unwrap();
        Observed::note(observed, |o| {
            o.client_ca_list = Some(
                root_hint_subjects
                    .iter()
                    .map(|name| name.to_vec())
                    .collect(),
            );
            o.peer_verify_prefs = sigschemes.iter().map(|&scheme| scheme.into()).collect();
        });
        credentials.choose(
            |credential| {
                credential.signs_by_one_of(sigschemes)
                    && credential.is_of_one_of(root_hint_subjects)
            },
            observed,
        )
    }

    fn has_certs(&self) -> bool {
        !self.current.lock().unwrap().credentials.list.is_empty()
    }

    fn only_raw_public_keys(&self) -> bool {
        self.current.lock().unwrap().is_raw
    }
}

/// A key that signs with the given schemes only, in that order.
struct PreferringKey {
    key: Arc<dyn SigningKey>,
    preferred: Vec<SignatureScheme>,
}

impl SigningKey for PreferringKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.preferred
            .iter()
            .filter(|scheme| offered.contains(scheme))
            .find_map(|&scheme| self.key.choose_scheme(&[scheme]))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.key.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }
}

impl fmt::Debug for PreferringKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreferringKey")
            .field("preferred", &self.preferred)
            .finish_non_exhaustive()
    }
}
