//! Certificates that are valid, or invalid in one way that a test chooses: a root, and certificates
//! issued under it.

use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationList,
    CertificateRevocationListParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData, RevokedCertParams, SerialNumber,
    date_time_ymd,
};

pub type Issuer = CertifiedIssuer<'static, KeyPair>;

/// The name of every server here.
pub const SERVER: &str = "server.example";

/// Returns a time within the validity of every certificate here: 2023-11-14.
pub fn now() -> UnixTime {
    at(1_700_000_000)
}

pub fn at(secs: u64) -> UnixTime {
    UnixTime::since_unix_epoch(core::time::Duration::from_secs(secs))
}

pub fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap()
}

/// Creates a root with this name. `change` modifies its parameters.
pub fn root(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Issuer {
    let mut params = ca_params(name);
    change(&mut params);
    CertifiedIssuer::self_signed(params, key()).unwrap()
}

/// Creates an intermediate under `issuer`.
pub fn intermediate(
    name: &str,
    issuer: &Issuer,
    change: impl FnOnce(&mut CertificateParams),
) -> Issuer {
    let mut params = ca_params(name);
    change(&mut params);
    CertifiedIssuer::signed_by(params, key(), issuer).unwrap()
}

/// Creates a certificate for [`SERVER`] under `issuer`, usable by servers and clients.
pub fn leaf(
    issuer: &Issuer,
    change: impl FnOnce(&mut CertificateParams),
) -> CertificateDer<'static> {
    leaf_of(&key(), issuer, change)
}

/// Creates a certificate for [`SERVER`] and `key` under `issuer`, usable by servers and clients.
pub fn leaf_of(
    key: &KeyPair,
    issuer: &Issuer,
    change: impl FnOnce(&mut CertificateParams),
) -> CertificateDer<'static> {
    let mut params = params(SERVER);
    params.subject_alt_names = CertificateParams::new([SERVER.to_string()])
        .unwrap()
        .subject_alt_names;
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    change(&mut params);
    params.signed_by(key, issuer).unwrap().der().clone()
}

/// Creates a revocation list from `issuer` with these serial numbers.
pub fn crl(
    issuer: &Issuer,
    revoked: &[u8],
    change: impl FnOnce(&mut CertificateRevocationListParams),
) -> CertificateRevocationListDer<'static> {
    let revoked = revoked.iter().copied().map(u64::from);
    crl_of(issuer, revoked, change).der().clone()
}

/// Like [`crl`], but takes any serial numbers and returns the `CertificateRevocationList`, not just
/// its DER.
pub fn crl_of(
    issuer: &Issuer,
    revoked: impl IntoIterator<Item = u64>,
    change: impl FnOnce(&mut CertificateRevocationListParams),
) -> CertificateRevocationList {
    let mut params = CertificateRevocationListParams {
        this_update: date_time_ymd(2023, 1, 1),
        next_update: date_time_ymd(2024, 1, 1),
        crl_number: SerialNumber::from(7),
        issuing_distribution_point: None,
        revoked_certs: revoked.into_iter().map(revocation).collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    change(&mut params);
    params.signed_by(issuer).unwrap()
}

fn revocation(serial: u64) -> RevokedCertParams {
    RevokedCertParams {
        serial_number: SerialNumber::from(serial),
        revocation_time: date_time_ymd(2023, 1, 1),
        reason_code: Some(rcgen::RevocationReason::KeyCompromise),
        invalidity_date: None,
    }
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2030, 1, 1);
    params
}

/// Returns `key` as a raw public key (RFC 7250).
pub fn raw_public_key(key: &KeyPair) -> CertificateDer<'static> {
    key.subject_public_key_info().into()
}
