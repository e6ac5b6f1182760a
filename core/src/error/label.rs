//! The labels of errors and alerts: names for metrics and alerting rules, as tables.
//!
//! Labels are spelled out, so that no renaming of a variant can change one. To add a variant, give
//! it a label here, and add that to `docs/error-labels.txt`.

use super::{
    CertRevocationListError, CertificateError, EncryptedClientHelloError, Error, InconsistentKeys,
    InvalidMessage, PeerIncompatible, PeerMisbehaved,
};
use crate::enums::AlertDescription;

impl Error {
    /// Returns a short, stable name for this kind of error, such as `decrypt_error` or
    /// `alert_received.bad_certificate`. Use it to count failures by cause.
    ///
    /// A label is the variant's name in snake case, then a dot and the name of the cause, if there
    /// is one. Alerts have the names of the RFCs. A variant with context has the label of its plain
    /// counterpart: `ExpiredContext` is `invalid_certificate.expired`.
    ///
    /// There are about two hundred labels, few enough for one time series each. None contains text
    /// from a peer or an application: [`Self::General`], [`Self::Other`] and unknown alerts have
    /// one label each. Later versions may add labels, but never change or remove one.
    /// `docs/error-labels.txt` in the repository lists all of them.
    ///
    /// # Example
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use rustls_core::error::{CertificateError, Error};
    ///
    /// let mut failures = BTreeMap::<&str, u64>::new();
    /// for error in [
    ///     Error::InvalidCertificate(CertificateError::Expired),
    ///     Error::DecryptError,
    ///     Error::DecryptError,
    /// ] {
    ///     *failures.entry(error.label()).or_default() += 1;
    /// }
    /// assert_eq!(failures["decrypt_error"], 2);
    /// assert_eq!(failures["invalid_certificate.expired"], 1);
    /// ```
    pub fn label(&self) -> &'static str {
        match self {
            Self::AlertReceived(alert) => received(*alert),
            Self::InconsistentKeys(cause) => cause.label(),
            Self::InvalidCertificate(cause) => cause.label(),
            Self::InvalidCertRevocationList(cause) => cause.label(),
            Self::InvalidEncryptedClientHello(cause) => cause.label(),
            Self::InvalidMessage(cause) => cause.label(),
            Self::PeerIncompatible(cause) => cause.label(),
            Self::PeerMisbehaved(cause) => cause.label(),

            Self::BadMaxFragmentSize => "bad_max_fragment_size",
            Self::DecryptError => "decrypt_error",
            Self::EncryptError => "encrypt_error",
            Self::FailedToGetCurrentTime => "failed_to_get_current_time",
            Self::FailedToGetRandomBytes => "failed_to_get_random_bytes",
            Self::General(_) => "general",
            Self::HandshakeNotComplete => "handshake_not_complete",
            Self::InappropriateHandshakeMessage { .. } => "inappropriate_handshake_message",
            Self::InappropriateMessage { .. } => "inappropriate_message",
            Self::NoApplicationProtocol => "no_application_protocol",
            Self::NoCertificatesPresented => "no_certificates_presented",
            Self::Other(_) => "other",
            Self::PeerSentOversizedRecord => "peer_sent_oversized_record",
            Self::UnsupportedNameType => "unsupported_name_type",
        }
    }
}

/// Defines `label` for an enum of causes: the group, a dot, and the cause.
macro_rules! labels {
    ($enum:ident in $group:literal { $($($variant:ident)|+ => $cause:literal,)+ }) => {
        impl $enum {
            #[allow(deprecated)] // the match names every variant
            fn label(&self) -> &'static str {
                match self {
                    $($(Self::$variant { .. })|+ => concat!($group, ".", $cause),)+
                }
            }
        }
    };
}

labels! {
    InvalidMessage in "invalid_message" {
        CertificatePayloadTooLarge => "certificate_payload_too_large",
        DuplicateExtension => "duplicate_extension",
        EmptyTicketValue => "empty_ticket_value",
        HandshakePayloadTooLarge => "handshake_payload_too_large",
        IllegalEmptyList => "illegal_empty_list",
        IllegalEmptyValue => "illegal_empty_value",
        InvalidCcs => "invalid_ccs",
        InvalidCertRequest => "invalid_cert_request",
        InvalidCertificateStatusType => "invalid_certificate_status_type",
        InvalidContentType => "invalid_content_type",
        InvalidDhParams => "invalid_dh_params",
        InvalidEmptyPayload => "invalid_empty_payload",
        InvalidKeyUpdate => "invalid_key_update",
        InvalidServerName => "invalid_server_name",
        MessageTooLarge => "message_too_large",
        MessageTooShort => "message_too_short",
        MissingData => "missing_data",
        MissingKeyExchange => "missing_key_exchange",
        NoSignatureSchemes => "no_signature_schemes",
        PreSharedKeyIsNotFinalExtension => "pre_shared_key_is_not_final_extension",
        TrailingData => "trailing_data",
        UnexpectedMessage => "unexpected_message",
        UnknownCertificateExtension => "unknown_certificate_extension",
        UnknownHelloRetryRequestExtension => "unknown_hello_retry_request_extension",
        UnknownProtocolVersion => "unknown_protocol_version",
        UnsupportedCompression => "unsupported_compression",
        UnsupportedCurveType => "unsupported_curve_type",
        UnsupportedKeyExchangeAlgorithm => "unsupported_key_exchange_algorithm",
    }
}

labels! {
    PeerMisbehaved in "peer_misbehaved" {
        AttemptedDowngradeToTls12WhenTls13IsSupported =>
            "attempted_downgrade_to_tls12_when_tls13_is_supported",
        BadCertChainExtensions => "bad_cert_chain_extensions",
        CipherSuiteDifferedOnRetry => "cipher_suite_differed_on_retry",
        DisallowedEncryptedExtension => "disallowed_encrypted_extension",
        DuplicateClientHelloExtensions => "duplicate_client_hello_extensions",
        DuplicateEncryptedExtensions => "duplicate_encrypted_extensions",
        DuplicateHelloRetryRequestExtensions => "duplicate_hello_retry_request_extensions",
        DuplicateNewSessionTicketExtensions => "duplicate_new_session_ticket_extensions",
        DuplicateServerHelloExtensions => "duplicate_server_hello_extensions",
        DuplicateServerNameTypes => "duplicate_server_name_types",
        EarlyDataAttemptedInSecondClientHello => "early_data_attempted_in_second_client_hello",
        EarlyDataExtensionWithoutResumption => "early_data_extension_without_resumption",
        EarlyDataOfferedWithVariedCipherSuite => "early_data_offered_with_varied_cipher_suite",
        EchAcceptanceVariedAfterRetry => "ech_acceptance_varied_after_retry",
        HandshakeHashVariedAfterRetry => "handshake_hash_varied_after_retry",
        IllegalHelloRetryRequestWithEmptyCookie => "illegal_hello_retry_request_with_empty_cookie",
        IllegalHelloRetryRequestWithNoChanges => "illegal_hello_retry_request_with_no_changes",
        IllegalHelloRetryRequestWithOfferedGroup =>
            "illegal_hello_retry_request_with_offered_group",
        IllegalHelloRetryRequestWithUnofferedCipherSuite =>
            "illegal_hello_retry_request_with_unoffered_cipher_suite",
        IllegalHelloRetryRequestWithUnofferedNamedGroup =>
            "illegal_hello_retry_request_with_unoffered_named_group",
        IllegalHelloRetryRequestWithUnsupportedVersion =>
            "illegal_hello_retry_request_with_unsupported_version",
        IllegalHelloRetryRequestWithWrongSessionId =>
            "illegal_hello_retry_request_with_wrong_session_id",
        IllegalHelloRetryRequestWithInvalidEch => "illegal_hello_retry_request_with_invalid_ech",
        IllegalMiddleboxChangeCipherSpec => "illegal_middlebox_change_cipher_spec",
        IllegalTlsInnerPlaintext => "illegal_tls_inner_plaintext",
        IncorrectBinder => "incorrect_binder",
        InvalidCertCompression => "invalid_cert_compression",
        InvalidMaxEarlyDataSize => "invalid_max_early_data_size",
        InvalidKeyShare => "invalid_key_share",
        KeyEpochWithPendingFragment => "key_epoch_with_pending_fragment",
        KeyUpdateReceivedInQuicConnection => "key_update_received_in_quic_connection",
        MessageInterleavedWithHandshakeMessage => "message_interleaved_with_handshake_message",
        MissingBinderInPskExtension => "missing_binder_in_psk_extension",
        MissingKeyShare => "missing_key_share",
        MissingPskExtensionInSecondClientHello => "missing_psk_extension_in_second_client_hello",
        MissingPskModesExtension => "missing_psk_modes_extension",
        MissingQuicTransportParameters => "missing_quic_transport_parameters",
        OfferedDuplicateCertificateCompressions => "offered_duplicate_certificate_compressions",
        OfferedDuplicateKeyShares => "offered_duplicate_key_shares",
        OfferedEarlyDataWithOldProtocolVersion => "offered_early_data_with_old_protocol_version",
        OfferedEmptyApplicationProtocol => "offered_empty_application_protocol",
        OfferedIncorrectCompressions => "offered_incorrect_compressions",
        PskExtensionMustBeLast => "psk_extension_must_be_last",
        PskExtensionWithMismatchedIdsAndBinders => "psk_extension_with_mismatched_ids_and_binders",
        RefusedToFollowHelloRetryRequest => "refused_to_follow_hello_retry_request",
        RejectedEarlyDataInterleavedWithHandshakeMessage =>
            "rejected_early_data_interleaved_with_handshake_message",
        ResumptionAttemptedWithVariedEms => "resumption_attempted_with_varied_ems",
        ResumptionOfferedWithVariedCipherSuite => "resumption_offered_with_varied_cipher_suite",
        ResumptionOfferedWithVariedEms => "resumption_offered_with_varied_ems",
        ResumptionOfferedWithIncompatibleCipherSuite =>
            "resumption_offered_with_incompatible_cipher_suite",
        SelectedDifferentCipherSuiteAfterRetry => "selected_different_cipher_suite_after_retry",
        SelectedInvalidPsk => "selected_invalid_psk",
        SelectedTls12UsingTls13VersionExtension => "selected_tls12_using_tls13_version_extension",
        SelectedUnofferedApplicationProtocol => "selected_unoffered_application_protocol",
        SelectedUnofferedCertCompression => "selected_unoffered_cert_compression",
        SelectedUnofferedCipherSuite => "selected_unoffered_cipher_suite",
        SelectedUnofferedCompression => "selected_unoffered_compression",
        SelectedUnofferedKxGroup => "selected_unoffered_kx_group",
        SelectedUnofferedPsk => "selected_unoffered_psk",
        SelectedUnusableCipherSuiteForVersion => "selected_unusable_cipher_suite_for_version",
        ServerEchoedCompatibilitySessionId => "server_echoed_compatibility_session_id",
        ServerHelloMustOfferUncompressedEcPoints =>
            "server_hello_must_offer_uncompressed_ec_points",
        ServerNameDifferedOnRetry => "server_name_differed_on_retry",
        ServerNameMustContainOneHostName => "server_name_must_contain_one_host_name",
        SignedKxWithWrongAlgorithm => "signed_kx_with_wrong_algorithm",
        SignedHandshakeWithUnadvertisedSigScheme => "signed_handshake_with_unadvertised_sig_scheme",
        TooManyEmptyFragments => "too_many_empty_fragments",
        TooManyKeyUpdateRequests => "too_many_key_update_requests",
        TooManyRenegotiationRequests => "too_many_renegotiation_requests",
        TooManyWarningAlertsReceived => "too_many_warning_alerts_received",
        TooMuchEarlyDataReceived => "too_much_early_data_received",
        UnexpectedCleartextExtension => "unexpected_cleartext_extension",
        UnsolicitedCertExtension => "unsolicited_cert_extension",
        UnsolicitedEncryptedExtension => "unsolicited_encrypted_extension",
        UnsolicitedSctList => "unsolicited_sct_list",
        UnsolicitedServerHelloExtension => "unsolicited_server_hello_extension",
        WrongGroupForKeyShare => "wrong_group_for_key_share",
        UnsolicitedEchExtension => "unsolicited_ech_extension",
    }
}

labels! {
    PeerIncompatible in "peer_incompatible" {
        EcPointsExtensionRequired => "ec_points_extension_required",
        ExtendedMasterSecretExtensionRequired => "extended_master_secret_extension_required",
        IncorrectCertificateTypeExtension => "incorrect_certificate_type_extension",
        KeyShareExtensionRequired => "key_share_extension_required",
        NamedGroupsExtensionRequired => "named_groups_extension_required",
        NoCertificateRequestSignatureSchemesInCommon =>
            "no_certificate_request_signature_schemes_in_common",
        NoCipherSuitesInCommon => "no_cipher_suites_in_common",
        NoEcPointFormatsInCommon => "no_ec_point_formats_in_common",
        NoKxGroupsInCommon => "no_kx_groups_in_common",
        NoSignatureSchemesInCommon => "no_signature_schemes_in_common",
        NullCompressionRequired => "null_compression_required",
        ServerDoesNotSupportTls12Or13 => "server_does_not_support_tls12_or13",
        ServerRejectedEncryptedClientHello => "server_rejected_encrypted_client_hello",
        ServerSentHelloRetryRequestWithUnknownExtension =>
            "server_sent_hello_retry_request_with_unknown_extension",
        ServerTlsVersionIsDisabledByOurConfig => "server_tls_version_is_disabled_by_our_config",
        SignatureAlgorithmsExtensionRequired => "signature_algorithms_extension_required",
        SupportedVersionsExtensionRequired => "supported_versions_extension_required",
        Tls12NotOffered => "tls12_not_offered",
        Tls12NotOfferedOrEnabled => "tls12_not_offered_or_enabled",
        Tls13RequiredForQuic => "tls13_required_for_quic",
        UncompressedEcPointsRequired => "uncompressed_ec_points_required",
        UnsolicitedCertificateTypeExtension => "unsolicited_certificate_type_extension",
    }
}

labels! {
    CertificateError in "invalid_certificate" {
        BadEncoding => "bad_encoding",
        Expired | ExpiredContext => "expired",
        NotValidYet | NotValidYetContext => "not_valid_yet",
        Revoked => "revoked",
        UnhandledCriticalExtension => "unhandled_critical_extension",
        UnknownIssuer => "unknown_issuer",
        UnknownRevocationStatus => "unknown_revocation_status",
        ExpiredRevocationList | ExpiredRevocationListContext => "expired_revocation_list",
        BadSignature => "bad_signature",
        UnsupportedSignatureAlgorithm | UnsupportedSignatureAlgorithmContext =>
            "unsupported_signature_algorithm",
        UnsupportedSignatureAlgorithmForPublicKeyContext =>
            "unsupported_signature_algorithm_for_public_key",
        NotValidForName | NotValidForNameContext => "not_valid_for_name",
        InvalidPurpose | InvalidPurposeContext => "invalid_purpose",
        InvalidOcspResponse => "invalid_ocsp_response",
        ApplicationVerificationFailure => "application_verification_failure",
        Other => "other",
    }
}

labels! {
    CertRevocationListError in "invalid_cert_revocation_list" {
        BadSignature => "bad_signature",
        UnsupportedSignatureAlgorithm | UnsupportedSignatureAlgorithmContext =>
            "unsupported_signature_algorithm",
        UnsupportedSignatureAlgorithmForPublicKeyContext =>
            "unsupported_signature_algorithm_for_public_key",
        InvalidCrlNumber => "invalid_crl_number",
        InvalidRevokedCertSerialNumber => "invalid_revoked_cert_serial_number",
        IssuerInvalidForCrl => "issuer_invalid_for_crl",
        ParseError => "parse_error",
        UnsupportedCrlVersion => "unsupported_crl_version",
        UnsupportedCriticalExtension => "unsupported_critical_extension",
        UnsupportedDeltaCrl => "unsupported_delta_crl",
        UnsupportedIndirectCrl => "unsupported_indirect_crl",
        UnsupportedRevocationReason => "unsupported_revocation_reason",
        Other => "other",
    }
}

labels! {
    EncryptedClientHelloError in "invalid_encrypted_client_hello" {
        InvalidConfigList => "invalid_config_list",
        NoCompatibleConfig => "no_compatible_config",
        SniRequired => "sni_required",
    }
}

labels! {
    InconsistentKeys in "inconsistent_keys" {
        KeyMismatch => "key_mismatch",
        Unknown => "unknown",
    }
}

/// Defines the labels of alerts, alone and as the causes of errors.
macro_rules! alerts {
    ($($variant:ident => $name:literal,)+) => {
        impl AlertDescription {
            /// All labels.
            pub const LABELS: &'static [&'static str] = &[$($name),+];

            /// Returns a short, stable name for metrics: the alert's name in its RFC, such as
            /// `bad_certificate`, or `unknown` for all values without a name. Later versions may
            /// add labels, but never change or remove one.
            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)+
                }
            }
        }

        /// Returns the label of the error that `alert` causes.
        fn received(alert: AlertDescription) -> &'static str {
            match alert {
                $(AlertDescription::$variant { .. } => concat!("alert_received.", $name),)+
            }
        }
    };
}

alerts! {
    CloseNotify => "close_notify",
    UnexpectedMessage => "unexpected_message",
    BadRecordMac => "bad_record_mac",
    DecryptionFailed => "decryption_failed",
    RecordOverflow => "record_overflow",
    DecompressionFailure => "decompression_failure",
    HandshakeFailure => "handshake_failure",
    NoCertificate => "no_certificate",
    BadCertificate => "bad_certificate",
    UnsupportedCertificate => "unsupported_certificate",
    CertificateRevoked => "certificate_revoked",
    CertificateExpired => "certificate_expired",
    CertificateUnknown => "certificate_unknown",
    IllegalParameter => "illegal_parameter",
    UnknownCA => "unknown_ca",
    AccessDenied => "access_denied",
    DecodeError => "decode_error",
    DecryptError => "decrypt_error",
    ExportRestriction => "export_restriction",
    ProtocolVersion => "protocol_version",
    InsufficientSecurity => "insufficient_security",
    InternalError => "internal_error",
    InappropriateFallback => "inappropriate_fallback",
    UserCanceled => "user_canceled",
    NoRenegotiation => "no_renegotiation",
    MissingExtension => "missing_extension",
    UnsupportedExtension => "unsupported_extension",
    CertificateUnobtainable => "certificate_unobtainable",
    UnrecognisedName => "unrecognized_name",
    BadCertificateStatusResponse => "bad_certificate_status_response",
    BadCertificateHashValue => "bad_certificate_hash_value",
    UnknownPSKIdentity => "unknown_psk_identity",
    CertificateRequired => "certificate_required",
    NoApplicationProtocol => "no_application_protocol",
    EncryptedClientHelloRequired => "ech_required",
    Unknown => "unknown",
}
