//! The intended differences between the answers of this crate and of upstream to wrong bytes, with
//! reasons.

mod noted;

pub use noted::noted;

/// An intended difference.
///
/// Patterns are `error / alert`: the error as printed, and the alert as a number or `none`. A `*`
/// matches anything.
pub struct Deviation {
    pub ours: &'static str,
    pub theirs: &'static str,
    /// A substring of the case's description; a `*` in it matches anything, too.
    pub case: &'static str,
    /// The reason: the RFC's MUST, if there is one.
    pub because: &'static str,
}

impl Deviation {
    /// True if the two outcomes of a case differ in this way.
    pub fn covers(&self, ours: &str, theirs: &str, case: &str) -> bool {
        let within = ["*", self.case, "*"].concat();
        matches(self.ours, ours) && matches(self.theirs, theirs) && matches(&within, case)
    }
}

/// The index in [`DEVIATIONS`] of the deviation between these outcomes of a case.
pub fn find(ours: &str, theirs: &str, case: &str) -> Option<usize> {
    let covers = |deviation: &Deviation| deviation.covers(ours, theirs, case);
    DEVIATIONS.iter().position(covers)
}

/// True if `name` matches `pattern`, in which each `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, pattern)) => name.strip_prefix(start).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(pattern, &rest[at..]))
        }),
    }
}

/// Creates an entry of the table; the arguments are the fields in their order.
pub const fn deviation(
    ours: &'static str,
    theirs: &'static str,
    case: &'static str,
    because: &'static str,
) -> Deviation {
    Deviation {
        ours,
        theirs,
        case,
        because,
    }
}

#[rustfmt::skip] // a table
pub const DEVIATIONS: [Deviation; 91] = [
    // Alerts of the peer
    deviation(
        "AlertReceived(*) / none",
        "AlertReceived(*) / 50",
        "",
        "RFC 9846 §6.2: an error alert ends the connection, whatever its level, and nothing is sent after it",
    ),
    // Limits that upstream enforces without an alert
    deviation(
        "InvalidMessage(HandshakePayloadTooLarge) / 50",
        "InvalidMessage(HandshakePayloadTooLarge) / none",
        "",
        "RFC 9846 §6: a length out of range is a decode_error",
    ),
    deviation(
        "PeerMisbehaved(TooManyEmptyFragments) / 10",
        "PeerMisbehaved(TooManyEmptyFragments) / none",
        "",
        "send the alert",
    ),
    // Records
    deviation(
        "PeerSentOversizedRecord / 22",
        "*",
        "",
        "RFC 9846 §5.1: a record of more than 2^14 bytes in the clear is a record_overflow, whatever is in it",
    ),
    deviation(
        "PeerMisbehaved(IllegalTlsInnerPlaintext) / 10",
        "PeerMisbehaved(IllegalTlsInnerPlaintext) / none",
        "",
        "RFC 9846 §5.4: a plaintext of zeros is an unexpected_message",
    ),
    deviation(
        "PeerMisbehaved(IllegalTlsInnerPlaintext) / 10",
        "none / none",
        "",
        "RFC 9846 §5.4: an empty handshake record is an unexpected_message",
    ),
    deviation(
        "PeerMisbehaved(IllegalTlsInnerPlaintext) / 10",
        "InvalidMessage(MissingData(\"AlertLevel\")) / 50",
        "",
        "RFC 9846 §5.4: an empty alert is an unexpected_message",
    ),
    deviation(
        "* / 10",
        "PeerMisbehaved(MessageInterleavedWithHandshakeMessage) / none",
        "",
        "RFC 9846 §5.1: handshake messages must not be interleaved; send the alert, whatever came between",
    ),
    deviation(
        "InvalidMessage(InvalidContentType) / 50",
        "PeerMisbehaved(MessageInterleavedWithHandshakeMessage) / none",
        "",
        "send the alert; the record in between is not TLS at all",
    ),
    deviation(
        "PeerMisbehaved(MessageInterleavedWithHandshakeMessage) / 10",
        "DecryptError / 20",
        "",
        "RFC 9846 §5.1: nor with change_cipher_spec",
    ),
    deviation(
        "InappropriateMessage { expect_types: [ApplicationData], got_type: Handshake } / 10",
        "InvalidMessage(*) / 50",
        "of 1.2",
        "after a handshake of TLS 1.2, messages that must not come are refused undecoded",
    ),
    deviation(
        "InvalidMessage(UnknownProtocolVersion) / 50",
        "*",
        "",
        "only versions of TLS are valid in a record; upstream accepts those of SSL 2 and DTLS, too",
    ),
    // change_cipher_spec
    deviation(
        "*",
        "InappropriateMessage { expect_types: [Handshake], got_type: ChangeCipherSpec } / 10",
        ": change_cipher_spec first",
        "RFC 9846 §5: a client drops it before the ServerHello, too",
    ),
    deviation(
        "PeerMisbehaved(IllegalMiddleboxChangeCipherSpec) / 10",
        "PeerMisbehaved(IllegalMiddleboxChangeCipherSpec) / none",
        "",
        "RFC 9846 §5: unexpected_message",
    ),
    deviation(
        "PeerMisbehaved(IllegalMiddleboxChangeCipherSpec) / 10",
        "InvalidMessage(*) / 50",
        "",
        "RFC 9846 §5: any other value is an unexpected_message",
    ),
    deviation(
        "InappropriateMessage { * got_type: ChangeCipherSpec } / 10",
        "InvalidMessage(*) / 50",
        "",
        "RFC 9846 §5: before and after the handshake it is an unexpected_message, whatever its value",
    ),
    // Handshake messages
    deviation(
        "InappropriateHandshakeMessage { * } / 10",
        "InvalidMessage(*) / 50",
        "",
        "RFC 9846 §4: a message in the wrong place is an unexpected_message, well-formed or not",
    ),
    deviation(
        "InvalidMessage(MissingData(\"Finished\")) / 50",
        "DecryptError / 51",
        "",
        "RFC 9846 §6.2: a message of incorrect length is a decode_error",
    ),
    deviation(
        "InvalidMessage(TrailingData(\"Finished\")) / 50",
        "DecryptError / 51",
        "",
        "RFC 9846 §6.2: a message of incorrect length is a decode_error",
    ),
    deviation(
        "NoCertificatesPresented / 50",
        "InappropriateHandshakeMessage { * } / 10",
        "",
        "RFC 9846 §4.5.1: a server's empty Certificate is a decode_error, whatever follows",
    ),
    // ClientHello
    deviation(
        "General(\"QUIC's transport parameters came over TLS records\") / 110",
        "*",
        "",
        "RFC 9001 §8.2: an unsupported_extension where the transport is not QUIC",
    ),
    deviation(
        "PeerIncompatible(Tls12NotOffered) / 70",
        "none / none",
        "",
        "RFC 9846 §4.2.2: legacy_version other than 0x0303 is a protocol_version",
    ),
    deviation(
        "PeerIncompatible(SupportedVersionsExtensionRequired) / 70",
        "*",
        "",
        "RFC 9846 §E.2: without supported_versions it is a protocol_version, whatever else is missing",
    ),
    deviation(
        "PeerIncompatible(SignatureAlgorithmsExtensionRequired) / 109",
        "PeerIncompatible(SignatureAlgorithmsExtensionRequired) / 40",
        "",
        "RFC 9846 §9.2: missing_extension",
    ),
    deviation(
        "PeerIncompatible(KeyShareExtensionRequired) / 109",
        "PeerIncompatible(KeyShareExtensionRequired) / 40",
        "",
        "RFC 9846 §9.2: missing_extension",
    ),
    deviation(
        "PeerIncompatible(NamedGroupsExtensionRequired) / 109",
        "PeerIncompatible(NoKxGroupsInCommon) / 40",
        "",
        "RFC 9846 §9.2: missing_extension",
    ),
    deviation(
        "PeerMisbehaved(ServerNameDifferedOnRetry) / 47",
        "PeerMisbehaved(ServerNameDifferedOnRetry) / none",
        "",
        "send the alert",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "PeerIncompatible(NoKxGroupsInCommon) / 40",
        "",
        "RFC 9846 §4.2.2: the second ClientHello has the share asked for; RFC 9846 §6: what is semantically invalid is an illegal_parameter",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "none / none",
        "ClientHello",
        "RFC 9846 §4.2.2: the second ClientHello equals the first, except for the changes that the HelloRetryRequest demands",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "PeerIncompatible(NoSignatureSchemesInCommon) / 40",
        "second ClientHello",
        "as above, whatever it offers",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "PeerMisbehaved(MissingQuicTransportParameters) / 109",
        "second ClientHello* over QUIC",
        "as above",
    ),
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "InvalidMessage(InvalidContentType) / 50",
        "second ClientHello: doubled",
        "as above; upstream reads on at the next byte, where no record begins",
    ),
    deviation(
        "none / none",
        "InvalidMessage(*) / 50",
        "0xfd00",
        "servers do not know ECH; RFC 9846 §4.2.2: they ignore unrecognized extensions",
    ),
    deviation(
        "none / none",
        "InvalidMessage(*) / 50",
        "0xfe0d",
        "as above",
    ),
    // ServerHello and HelloRetryRequest
    deviation(
        "PeerIncompatible(ServerDoesNotSupportTls12Or13) / 70",
        "none / none",
        "HelloRetryRequest",
        "RFC 9846 §4.2.3, §4.2.4: legacy_version other than 0x0303 is a protocol_version",
    ),
    deviation(
        "PeerMisbehaved(IllegalHelloRetryRequestWithUnsupportedVersion) / 47",
        "PeerMisbehaved(IllegalHelloRetryRequestWithNoChanges) / 47",
        "",
        "RFC 9846 §4.2.4: the version is determined first",
    ),
    deviation(
        "PeerMisbehaved(SelectedTls12UsingTls13VersionExtension) / 47",
        "PeerIncompatible(ServerTlsVersionIsDisabledByOurConfig) / 70",
        "",
        "RFC 9846 §4.3.1: a version before TLS 1.3 in supported_versions is an illegal_parameter",
    ),
    deviation(
        "PeerIncompatible(ServerTlsVersionIsDisabledByOurConfig) / 70",
        "InvalidMessage(*) / 50",
        "server's flight",
        "RFC 9846 §4.3.1: supported_versions comes first; without it the version is not offered",
    ),
    deviation(
        "PeerMisbehaved(SelectedUnofferedCipherSuite) / 47",
        "PeerMisbehaved(SelectedUnofferedCipherSuite) / 40",
        "",
        "RFC 9846 §4.2.3: illegal_parameter",
    ),
    deviation(
        "InvalidMessage(UnsupportedCompression) / 47",
        "InvalidMessage(UnsupportedCompression) / 50",
        "",
        "RFC 9846 §4.2.3, §4.2.4: compression other than null is an illegal_parameter",
    ),
    deviation(
        "InappropriateHandshakeMessage { * got_type: ServerHello } / 10",
        "InappropriateHandshakeMessage { * got_type: HelloRetryRequest } / 10",
        "HelloRetryRequest",
        "the same alert; RFC 9846 §4.2.4: a HelloRetryRequest is a message of the type server_hello",
    ),
    // Extensions of the server
    deviation(
        "PeerMisbehaved(UnexpectedCleartextExtension) / 47",
        "*",
        "",
        "RFC 9846 §4.3: an offered extension that does not belong in a ServerHello is an illegal_parameter, well-formed or not",
    ),
    deviation(
        "PeerMisbehaved(UnsolicitedServerHelloExtension) / 110",
        "InvalidMessage(*) / 50",
        "",
        "RFC 9846 §4.3: an extension that was not offered is an unsupported_extension, well-formed or not",
    ),
    deviation(
        "PeerMisbehaved(UnsolicitedServerHelloExtension) / 110",
        "PeerMisbehaved(UnexpectedCleartextExtension) / 110",
        "",
        "the same alert with the more precise error: it was not offered",
    ),
    deviation(
        "PeerMisbehaved(DisallowedEncryptedExtension) / 47",
        "*",
        "",
        "RFC 9846 §4.3: a known extension that does not belong in this message is an illegal_parameter, well-formed or not",
    ),
    deviation(
        "PeerMisbehaved(UnsolicitedEncryptedExtension) / 110",
        "InvalidMessage(*) / 50",
        "",
        "RFC 9846 §4.3: an extension that was not offered is an unsupported_extension, well-formed or not",
    ),
    deviation(
        "PeerMisbehaved(UnsolicitedEncryptedExtension) / 110",
        "PeerMisbehaved(DisallowedEncryptedExtension) / 110",
        "",
        "the same alert with the more precise error: it was not offered",
    ),
    deviation(
        "PeerIncompatible(NoCertificateRequestSignatureSchemesInCommon) / 109",
        "PeerIncompatible(NoCertificateRequestSignatureSchemesInCommon) / 40",
        "",
        "RFC 9846 §4.4.2, §6.2: a CertificateRequest without signature_algorithms is a missing_extension",
    ),
    deviation(
        "InvalidMessage(IllegalEmptyValue) / 50",
        "*",
        "",
        "RFC 9846 §4.5.1, §6.2: an empty certificate has a length out of range, which is a decode_error, whatever follows",
    ),
    deviation(
        "InvalidMessage(UnknownCertificateExtension) / 110",
        "InvalidMessage(UnknownCertificateExtension) / 50",
        "",
        "RFC 9846 §4.3: an extension that was not requested is an unsupported_extension",
    ),
    // TLS 1.2
    deviation(
        "InappropriateHandshakeMessage { expect_types: [HelloRequest], got_type: * } / 10",
        "InappropriateMessage { expect_types: [ApplicationData], got_type: Handshake } / 10",
        "1.2",
        "the same alert; the error names the message",
    ),
    deviation(
        "InappropriateHandshakeMessage { expect_types: [HelloRequest], got_type: * } / 10",
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "1.2",
        "the same alert; TLS 1.2 changes keys at a change_cipher_spec, not at a Finished",
    ),
    deviation(
        "InappropriateHandshakeMessage { expect_types: [*], got_type: * } / 10",
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "ClientHello of",
        "the same alert; nor at a ClientHello",
    ),
    deviation(
        "InappropriateMessage { expect_types: [ChangeCipherSpec], got_type: Handshake } / 10",
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "ClientHello of 1.2",
        "the same alert; nor at a ClientHello",
    ),
    deviation(
        "none / none",
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "1.2",
        "RFC 5246 §6.2.1: handshake messages may be split over records; no key change is due",
    ),
    deviation(
        "InappropriateMessage { expect_types: [ChangeCipherSpec], got_type: Handshake } / 10",
        "InvalidMessage(*) / 50",
        "",
        "RFC 5246 §7.2.2: an inappropriate message is an unexpected_message, well-formed or not",
    ),
    deviation(
        "InappropriateMessage { expect_types: [Handshake], got_type: * } / 10",
        "InappropriateMessage { expect_types: [ChangeCipherSpec], got_type: * } / 10",
        "",
        "the same alert; application data is rejected before the handshake state is consulted",
    ),
    deviation(
        "InappropriateHandshakeMessage { expect_types: [CertificateRequest, ServerHelloDone], got_type: * } / 10",
        "InappropriateHandshakeMessage { expect_types: [ServerHelloDone], got_type: * } / 10",
        "",
        "RFC 5246 §7.3: a CertificateRequest may come there, too",
    ),
    deviation(
        "DecryptError / 20",
        "InappropriateMessage { expect_types: [*], got_type: ChangeCipherSpec } / 10",
        "1.2",
        "RFC 5246 §7.1, §6.2.3.3: after a change_cipher_spec every record is protected, even another change_cipher_spec; an unprotected one is a bad_record_mac",
    ),
    deviation(
        "DecryptError / 20",
        "InvalidMessage(*) / 50",
        "1.2",
        "as above, whatever its content",
    ),
    deviation(
        "InvalidMessage(InvalidEmptyPayload) / 50",
        "none / none",
        "1.2",
        "RFC 5246 §6.2.1: zero-length fragments of handshake messages must not be sent",
    ),
    deviation(
        "InvalidMessage(InvalidEmptyPayload) / 50",
        "InvalidMessage(MissingData(\"AlertLevel\")) / 50",
        "1.2",
        "the same alert; RFC 5246 §6.2.1: nor of alerts",
    ),
    deviation(
        "InvalidMessage(MissingData(\"*\")) / 50",
        "InvalidMessage(InvalidCcs) / 50",
        "1.2",
        "the same alert; an empty change_cipher_spec has no value that could be wrong",
    ),
    deviation(
        "none / 100 of level 1",
        "InvalidMessage(*) / 50",
        "1.2",
        "RFC 5246 §7.2.2: a ClientHello on a complete connection is rejected with no_renegotiation, unparsed",
    ),
    deviation(
        "InvalidMessage(TrailingData(\"HelloRequest\")) / 50",
        "none / 100 of level 1",
        "1.2",
        "RFC 5246 §7.4.1.1: a HelloRequest is empty; §7.2.2: a message of incorrect length is a decode_error",
    ),
    deviation(
        "InvalidMessage(*) / 50",
        "InvalidMessage(*) / none",
        "1.2",
        "RFC 5246 §7.2.2: decode_error; send the alert",
    ),
    deviation(
        "InvalidMessage(*) / 50",
        "InvalidMessage(MissingKeyExchange) / 50",
        "server's flight of 1.2",
        "the same alert; the error names the fault",
    ),
    deviation(
        "PeerIncompatible(NoSignatureSchemesInCommon) / 40",
        "General(\"incompatible signing key\") / none",
        "1.2",
        "RFC 5246 §7.2.2: no acceptable set of security parameters is a handshake_failure; send the alert",
    ),
    deviation(
        "PeerMisbehaved(ResumptionOfferedWithVariedEms) / 47",
        "PeerMisbehaved(ResumptionOfferedWithVariedEms) / none",
        "1.2",
        "RFC 7627 §5.3: the client aborts the handshake with an alert",
    ),
    deviation(
        "PeerMisbehaved(UnsolicitedServerHelloExtension) / 110",
        "PeerIncompatible(*) / 70",
        "server's flight of 1.2",
        "RFC 5246 §7.4.1.4: an extension that was not offered is an unsupported_extension; a client of TLS 1.2 alone offers no supported_versions",
    ),
    deviation(
        "PeerMisbehaved(SelectedUnusableCipherSuiteForVersion) / 47",
        "*",
        "to a client of both",
        "RFC 9846 §4.2.3: without supported_versions it is a ServerHello of TLS 1.2, with a suite of TLS 1.3; the suite is checked before the extensions",
    ),
    deviation(
        "General(\"the ServerHello's renegotiation_info is not empty\") / 40",
        "none / none",
        "1.2",
        "RFC 5746 §3.4: if it is not empty in a first handshake the client aborts it with a handshake_failure",
    ),
    deviation(
        "none / none",
        "InvalidMessage(*) / 50",
        "with version [03, 04]",
        "RFC 9846 §5.1: legacy_record_version is ignored; upstream reads messages in records of 0x0304 as those of TLS 1.3",
    ),
    // Resumption
    deviation(
        "PeerMisbehaved(RefusedToFollowHelloRetryRequest) / 47",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "second ClientHello",
        "RFC 9846 §4.2.2: the second ClientHello equals the first; that is checked before its binders",
    ),
    deviation(
        "PeerIncompatible(Tls12NotOffered) / 70",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "ClientHello",
        "RFC 9846 §4.2.2: legacy_version other than 0x0303 is a protocol_version",
    ),
    deviation(
        "none / none",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "ClientHello*: without psk_dhe_ke",
        "RFC 9846 §4.3.9: a server selects no mode that was not listed; without psk_dhe_ke PSKs are ignored",
    ),
    deviation(
        "PeerMisbehaved(MissingKeyShare) / 47",
        "PeerMisbehaved(MissingKeyShare) / 109",
        "",
        "RFC 9846 §4.3.11: a PSK without the key_share of its mode is an illegal_parameter",
    ),
    deviation(
        "PeerMisbehaved(MissingPskExtensionInSecondClientHello) / 109",
        "PeerIncompatible(NoKxGroupsInCommon) / 40",
        "ClientHello",
        "RFC 9846 §4.2.2: the second ClientHello updates pre_shared_key, so it must contain it",
    ),
    // Early data
    deviation(
        "PeerMisbehaved(MissingPskModesExtension) / 109",
        "none / none",
        "before retry",
        "RFC 9846 §4.3.9: pre_shared_key without psk_key_exchange_modes aborts the handshake, with a retry or without",
    ),
    deviation(
        "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData } / 10",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "ClientHello and early data*: without psk_dhe_ke",
        "RFC 9846 §4.3.9: without psk_dhe_ke PSKs are ignored; early data is then skipped, but this cipher opens it",
    ),
    deviation(
        "PeerMisbehaved(KeyEpochWithPendingFragment) / 10",
        "*",
        "early data",
        "RFC 9846 §5.1: keys change with EndOfEarlyData, so nothing may follow it in its record",
    ),
    deviation(
        "General(\"early data was accepted under another application protocol\") / 47",
        "none / none",
        "server's flight for early data",
        "RFC 9846 §4.3.10: a client verifies that early data was accepted under its own protocol",
    ),
    deviation(
        "PeerMisbehaved(EarlyDataExtensionWithoutResumption) / 110",
        "PeerMisbehaved(EarlyDataExtensionWithoutResumption) / none",
        "server's flight for early data",
        "RFC 9846 §4.3: a response to nothing is an unsupported_extension; send the alert",
    ),
    deviation(
        "PeerMisbehaved(IllegalTlsInnerPlaintext) / 10",
        "InappropriateHandshakeMessage { expect_types: [EndOfEarlyData], got_type: * } / 10",
        "early data",
        "RFC 9846 §5.4: an empty handshake record is an unexpected_message",
    ),
    // QUIC
    deviation(
        "InappropriateHandshakeMessage { expect_types: [], got_type: * } / 10",
        "InappropriateMessage { expect_types: [], got_type: Handshake } / 10",
        "over QUIC",
        "RFC 9001 §6: a server reads no message after the handshake; the error names it",
    ),
    deviation(
        "General(\"a ClientHello over QUIC has a legacy_session_id\") / none",
        "*",
        "over QUIC",
        "RFC 9001 §8.4: a PROTOCOL_VIOLATION of QUIC",
    ),
    deviation(
        "InappropriateHandshakeMessage { expect_types: [NewSessionTicket], got_type: CertificateRequest } / none",
        "*",
        "over QUIC",
        "RFC 9001 §4.4: a CertificateRequest after the handshake is a PROTOCOL_VIOLATION of QUIC",
    ),
    deviation(
        "PeerMisbehaved(InvalidMaxEarlyDataSize) / none",
        "none / none",
        "ticket over QUIC: message 0: early data of 0",
        "RFC 9001 §4.6.1: any other value than 0xffffffff is a PROTOCOL_VIOLATION of QUIC",
    ),
    deviation(
        "PeerIncompatible(Tls13RequiredForQuic) / 70",
        "*",
        "over QUIC",
        "RFC 9846 §E.2: without supported_versions it is a protocol_version, whatever else is missing",
    ),
    deviation(
        "NoApplicationProtocol / 120",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "ClientHello * over QUIC",
        "RFC 9001 §8.1: without a protocol it is a no_application_protocol; binders are checked later",
    ),
    deviation(
        "PeerMisbehaved(MissingQuicTransportParameters) / 109",
        "PeerMisbehaved(IncorrectBinder) / 51",
        "ClientHello * over QUIC",
        "RFC 9001 §8.2: without transport parameters it is a missing_extension; binders are checked later",
    ),
];

/// Differences that appear only if the flights after the changed one are received, as in the fuzz
/// target `differential`.
#[rustfmt::skip] // a table
const LATER_DEVIATIONS: [Deviation; 4] = [
    deviation(
        "Peer*",
        "PeerMisbehaved(ServerNameDifferedOnRetry) / none",
        "ClientHello",
        "send the alert, whichever fault of the second ClientHello is found first",
    ),
    deviation(
        "*",
        "InappropriateMessage { expect_types: [Handshake], got_type: ApplicationData } / 10",
        "early data",
        "RFC 9846 §4.7.1: max_early_data_size counts only payload; upstream also counts the protection of skipped records",
    ),
    deviation(
        "PeerIncompatible(ServerDoesNotSupportTls12Or13) / 70",
        "none / none",
        ": ServerHello of legacy_version 0x0304",
        "RFC 9846 §4.2.3: legacy_version other than 0x0303 is a protocol_version",
    ),
    deviation(
        "PeerIncompatible(IncorrectCertificateTypeExtension) / 43",
        "none / none",
        "ClientHello",
        "RFC 7250 §4.2: no type in common is an unsupported_certificate; upstream continues if it knows none of them",
    ),
];

/// True if a deviation covers these outcomes of a case in which all flights were received.
pub fn is_known(ours: &str, theirs: &str, case: &str) -> bool {
    let mut later = LATER_DEVIATIONS.iter();
    find(ours, theirs, case).is_some() || later.any(|it| it.covers(ours, theirs, case))
}
