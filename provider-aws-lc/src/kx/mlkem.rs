//! ML-KEM (FIPS 203) as a key exchange group. The client's share is an encapsulation key, the
//! server's share a ciphertext for it (draft-ietf-tls-mlkem).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use aws_lc_rs::kem::{self, Ciphertext, DecapsulationKey, EncapsulationKey};
use rustls_core::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup,
};
use rustls_core::enums::{NamedGroup, ProtocolVersion};
use rustls_core::error::{Error, PeerMisbehaved};

/// ML-KEM with one parameter set.
#[derive(Clone, Copy)]
pub(super) struct MlKem {
    name: NamedGroup,
    algorithm: &'static kem::Algorithm<kem::AlgorithmId>,
    /// The length in bytes of a client's share, an encapsulation key (FIPS 203 table 3).
    pub(super) client_share_len: usize,
    /// The length in bytes of a server's share, a ciphertext (FIPS 203 table 3).
    pub(super) server_share_len: usize,
}

impl MlKem {
    pub(super) const MLKEM768: Self = Self {
        name: NamedGroup::MLKEM768,
        algorithm: &kem::ML_KEM_768,
        client_share_len: 1184,
        server_share_len: 1088,
    };

    pub(super) const MLKEM1024: Self = Self {
        name: NamedGroup::MLKEM1024,
        algorithm: &kem::ML_KEM_1024,
        client_share_len: 1568,
        server_share_len: 1568,
    };
}

impl MlKem {
    /// Generates a secret. Returns the server's share, which encapsulates it, and the secret.
    pub(super) fn encapsulate(
        &self,
        client_share: &[u8],
    ) -> Result<(Ciphertext<'static>, kem::SharedSecret), PeerMisbehaved> {
        // FIPS 203 §7.2: the library checks the length of an encapsulation key when it is created,
        // and its coefficients when it is used
        EncapsulationKey::new(self.algorithm, client_share)
            .ok()
            .and_then(|key| key.encapsulate().ok())
            .ok_or(PeerMisbehaved::InvalidKeyShare)
    }
}

impl SupportedKxGroup for MlKem {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let decapsulation_key = DecapsulationKey::generate(self.algorithm)
            .map_err(|_| Error::FailedToGetRandomBytes)?;
        let share = decapsulation_key
            .encapsulation_key()
            .and_then(|key| Ok(key.key_bytes()?.as_ref().to_vec()))
            .map_err(|_| Error::General("ML-KEM key generation failed".into()))?;
        Ok(Box::new(MlKemExchange {
            group: *self,
            decapsulation_key,
            share,
        }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (ciphertext, secret) = self.encapsulate(client_share)?;
        Ok(CompletedKeyExchange {
            group: self.name,
            pub_key: ciphertext.as_ref().to_vec(),
            secret: secret.as_ref().into(),
        })
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    fn fips(&self) -> bool {
        crate::is_fips_module()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl fmt::Debug for MlKem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// The client's side of an exchange.
struct MlKemExchange {
    group: MlKem,
    decapsulation_key: DecapsulationKey<kem::AlgorithmId>,
    share: Vec<u8>,
}

impl ActiveKeyExchange for MlKemExchange {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        // FIPS 203 §7.3: reject a ciphertext of the wrong length; any other yields a secret
        if server_share.len() != self.group.server_share_len {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        self.decapsulation_key
            .decapsulate(Ciphertext::from(server_share))
            .map(|secret| secret.as_ref().into())
            .map_err(|_| PeerMisbehaved::InvalidKeyShare.into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        self.group.name
    }
}
