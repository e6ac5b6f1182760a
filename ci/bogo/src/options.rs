//! The options and expectations of a connection: the command line, as values.

use rustls::quic;

use crate::certificate_types::{CertificateType, Types};
use crate::failure::Failure;

/// The options of one connection, or of its continuation after early data was rejected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) port: Option<u16>,
    pub(crate) ipv6: bool,
    pub(crate) shim_id: Option<u64>,
    pub(crate) server: bool,
    pub(crate) resume_count: Option<usize>,

    /// True for a QUIC connection.
    pub(crate) quic: bool,
    pub(crate) quic_transport_parameters: Option<Vec<u8>>,
    /// 1 if transport parameters use the code point of drafts.
    pub(crate) quic_legacy_codepoint: Option<u8>,
    /// The context that early data is bound to in addition to the session.
    pub(crate) quic_early_data_context: Option<String>,

    pub(crate) no_tls12: bool,
    pub(crate) no_tls13: bool,
    pub(crate) min_version: Option<u16>,
    pub(crate) max_version: Option<u16>,
    /// Code points of key exchange groups, most preferred first.
    pub(crate) curves: Vec<u16>,
    /// Code points of the groups that a client sends shares of.
    pub(crate) key_shares: Vec<u16>,
    /// TLS 1.2 cipher suites, in OpenSSL's notation.
    pub(crate) cipher: Option<String>,
    /// Signature schemes that the peer may use.
    pub(crate) verify_prefs: Vec<u16>,
    /// Restricts all of the above.
    pub(crate) policy: Option<Policy>,
    pub(crate) server_preference: bool,
    /// True if TLS 1.2 requires extended_master_secret.
    pub(crate) requires_ems: bool,

    pub(crate) ech: Ech,

    /// The credential that is not started by a `-new-…-credential` flag.
    pub(crate) default_credential: Credential,
    /// The other credentials, most preferred first.
    pub(crate) credentials: Vec<Credential>,
    /// The certificate types that a client offers to send, independent of its credentials.
    pub(crate) available_client_types: Vec<CertificateType>,
    /// The certificate types that the peer may send, most preferred first. Empty means X.509.
    pub(crate) accepted_peer_types: Vec<CertificateType>,

    /// True if the verifier rejects the peer.
    pub(crate) verify_fail: bool,
    /// True if the verdict decides. Otherwise it is recorded and the handshake continues.
    pub(crate) verify_peer: bool,
    pub(crate) require_client_certificate: bool,
    /// True if the verifier must verify the chain of a resumed session again.
    pub(crate) reverify_on_resume: bool,
    pub(crate) ocsp_callback: OcspCallback,
    /// Algorithms of certificate compression, from those of the runner.
    pub(crate) cert_compression: Vec<u16>,
    /// Names of authorities for clients: DER in hexadecimal, separated by commas.
    pub(crate) client_ca_list: Option<String>,

    pub(crate) host_name: Option<String>,
    /// Protocols, each prefixed by a byte with its length.
    pub(crate) advertise_alpn: Option<String>,
    pub(crate) select_alpn: Option<String>,
    /// True if a server supports none of the protocols that a client may offer.
    pub(crate) reject_alpn: bool,
    pub(crate) allow_unknown_alpn: bool,
    /// True if a server reads the ClientHello before it has a configuration.
    pub(crate) through_acceptor: bool,

    pub(crate) no_ticket: bool,
    /// True if the application, which is this shim, creates a server's tickets.
    pub(crate) own_tickets: bool,
    pub(crate) skip_ticket: bool,
    /// The number of seconds that pass before a resumption.
    pub(crate) resumption_delay: Option<u64>,
    pub(crate) enable_early_data: bool,

    /// The socket transfers one byte at a time, and blocks before each.
    pub(crate) byte_by_byte: bool,
    /// The handshake takes place during reads and writes.
    pub(crate) implicit_handshake: bool,
    /// The handshake is requested again after it is complete.
    pub(crate) extra_handshake: bool,
    /// Data are peeked at before they are read.
    pub(crate) peeks: bool,
    /// The first words are written, but only sent after the first read.
    pub(crate) reads_with_unfinished_write: bool,
    pub(crate) exports_between_reads: bool,
    pub(crate) writes_first: bool,
    /// The first words, unless they are the default ones, and their number.
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
    /// Returns the size as the crate counts it: with the record header.
    pub(crate) fn max_fragment_size(&self) -> Option<usize> {
        self.max_send_fragment.map(|length| length + 5)
    }

    /// Returns the QUIC version and transport parameters if this is a QUIC connection.
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

    /// The words with which the shim speaks first, write by write.
    pub(crate) fn first_words(&self) -> impl Iterator<Item = &[u8]> {
        let words = self.initial_write.as_deref().unwrap_or("hello");
        let times = self.repeat_initial_write.unwrap_or(1);
        std::iter::repeat_n(words.as_bytes(), times)
    }

    /// True if the server chooses its configuration once it has the ClientHello.
    pub(crate) fn reads_hello_first(&self) -> bool {
        self.through_acceptor || Types::depends_on_hello(self)
    }

    /// The credential that the flags about credentials apply to: the one started last.
    pub(crate) fn credential(&mut self) -> &mut Credential {
        self.credentials
            .last_mut()
            .unwrap_or(&mut self.default_credential)
    }
}

/// The options of a client's Encrypted ClientHello.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ech {
    /// The server's ECHConfigList.
    pub(crate) config_list: Option<Vec<u8>>,
    /// True to pretend to use ECH if it cannot be used.
    pub(crate) grease: bool,
    /// True to fail if the list has no usable configuration.
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

/// The OCSP callback of an application: a client verifies a response, a server chooses one.
#[derive(Clone, Debug, Default)]
pub(crate) struct OcspCallback {
    /// True if the callback is installed.
    pub(crate) installed: bool,
    /// True if it reports an error.
    pub(crate) fails: bool,
    /// True if a server has no response for this connection.
    pub(crate) declines: bool,
}

/// A certificate or a raw public key, with its private key and their use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) is_raw_public_key: bool,
    pub(crate) cert_file: Option<String>,
    pub(crate) key_file: Option<String>,
    pub(crate) signing_prefs: Vec<u16>,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    /// True if it is only for peers that name its authority.
    pub(crate) must_match_issuer: bool,
}

impl Credential {
    /// The certificate type; `None` without a certificate or key.
    pub(crate) fn typ(&self) -> Option<CertificateType> {
        match (&self.key_file, &self.cert_file) {
            (Some(_), _) if self.is_raw_public_key => Some(CertificateType::RawPublicKey),
            (Some(_), Some(_)) => Some(CertificateType::X509),
            _ => None,
        }
    }
}

/// Conditions on a connection after its handshake.
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
    /// True if a HelloRetryRequest is expected.
    pub(crate) hrr: Option<bool>,
    /// True if a client must end up without a session.
    pub(crate) no_session: bool,
    pub(crate) ticket_supports_early_data: bool,
    pub(crate) quic_transport_parameters: Option<Vec<u8>>,
    pub(crate) early_data_accepted: Option<bool>,
    pub(crate) no_early_data_offer: bool,
    /// The reason why early data was accepted or not, in the runner's terms.
    pub(crate) early_data_reason: Option<String>,
    pub(crate) ech_accepted: bool,
    /// The ECHConfigList of a server that rejects Encrypted ClientHello.
    pub(crate) ech_retry_configs: Option<Vec<u8>>,
    pub(crate) no_ech_retry_configs: bool,
    /// The name for which a certificate is verified instead of the server's.
    pub(crate) ech_name_override: Option<String>,
    pub(crate) no_ech_name_override: bool,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) peer_cert_file: Option<String>,
    pub(crate) peer_certificate_type: Option<CertificateType>,
    pub(crate) peer_raw_key_sha256: Option<Vec<u8>>,
    /// True if the verifier's verdict must be that of `verify_fail`.
    pub(crate) verify_result: bool,
    /// The position of the credential used, or -1 for the default one.
    pub(crate) selected_credential: Option<i32>,
    pub(crate) advertised_alpn: Option<String>,
    /// The schemes that the peer can verify.
    pub(crate) peer_verify_prefs: Vec<u16>,
    /// The authorities named by a server, in the form of `client_ca_list`.
    pub(crate) client_ca_list: Option<String>,
}

impl Expectations {
    /// True if the expectations for sending early data, `before`, differ from these.
    pub(crate) fn differs_before_retry(&self, before: &Self) -> bool {
        let negotiated = |of: &Self| (of.version, of.alpn.clone(), of.cipher, of.curve, of.hrr);
        negotiated(self) != negotiated(before)
    }
}
