//! Key exchange over elliptic curves.

use std::marker::PhantomData;

use p256::elliptic_curve::ecdh::EphemeralSecret;
use p256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use p256::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize, Generate, PublicKey};
use rustls::crypto::blocks::{Curve, Ecdh};
use rustls::crypto::{GetRandomFailed, SharedSecret};

#[derive(Clone, Copy)]
pub(crate) struct X25519;

impl Ecdh for X25519 {
    type PrivateKey = x25519_dalek::EphemeralSecret;
    type PublicKey = x25519_dalek::PublicKey;

    fn curve(&self) -> Curve {
        Curve::X25519
    }

    fn generate(&self) -> Result<(Self::PrivateKey, Self::PublicKey), GetRandomFailed> {
        let private_key = x25519_dalek::EphemeralSecret::random();
        let public_key = (&private_key).into();
        Ok((private_key, public_key))
    }

    fn agree(&self, private_key: Self::PrivateKey, peer: &[u8]) -> Option<SharedSecret> {
        let peer = <[u8; 32]>::try_from(peer).ok()?;
        let secret = private_key.diffie_hellman(&peer.into());
        Some(secret.as_bytes()[..].into())
    }
}

/// A NIST curve.
#[derive(Clone, Copy)]
pub(crate) struct NistCurve<C>(Curve, PhantomData<C>);

impl<C> NistCurve<C> {
    pub(crate) const fn new(curve: Curve) -> Self {
        Self(curve, PhantomData)
    }
}

impl<C> Ecdh for NistCurve<C>
where
    C: CurveArithmetic + Copy + Send + Sync + 'static,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    type PrivateKey = EphemeralSecret<C>;
    type PublicKey = Vec<u8>;

    fn curve(&self) -> Curve {
        self.0
    }

    fn generate(&self) -> Result<(EphemeralSecret<C>, Vec<u8>), GetRandomFailed> {
        let private_key = EphemeralSecret::try_generate().map_err(|_| GetRandomFailed)?;
        let point = private_key.public_key().to_sec1_point(false);
        Ok((private_key, point.as_bytes().to_vec()))
    }

    fn agree(&self, private_key: EphemeralSecret<C>, peer: &[u8]) -> Option<SharedSecret> {
        let peer = PublicKey::<C>::from_sec1_bytes(peer).ok()?;
        let secret = private_key.diffie_hellman(&peer);
        Some(secret.raw_secret_bytes()[..].into())
    }
}
