//! The names and code points of TLS extensions. The code that handles a message decides which
//! extensions it may carry.

use super::wire_enum;

wire_enum! {
    /// `ExtensionType`: RFC 9846 §4.3 and IANA's registry, with its names.
    pub enum ExtensionType(u16) {
        /// `server_name`: RFC 6066 §3.
        ServerName = 0,
        /// `max_fragment_length`: RFC 6066 §4.
        MaxFragmentLength = 1,
        /// `client_certificate_url`: RFC 6066 §5.
        ClientCertificateUrl = 2,
        /// `trusted_ca_keys`: RFC 6066 §6.
        TrustedCaKeys = 3,
        /// `truncated_hmac`: RFC 6066 §7.
        TruncatedHmac = 4,
        /// `status_request`: RFC 6066 §8.
        StatusRequest = 5,
        /// `user_mapping`: RFC 4681.
        UserMapping = 6,
        /// `client_authz`: RFC 5878.
        ClientAuthz = 7,
        /// `server_authz`: RFC 5878.
        ServerAuthz = 8,
        /// `cert_type`: RFC 6091.
        CertType = 9,
        /// `supported_groups`: RFC 9846 §4.3.7, formerly `elliptic_curves`.
        SupportedGroups = 10,
        /// `ec_point_formats`: RFC 8422 §5.1.2.
        EcPointFormats = 11,
        /// `srp`: RFC 5054.
        Srp = 12,
        /// `signature_algorithms`: RFC 9846 §4.3.3.
        SignatureAlgorithms = 13,
        /// `use_srtp`: RFC 5764.
        UseSrtp = 14,
        /// `heartbeat`: RFC 6520.
        Heartbeat = 15,
        /// `application_layer_protocol_negotiation`: RFC 7301.
        ApplicationLayerProtocolNegotiation = 16,
        /// `status_request_v2`: RFC 6961.
        StatusRequestV2 = 17,
        /// `signed_certificate_timestamp`: RFC 6962.
        SignedCertificateTimestamp = 18,
        /// `client_certificate_type`: RFC 7250.
        ClientCertificateType = 19,
        /// `server_certificate_type`: RFC 7250.
        ServerCertificateType = 20,
        /// `padding`: RFC 7685.
        Padding = 21,
        /// `encrypt_then_mac`: RFC 7366.
        EncryptThenMac = 22,
        /// `extended_master_secret`: RFC 7627.
        ExtendedMasterSecret = 23,
        /// `token_binding`: RFC 8472.
        TokenBinding = 24,
        /// `cached_info`: RFC 7924.
        CachedInfo = 25,
        /// `compress_certificate`: RFC 8879.
        CompressCertificate = 27,
        /// `record_size_limit`: RFC 8449.
        RecordSizeLimit = 28,
        /// `delegated_credential`: RFC 9345.
        DelegatedCredential = 34,
        /// `session_ticket`: RFC 5077.
        SessionTicket = 35,
        /// `supported_ekt_ciphers`: RFC 8870.
        SupportedEktCiphers = 39,
        /// `pre_shared_key`: RFC 9846 §4.3.11.
        PreSharedKey = 41,
        /// `early_data`: RFC 9846 §4.3.10.
        EarlyData = 42,
        /// `supported_versions`: RFC 9846 §4.3.1.
        SupportedVersions = 43,
        /// `cookie`: RFC 9846 §4.3.2.
        Cookie = 44,
        /// `psk_key_exchange_modes`: RFC 9846 §4.3.9.
        PskKeyExchangeModes = 45,
        /// `certificate_authorities`: RFC 9846 §4.3.4.
        CertificateAuthorities = 47,
        /// `oid_filters`: RFC 9846 §4.3.5.
        OidFilters = 48,
        /// `post_handshake_auth`: RFC 9846 §4.3.6.
        PostHandshakeAuth = 49,
        /// `signature_algorithms_cert`: RFC 9846 §4.3.3.
        SignatureAlgorithmsCert = 50,
        /// `key_share`: RFC 9846 §4.3.8.
        KeyShare = 51,
        /// `transparency_info`: RFC 9162.
        TransparencyInfo = 52,
        /// `connection_id`: RFC 9146.
        ConnectionId = 54,
        /// `external_id_hash`: RFC 8844.
        ExternalIdHash = 55,
        /// `external_session_id`: RFC 8844.
        ExternalSessionId = 56,
        /// `quic_transport_parameters`: RFC 9001 §8.2.
        QuicTransportParameters = 57,
        /// `ticket_request`: RFC 9149.
        TicketRequest = 58,
        /// `next_protocol_negotiation`: the unregistered predecessor of ALPN.
        NextProtocolNegotiation = 0x3374,
        /// `ech_outer_extensions`: RFC 9849.
        EchOuterExtensions = 0xfd00,
        /// `encrypted_client_hello`: RFC 9849.
        EncryptedClientHello = 0xfe0d,
        /// `renegotiation_info`: RFC 5746.
        RenegotiationInfo = 0xff01,
        /// `quic_transport_parameters` with the code point of QUIC drafts.
        QuicTransportParametersDraft = 0xffa5,
    }
}
