//! Key encapsulation as key exchange: ML-KEM alone (draft-ietf-tls-mlkem), and hybrids of a curve
//! and ML-KEM (draft-ietf-tls-hybrid-design), whose secret is safe as long as either part is
//! unbroken.
//!
//! A client's share is an encapsulation key, and a server's share a ciphertext for it. A hybrid
//! concatenates the shares and the secrets of its two parts. The group determines which part comes
//! first, for both shares and secrets (draft-ietf-tls-ecdhe-mlkem).

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use super::ecdh::{Curve, Ecdh, EcdhGroup, check_len};
use crate::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup,
};
use crate::enums::{NamedGroup, ProtocolVersion};
use crate::error::{Error, PeerMisbehaved};

/// ML-KEM with one parameter set, implemented with a crypto library.
pub trait Kem: Copy + Send + Sync + 'static {
    /// A private key. It is zeroized on drop.
    type DecapsulationKey: Send + Sync + 'static;

    /// The encapsulated secret, in the form that is sent to the peer.
    type Ciphertext: AsRef<[u8]>;

    /// A shared secret. It is zeroized on drop.
    type Secret: AsRef<[u8]>;

    /// Returns the parameter set of this implementation.
    fn parameters(&self) -> KemParameters;

    /// Generates a private key. Returns it, and the bytes of its public key.
    ///
    /// # Errors
    ///
    /// Returns [`GetRandomFailed`] if the library has no randomness.
    fn generate(&self) -> Result<(Self::DecapsulationKey, Vec<u8>), GetRandomFailed>;

    /// Generates a secret. Returns the ciphertext that encapsulates it for `peer`, and the secret.
    /// Returns `None` if the library fails, or if `peer` is not an encapsulation key, which the
    /// library checks (FIPS 203 §7.2).
    ///
    /// The length of `peer` has already been checked.
    fn encapsulate(&self, peer: &[u8]) -> Option<(Self::Ciphertext, Self::Secret)>;

    /// Returns the secret in `ciphertext`; `None` if the library fails.
    ///
    /// The length of `ciphertext` has already been checked (FIPS 203 §7.3). A wrong ciphertext
    /// yields a secret that the peer does not know.
    fn decapsulate(&self, key: Self::DecapsulationKey, ciphertext: &[u8]) -> Option<Self::Secret>;

    /// True if the library is FIPS-approved.
    fn fips(&self) -> bool {
        false
    }
}

/// A parameter set of ML-KEM (FIPS 203 §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KemParameters {
    /// ML-KEM-768.
    MlKem768,
    /// ML-KEM-1024.
    MlKem1024,
}

impl KemParameters {
    /// Returns the code point for key exchange with this parameter set alone.
    pub const fn group(self) -> NamedGroup {
        match self {
            Self::MlKem768 => NamedGroup::MLKEM768,
            Self::MlKem1024 => NamedGroup::MLKEM1024,
        }
    }

    /// The length in bytes of a shared secret (FIPS 203 table 3).
    const SECRET_LEN: usize = 32;

    /// Returns the length in bytes of a client's share, an encapsulation key (FIPS 203 table 3).
    pub const fn client_share_len(self) -> usize {
        match self {
            Self::MlKem768 => 1184,
            Self::MlKem1024 => 1568,
        }
    }

    /// Returns the length in bytes of a server's share, a ciphertext (FIPS 203 table 3).
    pub const fn server_share_len(self) -> usize {
        match self {
            Self::MlKem768 => 1088,
            Self::MlKem1024 => 1568,
        }
    }
}

/// A [`SupportedKxGroup`] that uses only a library's ML-KEM, without a curve.
#[derive(Clone, Copy)]
pub struct KemGroup<K>(pub K);

impl<K: Kem> KemGroup<K> {
    fn generate(&self) -> Result<(K::DecapsulationKey, Vec<u8>), Error> {
        let (key, share) = self.0.generate()?;
        let expected = self.0.parameters().client_share_len();
        check_len(self.name(), "share", &share, expected)?;
        Ok((key, share))
    }

    fn encapsulate(&self, client_share: &[u8]) -> Result<(K::Ciphertext, K::Secret), Error> {
        let parameters = self.0.parameters();
        if client_share.len() != parameters.client_share_len() {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let (ciphertext, secret) = self
            .0
            .encapsulate(client_share)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        let expected = parameters.server_share_len();
        check_len(self.name(), "share", ciphertext.as_ref(), expected)?;
        self.check_secret(&secret)?;
        Ok((ciphertext, secret))
    }

    fn decapsulate(
        &self,
        key: K::DecapsulationKey,
        server_share: &[u8],
    ) -> Result<K::Secret, Error> {
        if server_share.len() != self.0.parameters().server_share_len() {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let secret = self
            .0
            .decapsulate(key, server_share)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        self.check_secret(&secret)?;
        Ok(secret)
    }

    fn check_secret(&self, secret: &K::Secret) -> Result<(), Error> {
        let expected = KemParameters::SECRET_LEN;
        check_len(self.name(), "secret", secret.as_ref(), expected)
    }
}

impl<K: Kem> SupportedKxGroup for KemGroup<K> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let (key, share) = self.generate()?;
        Ok(Box::new(KemExchange {
            group: *self,
            key,
            share,
        }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (ciphertext, secret) = self.encapsulate(client_share)?;
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: ciphertext.as_ref().to_vec(),
            secret: secret.as_ref().into(),
        })
    }

    fn name(&self) -> NamedGroup {
        self.0.parameters().group()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl<K: Kem> fmt::Debug for KemGroup<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

/// The client's side of an exchange.
struct KemExchange<K: Kem> {
    group: KemGroup<K>,
    key: K::DecapsulationKey,
    share: Vec<u8>,
}

impl<K: Kem> ActiveKeyExchange for KemExchange<K> {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self.group.decapsulate(self.key, server_share)?;
        Ok(secret.as_ref().into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        self.group.name()
    }
}

/// A [`SupportedKxGroup`] over a curve and ML-KEM together, possibly from two libraries.
pub struct HybridGroup<E, K> {
    name: NamedGroup,
    /// The curve that the classical part must have.
    curve: Curve,
    first: First,
    classical: EcdhGroup<E>,
    post_quantum: KemGroup<K>,
}

impl<E: Ecdh, K: Kem> HybridGroup<E, K> {
    /// Combines X25519 with ML-KEM-768. `classical` must be X25519 and `post_quantum` must be
    /// ML-KEM-768; otherwise, each exchange fails with [`Error::General`].
    pub const fn x25519_mlkem768(classical: EcdhGroup<E>, post_quantum: KemGroup<K>) -> Self {
        Self {
            name: NamedGroup::X25519MLKEM768,
            curve: Curve::X25519,
            first: First::PostQuantum,
            classical,
            post_quantum,
        }
    }

    /// Combines P-256 with ML-KEM-768. `classical` must be P-256 and `post_quantum` must be
    /// ML-KEM-768; otherwise, each exchange fails with [`Error::General`].
    pub const fn secp256r1_mlkem768(classical: EcdhGroup<E>, post_quantum: KemGroup<K>) -> Self {
        Self {
            name: NamedGroup::secp256r1MLKEM768,
            curve: Curve::Secp256r1,
            first: First::Classical,
            classical,
            post_quantum,
        }
    }

    /// Returns an error if the parts are not the ones that the hybrid requires.
    fn check_parts(&self) -> Result<(), Error> {
        let parts = (self.classical.0.curve(), self.post_quantum.0.parameters());
        let expected = (self.curve, KemParameters::MlKem768);
        if parts == expected {
            return Ok(());
        }
        Err(Error::General(format!(
            "{:?} consists of {expected:?}, but was made of {parts:?}",
            self.name
        )))
    }
}

impl<E: Ecdh, K: Kem> SupportedKxGroup for HybridGroup<E, K> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        self.check_parts()?;
        let classical = self.classical.start()?;
        let (key, post_quantum) = self.post_quantum.generate()?;
        Ok(Box::new(HybridExchange {
            name: self.name,
            first: self.first,
            classical_share_len: self.curve.share_len(),
            share: self.first.join(classical.pub_key(), &post_quantum),
            classical,
            post_quantum: (self.post_quantum, key),
        }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        self.check_parts()?;
        let (classical, post_quantum) = self
            .first
            .split(client_share, self.curve.share_len())
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        // check this length before the computation on the curve
        if post_quantum.len() != self.post_quantum.0.parameters().client_share_len() {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let classical = self.classical.start_and_complete(classical)?;
        let (ciphertext, secret) = self.post_quantum.encapsulate(post_quantum)?;
        Ok(CompletedKeyExchange {
            group: self.name,
            pub_key: self.first.join(&classical.pub_key, ciphertext.as_ref()),
            secret: self.first.join_secrets(&classical.secret, secret.as_ref()),
        })
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    /// True if the first part is approved, because SP 800-56C allows any bytes after an approved
    /// secret.
    fn fips(&self) -> bool {
        match self.first {
            First::Classical => self.classical.fips(),
            First::PostQuantum => self.post_quantum.fips(),
        }
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl<E, K> fmt::Debug for HybridGroup<E, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// The client's side of an exchange.
struct HybridExchange<K: Kem> {
    name: NamedGroup,
    first: First,
    /// The length in bytes of the curve's shares, the same for both sides.
    classical_share_len: usize,
    classical: Box<dyn ActiveKeyExchange>,
    post_quantum: (KemGroup<K>, K::DecapsulationKey),
    share: Vec<u8>,
}

impl<K: Kem> ActiveKeyExchange for HybridExchange<K> {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let (classical, post_quantum) = self
            .first
            .split(server_share, self.classical_share_len)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        let classical = self.classical.complete(classical)?;
        let (group, key) = self.post_quantum;
        let post_quantum = group.decapsulate(key, post_quantum)?;
        Ok(self.first.join_secrets(&classical, post_quantum.as_ref()))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.classical.group(), self.classical.pub_key()))
    }

    fn complete_hybrid_component(
        self: Box<Self>,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        self.classical.complete(server_share)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

/// The part of a hybrid share or secret that comes first.
#[derive(Clone, Copy)]
enum First {
    Classical,
    PostQuantum,
}

impl First {
    fn join(self, classical: &[u8], post_quantum: &[u8]) -> Vec<u8> {
        match self {
            Self::Classical => [classical, post_quantum].concat(),
            Self::PostQuantum => [post_quantum, classical].concat(),
        }
    }

    /// Concatenates two secrets. `concat` allocates once, so it leaves no unzeroized copy of a
    /// secret.
    fn join_secrets(self, classical: &SharedSecret, post_quantum: &[u8]) -> SharedSecret {
        self.join(classical.secret_bytes(), post_quantum).into()
    }

    /// Splits `joined` into the classical and the post-quantum part; `None` if it is too short.
    fn split(self, joined: &[u8], classical_len: usize) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Classical => joined.split_at_checked(classical_len),
            Self::PostQuantum => {
                let (post_quantum, classical) =
                    joined.split_at_checked(joined.len().checked_sub(classical_len)?)?;
                Some((classical, post_quantum))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use super::*;

    /// A curve whose secrets are the first bytes of the peer's share.
    #[derive(Clone, Copy)]
    struct ToyCurve {
        curve: Curve,
        share_len: usize,
        secret_len: usize,
    }

    impl ToyCurve {
        const fn new(curve: Curve) -> Self {
            Self {
                curve,
                share_len: curve.share_len(),
                secret_len: curve.coordinate_len(),
            }
        }
    }

    impl Ecdh for ToyCurve {
        type PrivateKey = ();
        type PublicKey = Vec<u8>;

        fn curve(&self) -> Curve {
            self.curve
        }

        fn generate(&self) -> Result<((), Vec<u8>), GetRandomFailed> {
            Ok(((), share(self.share_len, 4)))
        }

        fn agree(&self, (): (), peer: &[u8]) -> Option<SharedSecret> {
            Some(peer[..self.secret_len].into())
        }
    }

    /// A KEM whose secrets are the last bytes of the server's share, the ciphertext. It rejects
    /// keys and ciphertexts that end in 0xbb.
    #[derive(Clone, Copy)]
    struct ToyKem {
        parameters: KemParameters,
        client_share_len: usize,
        server_share_len: usize,
        secret_len: usize,
    }

    impl ToyKem {
        const fn new(parameters: KemParameters) -> Self {
            Self {
                parameters,
                client_share_len: parameters.client_share_len(),
                server_share_len: parameters.server_share_len(),
                secret_len: 32,
            }
        }
    }

    impl Kem for ToyKem {
        type DecapsulationKey = ();
        type Ciphertext = Vec<u8>;
        type Secret = Vec<u8>;

        fn parameters(&self) -> KemParameters {
            self.parameters
        }

        fn generate(&self) -> Result<((), Vec<u8>), GetRandomFailed> {
            Ok(((), share(self.client_share_len, 7)))
        }

        fn encapsulate(&self, peer: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
            let ciphertext = share(self.server_share_len, 9);
            (*peer.last()? != 0xbb).then(|| (ciphertext, vec![9; self.secret_len]))
        }

        fn decapsulate(&self, (): (), ciphertext: &[u8]) -> Option<Vec<u8>> {
            let secret = &ciphertext[ciphertext.len() - self.secret_len..];
            (*ciphertext.last()? != 0xbb).then(|| secret.to_vec())
        }

        fn fips(&self) -> bool {
            true
        }
    }

    fn share(len: usize, byte: u8) -> Vec<u8> {
        vec![byte; len]
    }

    type Hybrid = HybridGroup<ToyCurve, ToyKem>;

    const KEM: KemGroup<ToyKem> = KemGroup(ToyKem::new(KemParameters::MlKem768));
    const X25519: Hybrid =
        HybridGroup::x25519_mlkem768(EcdhGroup(ToyCurve::new(Curve::X25519)), KEM);
    const P256: Hybrid =
        HybridGroup::secp256r1_mlkem768(EcdhGroup(ToyCurve::new(Curve::Secp256r1)), KEM);

    fn secret_of(completed: Result<SharedSecret, Error>) -> Result<Vec<u8>, Error> {
        completed.map(|secret| secret.secret_bytes().to_vec())
    }

    #[test]
    fn both_sides_get_the_secrets_in_the_order_of_the_shares() {
        for (group, client_share, server_share, secret) in [
            (
                &KEM as &dyn SupportedKxGroup,
                share(1184, 7),
                share(1088, 9),
                share(32, 9),
            ),
            (
                &KemGroup(ToyKem::new(KemParameters::MlKem1024)),
                share(1568, 7),
                share(1568, 9),
                share(32, 9),
            ),
            (
                &X25519,
                [share(1184, 7), share(32, 4)].concat(),
                [share(1088, 9), share(32, 4)].concat(),
                [share(32, 9), share(32, 4)].concat(),
            ),
            (
                &P256,
                [share(65, 4), share(1184, 7)].concat(),
                [share(65, 4), share(1088, 9)].concat(),
                [share(32, 4), share(32, 9)].concat(),
            ),
        ] {
            let client = group.start().unwrap();
            assert_eq!(client.pub_key(), client_share, "{group:?}");
            let server = group.start_and_complete(&client_share).unwrap();
            assert_eq!(server.pub_key, server_share, "{group:?}");
            assert_eq!(secret_of(Ok(server.secret)).unwrap(), secret, "{group:?}");
            assert_eq!(secret_of(client.complete(&server_share)).unwrap(), secret);
            assert_eq!(format!("{group:?}"), format!("{:?}", group.name()));
            assert!(group.usable_for_version(ProtocolVersion::TLSv1_3));
            assert!(!group.usable_for_version(ProtocolVersion::TLSv1_2));
        }
        // the part that comes first decides on the approval of a hybrid
        assert!(KEM.fips() && X25519.fips() && !P256.fips());
    }

    #[test]
    fn shares_of_the_wrong_length_or_refused_by_the_library_are_rejected() {
        let refused = Err(PeerMisbehaved::InvalidKeyShare.into());
        for group in [&KEM as &dyn SupportedKxGroup, &X25519, &P256] {
            let from_client = group.start().unwrap().pub_key().to_vec();
            let from_server = group.start_and_complete(&from_client).unwrap().pub_key;
            for len in [0, 1, 31, 32, 64, 65, 1087, 1089, 1183, 1185] {
                for (to_server, good) in [(true, &from_client), (false, &from_server)] {
                    let all = [0, 1, good.len() - 1, good.len() + 1, len];
                    for len in all.into_iter().filter(|len| *len != good.len()) {
                        let mut bad = good.clone();
                        bad.resize(len, 4);
                        let got = match to_server {
                            true => group.start_and_complete(&bad).map(|done| done.secret),
                            false => group.start().unwrap().complete(&bad),
                        };
                        assert_eq!(secret_of(got), refused, "{group:?}, {len} bytes");
                    }
                }
            }
        }
        let mut bad = share(1184, 7);
        bad[1183] = 0xbb;
        let got = KEM.start_and_complete(&bad).map(|done| done.secret);
        assert_eq!(secret_of(got), refused);
        bad.truncate(1088);
        bad[1087] = 0xbb;
        assert_eq!(secret_of(KEM.start().unwrap().complete(&bad)), refused);
    }

    #[test]
    fn the_classical_part_of_a_hybrid_works_alone() {
        let client = P256.start().unwrap();
        let (name, component) = client.hybrid_component().unwrap();
        assert_eq!((name, component), (NamedGroup::secp256r1, &[4; 65][..]));
        let secret = client.complete_hybrid_component(&[4; 65]);
        assert_eq!(secret_of(secret).unwrap(), [4; 32]);
    }

    #[test]
    fn outputs_of_the_wrong_length_from_the_library_are_errors() {
        let kem = KEM.0;
        let curve = ToyCurve::new(Curve::X25519);
        let with_kem = |kem| HybridGroup::x25519_mlkem768(EcdhGroup(curve), KemGroup(kem));
        let with_curve = |curve| HybridGroup::x25519_mlkem768(EcdhGroup(curve), KEM);
        for wrong in [-32_isize, -1, 1, 32] {
            let differing = |len: usize| len.wrapping_add_signed(wrong);
            // each side checks only what its own library returns
            let (mut of_client, mut of_server, mut of_both) = (kem, kem, kem);
            of_client.client_share_len = differing(of_client.client_share_len);
            of_server.server_share_len = differing(of_server.server_share_len);
            of_both.secret_len = differing(of_both.secret_len);
            for (kem, client_fails, server_fails) in [
                (of_client, true, false),
                (of_server, false, true),
                (of_both, true, true),
            ] {
                let expected = (client_fails, server_fails);
                assert_eq!(failures(&KemGroup(kem), &KEM), expected, "{wrong}");
                assert_eq!(failures(&with_kem(kem), &X25519), expected, "{wrong}");
            }
            let mut of_both = curve;
            of_both.share_len = differing(of_both.share_len);
            assert_eq!(failures(&with_curve(of_both), &X25519), (true, true));
        }
        for secret_len in [0, 31] {
            let curve = ToyCurve {
                secret_len,
                ..curve
            };
            assert_eq!(failures(&with_curve(curve), &X25519), (true, true));
        }
    }

    #[test]
    fn hybrids_of_unsuitable_parts_are_errors() {
        let [x25519, p256] =
            [Curve::X25519, Curve::Secp256r1].map(|curve| EcdhGroup(ToyCurve::new(curve)));
        let kem_1024 = KemGroup(ToyKem::new(KemParameters::MlKem1024));
        for (wrong, good) in [
            (HybridGroup::x25519_mlkem768(p256, KEM), X25519),
            (HybridGroup::x25519_mlkem768(x25519, kem_1024), X25519),
            (HybridGroup::secp256r1_mlkem768(x25519, KEM), P256),
            (HybridGroup::secp256r1_mlkem768(p256, kem_1024), P256),
        ] {
            assert_eq!(failures(&wrong, &good), (true, true), "{wrong:?}");
        }
        let wrong = HybridGroup::x25519_mlkem768(p256, KEM);
        let error = format!("{}", wrong.start().err().unwrap());
        assert!(
            error.ends_with(
                "X25519MLKEM768 consists of (X25519, MlKem768), but was made of (Secp256r1, MlKem768)"
            ),
            "{error}"
        );
    }

    /// Returns whether an exchange with `group` fails at the client, and at the server. The peer's
    /// shares come from `good`.
    fn failures(group: &dyn SupportedKxGroup, good: &dyn SupportedKxGroup) -> (bool, bool) {
        let from_client = good.start().unwrap().pub_key().to_vec();
        let from_server = good.start_and_complete(&from_client).unwrap().pub_key;
        let client = group.start();
        let client = client.and_then(|client| client.complete(&from_server));
        let server = group.start_and_complete(&from_client);
        let fails = |error| match error {
            None => false,
            Some(Error::General(_)) => true,
            Some(other) => panic!("{other:?}"),
        };
        (fails(client.err()), fails(server.err()))
    }
}
