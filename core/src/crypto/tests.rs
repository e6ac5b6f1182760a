use alloc::format;

use super::*;

#[test]
fn debug_of_verification_algorithms_lists_schemes() {
    let algorithms = WebPkiSupportedAlgorithms {
        all: &[],
        mapping: &[
            (SignatureScheme::ED25519, &[]),
            (SignatureScheme::RSA_PSS_SHA256, &[]),
        ],
    };
    assert_eq!(
        format!("{algorithms:?}"),
        "WebPkiSupportedAlgorithms { all: [ .. ], mapping: [ED25519, RSA_PSS_SHA256] }"
    );
    assert_eq!(
        algorithms.supported_schemes(),
        [SignatureScheme::ED25519, SignatureScheme::RSA_PSS_SHA256]
    );
    assert!(algorithms.fips());
}
