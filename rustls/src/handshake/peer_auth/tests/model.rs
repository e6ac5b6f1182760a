//! Verifiers whose verdict is a function of rules, chain, name and time, and wrappers around them.

use alloc::vec::Vec;
use core::time::Duration;
use std::string::String;
use std::sync::Mutex;

use pki_types::{CertificateDer, ServerName, UnixTime};

use crate::certificates::{ChainKind, PeerChain, VerifierRules};
use crate::config::verify::{
    ClientCertVerified, ClientCertVerifier, HandshakeSignatureValid, ServerCertVerified,
    ServerCertVerifier,
};
use crate::enums::SignatureScheme;
use crate::error::{CertificateError, Error};
use crate::handshake::peer_auth::ReceivedChain;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;

pub(super) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// Returns the chain with this number: an end entity and an issuer. Chain 3 is marked as a raw
/// public key.
pub(super) fn chain(number: u8) -> PeerChain {
    let kind = match number {
        3 => ChainKind::RawPublicKey,
        _ => ChainKind::X509,
    };
    // chains 2 and 3 have the same end entity, and so the same hash
    PeerChain::copy(kind, [&[number.min(2); 20][..], &[number; 3]])
}

/// Returns the same chain as a peer presents it, before its signature.
pub(super) fn received(number: u8) -> ReceivedChain {
    let chain = chain(number);
    ReceivedChain::copy(chain.kind(), chain.der())
}

pub(super) fn rules(number: u8) -> VerifierRules {
    VerifierRules::from_digest([number; 32])
}

/// The number of the rules that accept each chain for years.
pub(super) const LASTING: u8 = 9;

/// Returns the times at which a verifier with rules `number` accepts the chain of `end_entity` and
/// `issuer`.
fn accepted_times(number: u8, issuer: u8) -> core::ops::Range<u64> {
    match (number, issuer) {
        (0, 0) => 0..100,
        (0, 1) => 20..30,
        (0, 2) => 0..0,
        (1, 0) => 0..15,
        (1, 1) => 10..100,
        (1, 2) => 25..26,
        (LASTING, _) => 0..1 << 30,
        (_, chain) => u64::from(chain) * 10..u64::from(chain) * 10 + 25,
    }
}

/// A verifier that keeps its promises, or a wrapper around one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    pub(super) number: u8,
    pub(super) wrapper: Wrapper,
}

/// The methods that a wrapper forwards, and what it does itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapper {
    pub(super) forwards_rules: bool,
    pub(super) forwards_recheck: bool,
    /// Has its own rules, and passes on the inner verifier's proof or issues its own.
    pub(super) own: Option<OwnRules>,
    /// Rejects chain 0, which the inner verifier may accept.
    pub(super) is_narrower: bool,
    /// Accepts chain 2, which the inner verifier may reject.
    pub(super) is_wider: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum OwnRules {
    ProofOfInner,
    OwnProof,
    NoProof,
}

impl Wrapper {
    pub(super) const NONE: Self = Self {
        forwards_rules: true,
        forwards_recheck: true,
        own: None,
        is_narrower: false,
        is_wider: false,
    };

    /// True if the wrapper breaks the contract of `rules`: it forwards the inner verifier's rules
    /// and its second check, although its own verdict differs.
    pub(super) fn lies(&self) -> bool {
        let same_rules = self.own.is_none() && self.forwards_rules;
        same_rules && self.forwards_recheck && (self.is_narrower || self.is_wider)
    }
}

impl Model {
    fn rules(&self) -> Option<VerifierRules> {
        match self.wrapper.own {
            Some(_) => Some(VerifierRules::from_digest(
                [0x80 | self.number | u8::from(self.wrapper.is_narrower) << 6; 32],
            )),
            None => self.wrapper.forwards_rules.then(|| rules(self.number)),
        }
    }

    /// Returns the rules and the end of the proof, if it has any.
    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        issuer: u8,
        name: u8,
        now: UnixTime,
    ) -> Result<Option<(VerifierRules, UnixTime)>, Error> {
        let number = issuer;
        if self.wrapper.is_narrower && number == 0 {
            return Err(CertificateError::Revoked.into());
        }
        if self.wrapper.is_wider && number == 2 {
            return Ok(None);
        }
        let times = accepted_times(self.number, number);
        if !times.contains(&now.as_secs()) {
            return Err(CertificateError::Expired.into());
        }
        self.check_name(end_entity, name)?;
        let until = at(times.end);
        Ok(match self.wrapper.own {
            None | Some(OwnRules::ProofOfInner) => Some((rules(self.number), until)),
            Some(OwnRules::OwnProof) => self.rules().map(|rules| (rules, until)),
            Some(OwnRules::NoProof) => None,
        })
    }

    fn check_name(&self, end_entity: &CertificateDer<'_>, name: u8) -> Result<(), Error> {
        if end_entity[0] + name == 5 {
            return Err(CertificateError::NotValidForName.into());
        }
        Ok(())
    }

    fn recheck(&self, end_entity: &CertificateDer<'_>, name: u8) -> bool {
        self.wrapper.forwards_recheck && self.check_name(end_entity, name).is_ok()
    }
}

/// A verifier that records its calls.
#[derive(Debug)]
pub(super) struct Recorded {
    model: Model,
    calls: Mutex<String>,
}

impl Recorded {
    pub(super) fn new(model: Model) -> Self {
        Self {
            model,
            calls: Mutex::default(),
        }
    }

    pub(super) fn call(&self, name: char) {
        self.calls.lock().unwrap().push(name);
    }

    pub(super) fn calls(&self) -> String {
        core::mem::take(&mut *self.calls.lock().unwrap())
    }
}

fn issuer(intermediates: &[CertificateDer<'_>]) -> u8 {
    intermediates[0][0]
}

fn name(server_name: &ServerName<'_>) -> u8 {
    server_name.to_str().as_bytes()[0] - b'a'
}

/// The methods that are not called here.
macro_rules! signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            unreachable!()
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            unreachable!()
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            Vec::new()
        }
    };
}
pub(super) use signatures;

impl ServerCertVerifier for Recorded {
    signatures!();

    fn rules(&self) -> Option<VerifierRules> {
        self.model.rules()
    }

    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.call('v');
        let (issuer, name) = (issuer(intermediates), name(server_name));
        let worth = self.model.verify(end_entity, issuer, name, now)?;
        Ok(match worth {
            Some((rules, until)) => ServerCertVerified::assertion_until(rules, until),
            None => ServerCertVerified::assertion(),
        })
    }

    fn recheck_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> bool {
        self.call('r');
        self.model.recheck(end_entity, name(server_name))
    }
}

impl ClientCertVerifier for Recorded {
    signatures!();

    fn rules(&self) -> Option<VerifierRules> {
        self.model.rules()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.call('v');
        let worth = self
            .model
            .verify(end_entity, issuer(intermediates), 0, now)?;
        Ok(match worth {
            Some((rules, until)) => ClientCertVerified::assertion_until(rules, until),
            None => ClientCertVerified::assertion(),
        })
    }

    fn recheck_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> bool {
        self.call('r');
        self.model.recheck(end_entity, 0)
    }
}
