//! Named sets of algorithms, as lists of what a configuration may use.

use rustls::{CipherSuite, NamedGroup, SignatureScheme};

use crate::options::Policy;

/// The algorithms that a policy allows, in order of preference.
pub(crate) struct Allowed {
    pub(crate) suites: &'static [CipherSuite],
    /// `None` for the default groups.
    pub(crate) groups: Option<&'static [NamedGroup]>,
    pub(crate) schemes: Option<&'static [SignatureScheme]>,
}

/// The schemes of both versions of CNSA.
const CNSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PKCS1_SHA384,
];

impl Policy {
    /// The lists of the policy.
    pub(crate) fn allowed(self) -> Allowed {
        match self {
            Self::Fips202205 => Allowed {
                suites: &[
                    CipherSuite::TLS13_AES_128_GCM_SHA256,
                    CipherSuite::TLS13_AES_256_GCM_SHA384,
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                ],
                groups: Some(&[NamedGroup::secp256r1, NamedGroup::secp384r1]),
                schemes: Some(&[
                    SignatureScheme::RSA_PKCS1_SHA256,
                    SignatureScheme::RSA_PKCS1_SHA384,
                    SignatureScheme::RSA_PKCS1_SHA512,
                    SignatureScheme::ECDSA_NISTP256_SHA256,
                    SignatureScheme::ECDSA_NISTP384_SHA384,
                    SignatureScheme::RSA_PSS_SHA256,
                    SignatureScheme::RSA_PSS_SHA384,
                    SignatureScheme::RSA_PSS_SHA512,
                ]),
            },
            Self::Wpa202304 => Allowed {
                suites: &[
                    CipherSuite::TLS13_AES_256_GCM_SHA384,
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                ],
                groups: Some(&[NamedGroup::secp384r1]),
                schemes: Some(&[
                    SignatureScheme::RSA_PKCS1_SHA384,
                    SignatureScheme::RSA_PKCS1_SHA512,
                    SignatureScheme::ECDSA_NISTP384_SHA384,
                    SignatureScheme::RSA_PSS_SHA384,
                    SignatureScheme::RSA_PSS_SHA512,
                ]),
            },
            Self::Cnsa202407 => Allowed {
                suites: &[
                    CipherSuite::TLS13_AES_256_GCM_SHA384,
                    CipherSuite::TLS13_AES_128_GCM_SHA256,
                    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
                ],
                groups: None,
                schemes: None,
            },
            Self::Cnsa1_202603 => Allowed {
                suites: &[
                    CipherSuite::TLS13_AES_256_GCM_SHA384,
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                ],
                groups: Some(&[NamedGroup::MLKEM1024, NamedGroup::secp384r1]),
                schemes: Some(CNSA_SCHEMES),
            },
            Self::Cnsa2_202603 => Allowed {
                suites: &[CipherSuite::TLS13_AES_256_GCM_SHA384],
                groups: Some(&[NamedGroup::MLKEM1024]),
                schemes: Some(CNSA_SCHEMES),
            },
        }
    }
}
