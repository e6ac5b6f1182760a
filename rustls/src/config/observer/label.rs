//! The labels of the enums in events: names for metrics, as one table.
//!
//! Labels are spelled out, so that no renaming of a variant can change one. To add a variant, give
//! it a label here, and add that to `docs/observer-labels.txt`. [`Side`](crate::Side) and
//! [`AlertDescription`](crate::AlertDescription) have theirs in core.

use super::Carrier;
use super::events::{Alert, Direction, End, Fault, TicketAction};
use super::handshake::{
    ClientCertificate, EarlyData, EarlyDataRejected, NotResumed, PeerChainCheck, SessionSource,
};
use crate::config::ech::EchStatus;
use crate::config::handshake_kind::HandshakeKind;

/// Defines the labels of an enum, one for each variant.
macro_rules! labels {
    ($($enum:ident { $($variant:ident => $label:literal,)+ })+) => {$(
        impl $enum {
            /// All labels, in the order of the variants. Later versions may add labels, but never
            /// change or remove one.
            pub const LABELS: &'static [&'static str] = &[$($label),+];

            /// Returns a short, stable name for metrics: the variant's name in snake case, without
            /// the content. It is one of [`LABELS`](Self::LABELS).
            pub fn label(self) -> &'static str {
                Self::LABELS[self.label_index()]
            }

            /// Returns the position of the [`label`](Self::label) in [`LABELS`](Self::LABELS).
            pub fn label_index(self) -> usize {
                /// The variants without their content.
                enum Index { $($variant),+ }

                match self {
                    $(Self::$variant { .. } => Index::$variant as usize,)+
                }
            }
        }
    )+};
}

labels! {
    Carrier {
        Records => "records",
        Quic => "quic",
    }

    HandshakeKind {
        Full => "full",
        FullWithHelloRetryRequest => "full_with_hello_retry_request",
        Resumed => "resumed",
    }

    SessionSource {
        Ticket => "ticket",
        Storage => "storage",
    }

    NotResumed {
        NoSessions => "no_sessions",
        UnreadableTicket => "unreadable_ticket",
        NotStored => "not_stored",
        OtherFormat => "other_format",
        OtherCipherSuite => "other_cipher_suite",
        OtherCarrier => "other_carrier",
        Expired => "expired",
        TooLongAgo => "too_long_ago",
        OtherServerName => "other_server_name",
        OtherPolicy => "other_policy",
        OtherCertificate => "other_certificate",
        ClientNotAccepted => "client_not_accepted",
        NoExtendedMasterSecret => "no_extended_master_secret",
        NoKeyExchangeMode => "no_key_exchange_mode",
        VersionDisabled => "version_disabled",
        TooLong => "too_long",
        RefusedByServer => "refused_by_server",
    }

    EarlyData {
        NotOffered => "not_offered",
        Offered => "offered",
        Accepted => "accepted",
        Rejected => "rejected",
    }

    EarlyDataRejected {
        ByServer => "by_server",
        ByApplication => "by_application",
        NotResumed => "not_resumed",
        HelloRetryRequest => "hello_retry_request",
        NotAllowed => "not_allowed",
        OtherSession => "other_session",
        OtherCipherSuite => "other_cipher_suite",
        OtherProtocol => "other_protocol",
        OtherCarrier => "other_carrier",
        Replayable => "replayable",
        TicketAge => "ticket_age",
    }

    EchStatus {
        NotOffered => "not_offered",
        Grease => "grease",
        Offered => "offered",
        Accepted => "accepted",
        Rejected => "rejected",
    }

    ClientCertificate {
        NotRequested => "not_requested",
        Missing => "missing",
        Sent => "sent",
    }

    PeerChainCheck {
        None => "none",
        Verified => "verified",
        Known => "known",
    }

    Fault {
        Peer => "peer",
        Local => "local",
        Network => "network",
        Application => "application",
    }

    Alert {
        Sent => "sent",
        Received => "received",
    }

    Direction {
        Sending => "sending",
        Receiving => "receiving",
    }

    TicketAction {
        Made => "made",
        Received => "received",
        Refused => "refused",
    }

    End {
        Clean => "clean",
        Truncated => "truncated",
        Failed => "failed",
        Extracted => "extracted",
        Dropped => "dropped",
    }
}
