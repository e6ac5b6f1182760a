//! What a connection is made of and has to show: the command line, as values.

use rustls::quic;

use crate::certificate_types::{CertificateType, Types};
use crate::failure::Failure;

/// The options of one connection, or of what it goes on as when its early data was rejected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) port: Option<u16>,
    pub(crate) ipv6: bool,
    pub(crate) shim_id: Option<u64>,
    pub(crate) server: bool,
    pub(crate) resume_count: Option<usize>,

    /// The connection is one of QUIC.
    pub(crate) quic: bool,
    pub(crate) quic_transport_parameters: Option<Vec<u8>>,
    /// 1: transport parameters are in the extension of drafts.
    pub(crate) quic_legacy_codepoint: Option<u8>,
    /// What early data is bound to besides the session.
    pub(crate) quic_early_data_context: Option<String>,

    pub(crate) no_tls12: bool,
    pub(crate) no_tls13: bool,
    pub(crate) min_version: Option<u16>,
    pub(crate) max_version: Option<u16>,
    /// Code points of key exchange groups, most preferred first.
    pub(crate) curves: Vec<u16>,
    /// Code points of the groups that a client sends shares of.
    pub(crate) key_shares: Vec<u16>,
    /// Cipher suites of TLS 1.2, in a language of OpenSSL's.
    pub(crate) cipher: Option<String>,
    /// Signature schemes that the peer may use.
    pub(crate) verify_prefs: Vec<u16>,
    /// Limits what all the others above allow.
    pub(crate) policy: Option<Policy>,
    pub(crate) server_preference: bool,
    /// No connection of TLS 1.2 goes on without extended_master_secret.
    pub(crate) requires_ems: bool,

    pub(crate) ech: Ech,

    /// The credential that no `-new-…-credential` began.
    pub(crate) default_credential: Credential,
    /// The others, most preferred first.
    pub(crate) credentials: Vec<Credential>,
    /// The types of certificates that a client offers to send, whatever its credentials are.
    pub(crate) available_client_types: Vec<CertificateType>,
    /// The types of certificates that the peer may send, most preferred first. None is X.509.
    pub(crate) accepted_peer_types: Vec<CertificateType>,

    /// The verifier's verdict is no.
    pub(crate) verify_fail: bool,
    /// The verdict decides: without it, it is noted and the handshake goes on.
    pub(crate) verify_peer: bool,
    pub(crate) require_client_certificate: bool,
    /// The verifier is asked again about the chain of a session that is resumed.
    pub(crate) reverify_on_resume: bool,
    pub(crate) ocsp_callback: OcspCallback,
    /// Algorithms of certificate compression, of those that the runner has.
    pub(crate) cert_compression: Vec<u16>,
    /// Names of authorities to send to clients: DER in hexadecimal, separated by commas.
    pub(crate) client_ca_list: Option<String>,

    pub(crate) host_name: Option<String>,
    /// Protocols, each behind a byte with its length.
    pub(crate) advertise_alpn: Option<String>,
    pub(crate) select_alpn: Option<String>,
    /// A server knows none of the protocols that a client may offer.
    pub(crate) reject_alpn: bool,
    pub(crate) allow_unknown_alpn: bool,
    /// A server reads the ClientHello before it has a configuration.
    pub(crate) through_acceptor: bool,

    pub(crate) no_ticket: bool,
    /// A server's tickets are made by the application: this shim.
    pub(crate) own_tickets: bool,
    pub(crate) skip_ticket: bool,
    /// Seconds that pass before a connection that resumes.
    pub(crate) resumption_delay: Option<u64>,
    pub(crate) enable_early_data: bool,

    /// The socket takes and gives one byte at a time, and has nothing to give or no room in between.
    pub(crate) byte_by_byte: bool,
    /// The handshake happens in the course of reading and writing.
    pub(crate) implicit_handshake: bool,
    /// Once complete, the handshake is asked for again.
    pub(crate) extra_handshake: bool,
    /// What is read has been looked at before.
    pub(crate) peeks: bool,
    /// The first words are written, and leave only after something was read.
    pub(crate) reads_with_unfinished_write: bool,
    pub(crate) exports_between_reads: bool,
    pub(crate) writes_first: bool,
    /// What is written first, if not the usual, and how often.
    pub(crate) initial_write: Option<String>,
    pub(crate) repeat_initial_write: Option<usize>,
    pub(crate) shuts_down: bool,
    pub(crate) check_close_notify: bool,
    pub(crate) max_send_fragment: Option<usize>,
    pub(crate) read_size: Option<usize>,
    pub(crate) key_update: bool,
    pub(crate) key_update_before_read: bool,
    pub(crate) handshake_never_done: bool,

    pub(crate) export_keying_material: Option<usize>,
    pub(crate) export_label: Option<String>,
    pub(crate) export_context: Option<String>,
    pub(crate) use_export_context: bool,
    pub(crate) export_traffic_secrets: bool,

    pub(crate) expect: Expectations,
}

impl Options {
    /// As the crate counts: with the header of the record.
    pub(crate) fn max_fragment_size(&self) -> Option<usize> {
        self.max_send_fragment.map(|length| length + 5)
    }

    /// What a connection of QUIC is made of besides its configuration, if it is one.
    pub(crate) fn quic_connection(&self) -> Result<Option<(quic::Version, Vec<u8>)>, Failure> {
        let version = match self.quic_legacy_codepoint {
            _ if !self.quic && self.quic_transport_parameters.is_some() => {
                return Err(Failure::Unsupported(
                    "transport parameters outside of QUIC".into(),
                ));
            }
            _ if !self.quic => return Ok(None),
            None | Some(0) => quic::Version::V1,
            Some(_) => quic::Version::V1Draft,
        };
        if self.reads_hello_first() {
            return Err(Failure::Unsupported("an Acceptor over QUIC".into()));
        }
        let parameters = self.quic_transport_parameters.clone();
        Ok(Some((version, parameters.unwrap_or_default())))
    }

    /// What the shim says where it speaks first, write by write.
    pub(crate) fn first_words(&self) -> impl Iterator<Item = &[u8]> {
        let words = self.initial_write.as_deref().unwrap_or("hello");
        let times = self.repeat_initial_write.unwrap_or(1);
        std::iter::repeat_n(words.as_bytes(), times)
    }

    /// The configuration of this server is chosen once the ClientHello is there.
    pub(crate) fn reads_hello_first(&self) -> bool {
        self.through_acceptor || Types::depends_on_hello(self)
    }

    /// The credential that flags about credentials are for: the one begun last.
    pub(crate) fn credential(&mut self) -> &mut Credential {
        self.credentials
            .last_mut()
            .unwrap_or(&mut self.default_credential)
    }
}

/// How a client uses Encrypted ClientHello.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ech {
    /// An ECHConfigList of the server's.
    pub(crate) config_list: Option<Vec<u8>>,
    /// It pretends to, where it cannot.
    pub(crate) grease: bool,
    /// It does not go without where the list has nothing that it could use.
    pub(crate) rejects_unusable: bool,
}

/// A named set of algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// NIST SP 800-52r2, as understood in May 2022.
    Fips202205,
    /// 192-bit security of WPA3-Enterprise, as understood in April 2023.
    Wpa202304,
    /// The preferences of CNSA 2.0, as understood in July 2024.
    Cnsa202407,
    /// CNSA 1.0 on its way to CNSA 2.0, as understood in March 2026.
    Cnsa1_202603,
    /// CNSA 2.0, as understood in March 2026.
    Cnsa2_202603,
}

/// What an application does about OCSP responses when it is asked: a client verifies one, a server chooses one.
#[derive(Clone, Debug, Default)]
pub(crate) struct OcspCallback {
    /// It is asked.
    pub(crate) installed: bool,
    /// It answers that something is wrong.
    pub(crate) fails: bool,
    /// A server has none for this connection.
    pub(crate) declines: bool,
}

/// A certificate or a raw public key, its private key, and how they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) is_raw_public_key: bool,
    pub(crate) cert_file: Option<String>,
    pub(crate) key_file: Option<String>,
    pub(crate) signing_prefs: Vec<u16>,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    /// It is for peers that name its authority only.
    pub(crate) must_match_issuer: bool,
}

impl Credential {
    /// Of which type it is; none if there is nothing to show.
    pub(crate) fn typ(&self) -> Option<CertificateType> {
        match (&self.key_file, &self.cert_file) {
            (Some(_), _) if self.is_raw_public_key => Some(CertificateType::RawPublicKey),
            (Some(_), Some(_)) => Some(CertificateType::X509),
            _ => None,
        }
    }
}

/// What has to be true of a connection once its handshake is complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectations {
    pub(crate) version: Option<u16>,
    pub(crate) alpn: Option<String>,
    pub(crate) cipher: Option<u16>,
    pub(crate) curve: Option<u16>,
    pub(crate) peer_signature_algorithm: Option<u16>,
    pub(crate) server_name: Option<String>,
    pub(crate) no_server_name: bool,
    pub(crate) session_miss: bool,
    /// Whether there was a HelloRetryRequest.
    pub(crate) hrr: Option<bool>,
    /// A client is left without a session.
    pub(crate) no_session: bool,
    pub(crate) ticket_supports_early_data: bool,
    pub(crate) quic_transport_parameters: Option<Vec<u8>>,
    pub(crate) early_data_accepted: Option<bool>,
    pub(crate) no_early_data_offer: bool,
    /// Why early data was accepted or not, by one of the runner's names.
    pub(crate) early_data_reason: Option<String>,
    pub(crate) ech_accepted: bool,
    /// The ECHConfigList of a server that rejects Encrypted ClientHello.
    pub(crate) ech_retry_configs: Option<Vec<u8>>,
    pub(crate) no_ech_retry_configs: bool,
    /// The name that a certificate is verified for instead of the server's.
    pub(crate) ech_name_override: Option<String>,
    pub(crate) no_ech_name_override: bool,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) peer_cert_file: Option<String>,
    pub(crate) peer_certificate_type: Option<CertificateType>,
    pub(crate) peer_raw_key_sha256: Option<Vec<u8>>,
    /// The verifier's verdict was the one of `verify_fail`.
    pub(crate) verify_result: bool,
    /// Which credential was used: its place in the list, or -1 for the default one.
    pub(crate) selected_credential: Option<i32>,
    pub(crate) advertised_alpn: Option<String>,
    /// The schemes that the peer can verify.
    pub(crate) peer_verify_prefs: Vec<u16>,
    /// The authorities that a server names, in the form of `client_ca_list`.
    pub(crate) client_ca_list: Option<String>,
}

impl Expectations {
    /// Whether something other is expected of what the client believes while it sends early data, `before`.
    pub(crate) fn differs_before_retry(&self, before: &Self) -> bool {
        let negotiated = |of: &Self| (of.version, of.alpn.clone(), of.cipher, of.curve, of.hrr);
        negotiated(self) != negotiated(before)
    }
}
