//! The command line: the flags of the shim, and their effects on the options of a connection.
//!
//! A flag applies to every connection of the process. A prefix restricts it: `-on-initial-` to the
//! first, `-on-resume-` to the later ones, `-on-retry-` to a connection that continues after its
//! early data was rejected. `-on-shim-` is this process, `-on-handshaker-` a second one that this
//! shim does not have.
//!
//! Flags outside the table are not supported, nor are flags that ask for something the public API
//! of the crate lacks. The runner then counts the test as unimplemented.

use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::certificate_types::CertificateType;
use crate::compression::ALL_TEST_ALGORITHMS;
use crate::failure::Failure;
use crate::options::{Credential, Options, Policy};

/// The request of a command line.
pub(crate) enum Request {
    /// Ask whether handshakes can be handed to another process.
    IsHandshakerSupported,
    /// Run connections.
    Connections(Box<Connections>),
}

/// The options of all connections of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    pub(crate) initial: Options,
    pub(crate) resume: Options,
    pub(crate) retry: Options,
}

/// Reads the arguments, without the program's name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Request, Failure> {
    let mut connections = Connections::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (prefix, name) = Prefix::split(&argument);
        if name == "-is-handshaker-supported" {
            return Ok(Request::IsHandshakerSupported);
        }
        let Some((_, effect)) = FLAGS.iter().find(|(flag, _)| *flag == name) else {
            return Err(Failure::Unsupported(argument));
        };
        let value = match effect {
            Set(_) | Satisfied => None,
            Take(_) | Ignore => Some(
                arguments
                    .next()
                    .ok_or_else(|| Failure::Usage(format!("{name} needs a value")))?,
            ),
        };
        for options in prefix.concerned(&mut connections) {
            match (effect, &value) {
                (Set(set), _) => set(options),
                (Take(take), Some(value)) => take(options, value)?,
                _ => {}
            }
        }
    }
    Ok(Request::Connections(Box::new(connections)))
}

/// The connections that a flag applies to.
struct Prefix {
    other_process: bool,
    phase: Option<Phase>,
}

#[derive(Clone, Copy)]
enum Phase {
    Initial,
    Resume,
    Retry,
}

impl Prefix {
    fn split(argument: &str) -> (Self, &str) {
        let mut name = argument;
        let mut strip = |prefix| match name.strip_prefix(prefix) {
            Some(rest) if rest.starts_with('-') => {
                name = rest;
                true
            }
            _ => false,
        };
        strip("-on-shim");
        let other_process = strip("-on-handshaker");
        let phase = if strip("-on-initial") {
            Some(Phase::Initial)
        } else if strip("-on-resume") {
            Some(Phase::Resume)
        } else if strip("-on-retry") {
            Some(Phase::Retry)
        } else {
            None
        };
        (
            Self {
                other_process,
                phase,
            },
            name,
        )
    }

    fn concerned<'c>(&self, connections: &'c mut Connections) -> Vec<&'c mut Options> {
        let Connections {
            initial,
            resume,
            retry,
        } = connections;
        match self.phase {
            _ if self.other_process => vec![],
            None => vec![initial, resume, retry],
            Some(Phase::Initial) => vec![initial],
            Some(Phase::Resume) => vec![resume],
            Some(Phase::Retry) => vec![retry],
        }
    }
}

/// The effect of a flag.
enum Effect {
    /// A flag without a value.
    Set(fn(&mut Options)),
    /// A flag with a value.
    Take(fn(&mut Options, &str) -> Result<(), Failure>),
    /// It asks for something that this crate always does.
    Satisfied,
    /// The shim does not need its value.
    Ignore,
}

use Effect::{Ignore, Satisfied, Set, Take};

const FLAGS: &[(&str, Effect)] = &[
    // the process
    ("-port", Take(|o, v| put(&mut o.port, v))),
    ("-ipv6", Set(|o| o.ipv6 = true)),
    ("-shim-id", Take(|o, v| put(&mut o.shim_id, v))),
    ("-server", Set(|o| o.server = true)),
    ("-resume-count", Take(|o, v| put(&mut o.resume_count, v))),
    // QUIC
    ("-quic", Set(|o| o.quic = true)),
    (
        "-quic-transport-params",
        Take(|o, v| set_bytes(&mut o.quic_transport_parameters, v)),
    ),
    (
        "-quic-use-legacy-codepoint",
        Take(|o, v| put(&mut o.quic_legacy_codepoint, v)),
    ),
    (
        "-quic-early-data-context",
        Take(|o, v| set_text(&mut o.quic_early_data_context, v)),
    ),
    (
        "-expect-quic-transport-params",
        Take(|o, v| set_bytes(&mut o.expect.quic_transport_parameters, v)),
    ),
    // Encrypted ClientHello
    (
        "-ech-config-list",
        Take(|o, v| set_bytes(&mut o.ech.config_list, v)),
    ),
    (
        "-reject-unusable-ech-config",
        Set(|o| o.ech.rejects_unusable = true),
    ),
    ("-enable-ech-grease", Set(|o| o.ech.grease = true)),
    ("-expect-ech-accept", Set(|o| o.expect.ech_accepted = true)),
    (
        "-expect-ech-retry-configs",
        Take(|o, v| set_bytes(&mut o.expect.ech_retry_configs, v)),
    ),
    (
        "-expect-no-ech-retry-configs",
        Set(|o| o.expect.no_ech_retry_configs = true),
    ),
    (
        "-expect-ech-name-override",
        Take(|o, v| set_text(&mut o.expect.ech_name_override, v)),
    ),
    (
        "-expect-no-ech-name-override",
        Set(|o| o.expect.no_ech_name_override = true),
    ),
    // versions: older ones are always off, because this crate does not have them
    ("-no-tls1", Satisfied),
    ("-no-tls11", Satisfied),
    ("-no-tls12", Set(|o| o.no_tls12 = true)),
    ("-no-tls13", Set(|o| o.no_tls13 = true)),
    ("-min-version", Take(|o, v| put(&mut o.min_version, v))),
    ("-max-version", Take(|o, v| put(&mut o.max_version, v))),
    // algorithms
    ("-curves", Take(|o, v| push(&mut o.curves, v))),
    ("-cipher", Take(|o, v| set_text(&mut o.cipher, v))),
    ("-verify-prefs", Take(|o, v| push(&mut o.verify_prefs, v))),
    ("-fips-202205", Set(|o| o.policy = Some(Policy::Fips202205))),
    ("-wpa-202304", Set(|o| o.policy = Some(Policy::Wpa202304))),
    ("-cnsa-202407", Set(|o| o.policy = Some(Policy::Cnsa202407))),
    (
        "-cnsa1-202603",
        Set(|o| o.policy = Some(Policy::Cnsa1_202603)),
    ),
    (
        "-cnsa2-202603",
        Set(|o| o.policy = Some(Policy::Cnsa2_202603)),
    ),
    ("-key-shares", Take(|o, v| push(&mut o.key_shares, v))),
    // clients of this crate always do this
    ("-permute-extensions", Satisfied),
    ("-server-preference", Set(|o| o.server_preference = true)),
    // credentials
    (
        "-new-x509-credential",
        Set(|o| o.credentials.push(Credential::default())),
    ),
    (
        "-new-rpk-credential",
        Set(|o| {
            o.credentials.push(Credential {
                is_raw_public_key: true,
                ..Credential::default()
            })
        }),
    ),
    (
        "-available-client-cert-types",
        Take(|o, v| push_type(&mut o.available_client_types, v)),
    ),
    (
        "-cert-file",
        Take(|o, v| set_text(&mut o.credential().cert_file, v)),
    ),
    (
        "-key-file",
        Take(|o, v| set_text(&mut o.credential().key_file, v)),
    ),
    (
        "-signing-prefs",
        Take(|o, v| push(&mut o.credential().signing_prefs, v)),
    ),
    (
        "-ocsp-response",
        Take(|o, v| set_bytes(&mut o.credential().ocsp_response, v)),
    ),
    (
        "-must-match-issuer",
        Set(|o| o.credential().must_match_issuer = true),
    ),
    // verification: the runner asks for a verdict, not for a path
    ("-trust-cert", Ignore),
    ("-use-custom-verify-callback", Satisfied),
    // one callback chooses a client's credential
    ("-use-old-client-cert-callback", Satisfied),
    ("-verify-fail", Set(|o| o.verify_fail = true)),
    ("-verify-peer", Set(|o| o.verify_peer = true)),
    (
        "-require-any-client-certificate",
        Set(|o| o.require_client_certificate = true),
    ),
    (
        "-accepted-peer-cert-types",
        Take(|o, v| push_type(&mut o.accepted_peer_types, v)),
    ),
    (
        "-use-client-ca-list",
        Take(|o, v| set_text(&mut o.client_ca_list, v)),
    ),
    ("-reverify-on-resume", Set(|o| o.reverify_on_resume = true)),
    // verifiers judge the key usages of a certificate, and this one does not
    ("-ignore-rsa-key-usage", Satisfied),
    (
        "-install-cert-compression-algs",
        Set(|o| o.cert_compression = ALL_TEST_ALGORITHMS.into()),
    ),
    (
        "-install-one-cert-compression-alg",
        Take(|o, v| push(&mut o.cert_compression, v)),
    ),
    // names and protocols
    ("-host-name", Take(|o, v| set_text(&mut o.host_name, v))),
    (
        "-advertise-alpn",
        Take(|o, v| set_text(&mut o.advertise_alpn, v)),
    ),
    ("-select-alpn", Take(|o, v| set_text(&mut o.select_alpn, v))),
    // a server without protocols declines all of them
    ("-decline-alpn", Satisfied),
    ("-reject-alpn", Set(|o| o.reject_alpn = true)),
    (
        "-allow-unknown-alpn-protos",
        Set(|o| o.allow_unknown_alpn = true),
    ),
    ("-use-early-callback", Set(|o| o.through_acceptor = true)),
    ("-install-ddos-callback", Set(|o| o.through_acceptor = true)),
    // sessions
    ("-use-ticket-callback", Set(|o| o.own_tickets = true)),
    ("-use-ticket-aead-callback", Set(|o| o.own_tickets = true)),
    ("-skip-ticket", Set(|o| o.skip_ticket = true)),
    ("-no-ticket", Set(|o| o.no_ticket = true)),
    (
        "-resumption-delay",
        Take(|o, v| put(&mut o.resumption_delay, v)),
    ),
    ("-enable-early-data", Set(|o| o.enable_early_data = true)),
    // I/O
    ("-async", Set(|o| o.byte_by_byte = true)),
    ("-implicit-handshake", Set(|o| o.implicit_handshake = true)),
    ("-shim-writes-first", Set(|o| o.writes_first = true)),
    (
        "-shim-initial-write",
        Take(|o, v| {
            o.writes_first = true;
            set_text(&mut o.initial_write, v)
        }),
    ),
    (
        "-repeat-shim-initial-write",
        Take(|o, v| put(&mut o.repeat_initial_write, v)),
    ),
    ("-shim-shuts-down", Set(|o| o.shuts_down = true)),
    ("-check-close-notify", Set(|o| o.check_close_notify = true)),
    ("-no-op-extra-handshake", Set(|o| o.extra_handshake = true)),
    ("-peek-then-read", Set(|o| o.peeks = true)),
    (
        "-read-with-unfinished-write",
        Set(|o| o.reads_with_unfinished_write = true),
    ),
    (
        "-use-exporter-between-reads",
        Set(|o| o.exports_between_reads = true),
    ),
    ("-read-size", Take(|o, v| put(&mut o.read_size, v))),
    (
        "-max-send-fragment",
        Take(|o, v| put(&mut o.max_send_fragment, v)),
    ),
    ("-key-update", Set(|o| o.key_update = true)),
    (
        "-key-update-before-read",
        Set(|o| o.key_update_before_read = true),
    ),
    (
        "-handshake-never-done",
        Set(|o| o.handshake_never_done = true),
    ),
    // exporters
    (
        "-export-keying-material",
        Take(|o, v| put(&mut o.export_keying_material, v)),
    ),
    (
        "-export-label",
        Take(|o, v| set_text(&mut o.export_label, v)),
    ),
    (
        "-export-context",
        Take(|o, v| set_text(&mut o.export_context, v)),
    ),
    ("-use-export-context", Set(|o| o.use_export_context = true)),
    (
        "-export-traffic-secrets",
        Set(|o| o.export_traffic_secrets = true),
    ),
    // OCSP: clients of this crate always ask for a response
    ("-enable-ocsp-stapling", Satisfied),
    (
        "-use-ocsp-callback",
        Set(|o| o.ocsp_callback.installed = true),
    ),
    ("-fail-ocsp-callback", Set(|o| o.ocsp_callback.fails = true)),
    (
        "-decline-ocsp-callback",
        Set(|o| o.ocsp_callback.declines = true),
    ),
    // the callback that chooses the credential also sets its response
    ("-set-ocsp-in-callback", Satisfied),
    // expected results
    (
        "-expect-version",
        Take(|o, v| put(&mut o.expect.version, v)),
    ),
    ("-expect-alpn", Take(|o, v| set_text(&mut o.expect.alpn, v))),
    ("-expect-cipher", Take(|o, v| put(&mut o.expect.cipher, v))),
    ("-expect-curve-id", Take(|o, v| put(&mut o.expect.curve, v))),
    (
        "-expect-peer-signature-algorithm",
        Take(|o, v| put(&mut o.expect.peer_signature_algorithm, v)),
    ),
    (
        "-expect-server-name",
        Take(|o, v| set_text(&mut o.expect.server_name, v)),
    ),
    (
        "-expect-no-server-name",
        Set(|o| o.expect.no_server_name = true),
    ),
    (
        "-expect-session-miss",
        Set(|o| o.expect.session_miss = true),
    ),
    ("-expect-hrr", Set(|o| o.expect.hrr = Some(true))),
    ("-expect-no-hrr", Set(|o| o.expect.hrr = Some(false))),
    ("-expect-no-session", Set(|o| o.expect.no_session = true)),
    (
        "-expect-ticket-supports-early-data",
        Set(|o| o.expect.ticket_supports_early_data = true),
    ),
    (
        "-expect-accept-early-data",
        Set(|o| o.expect.early_data_accepted = Some(true)),
    ),
    (
        "-expect-reject-early-data",
        Set(|o| o.expect.early_data_accepted = Some(false)),
    ),
    (
        "-expect-early-data-reason",
        Take(|o, v| set_text(&mut o.expect.early_data_reason, v)),
    ),
    (
        "-expect-no-offer-early-data",
        Set(|o| o.expect.no_early_data_offer = true),
    ),
    (
        "-expect-ocsp-response",
        Take(|o, v| set_bytes(&mut o.expect.ocsp_response, v)),
    ),
    (
        "-expect-peer-cert-file",
        Take(|o, v| set_text(&mut o.expect.peer_cert_file, v)),
    ),
    (
        "-expect-extended-master-secret",
        Set(|o| o.requires_ems = true),
    ),
    (
        "-expect-peer-certificate-type",
        Take(|o, v| {
            o.expect.peer_certificate_type = Some(certificate_type(v)?);
            Ok(())
        }),
    ),
    (
        "-expect-peer-rpk-sha256",
        Take(|o, v| set_bytes(&mut o.expect.peer_raw_key_sha256, v)),
    ),
    (
        "-expect-verify-result",
        Set(|o| o.expect.verify_result = true),
    ),
    (
        "-expect-selected-credential",
        Take(|o, v| put(&mut o.expect.selected_credential, v)),
    ),
    (
        "-expect-advertised-alpn",
        Take(|o, v| set_text(&mut o.expect.advertised_alpn, v)),
    ),
    (
        "-expect-peer-verify-pref",
        Take(|o, v| push(&mut o.expect.peer_verify_prefs, v)),
    ),
    (
        "-expect-client-ca-list",
        Take(|o, v| set_text(&mut o.expect.client_ca_list, v)),
    ),
];

fn put<T: FromStr>(place: &mut Option<T>, value: &str) -> Result<(), Failure> {
    *place = Some(number(value)?);
    Ok(())
}

fn push<T: FromStr>(place: &mut Vec<T>, value: &str) -> Result<(), Failure> {
    place.push(number(value)?);
    Ok(())
}

fn push_type(place: &mut Vec<CertificateType>, value: &str) -> Result<(), Failure> {
    place.push(certificate_type(value)?);
    Ok(())
}

fn certificate_type(value: &str) -> Result<CertificateType, Failure> {
    CertificateType::named(number(value)?)
        .ok_or_else(|| Failure::Unsupported(format!("certificates of type {value}")))
}

fn number<T: FromStr>(value: &str) -> Result<T, Failure> {
    value
        .parse()
        .map_err(|_| Failure::Usage(format!("{value:?} is no number of this kind")))
}

fn set_text(place: &mut Option<String>, value: &str) -> Result<(), Failure> {
    *place = Some(value.into());
    Ok(())
}

fn set_bytes(place: &mut Option<Vec<u8>>, value: &str) -> Result<(), Failure> {
    let bytes = BASE64_STANDARD
        .decode(value)
        .map_err(|error| Failure::Usage(format!("{value:?}: {error}")))?;
    *place = Some(bytes);
    Ok(())
}
