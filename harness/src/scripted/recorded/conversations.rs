//! The available conversations, and the names of their flights.

use std::sync::OnceLock;

use super::conversation::Conversation;
use crate::peers::configs::{ClientAuth, Versions};
use crate::providers::transparent::{Resumes, Setup};

/// A conversation with the names of its flights to client and server. Flights without a name also
/// occur in another conversation.
pub(super) type Named = (&'static Conversation, [&'static [&'static str]; 2]);

/// The conversations, with hashed transcripts or without.
pub(super) fn conversations(hashes_transcript: bool) -> &'static [Named] {
    static MADE: [OnceLock<Vec<Named>>; 2] = [const { OnceLock::new() }; 2];
    MADE[usize::from(hashes_transcript)].get_or_init(|| {
        let setup = |auth| Setup {
            hashes_transcript,
            ..Setup::usual(auth)
        };
        let mut named = tls13(setup);
        named.extend(tls12(setup));
        named.extend(quic(setup));
        named
    })
}

fn make(setup: Setup, resumes: bool) -> &'static Conversation {
    Box::leak(Box::new(Conversation::new(setup, resumes)))
}

fn tls13(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let with_retry = Setup {
        retry: true,
        ..setup(ClientAuth::None)
    };
    let resuming = Setup {
        resumes: Some(Resumes::Stored),
        ..setup(ClientAuth::None)
    };
    let early_data = Setup {
        early_data: true,
        ..resuming
    };
    let early_data_with_retry = Setup {
        retry: true,
        ..early_data
    };
    let resuming_with_retry = Setup {
        retry: true,
        ..resuming
    };
    let with_compression = Setup {
        compresses: true,
        ..setup(ClientAuth::Required)
    };
    let compressing = || -> Named {
        (
            make(with_compression, false),
            [
                &["server's flight, compressed", ""],
                &["", "client's flight, compressed", ""],
            ],
        )
    };
    let mut conversations: Vec<Named> = vec![
        (
            make(setup(ClientAuth::Required), false),
            [
                &["server's flight", "server's traffic"],
                &["ClientHello", "client's flight", "client's traffic"],
            ],
        ),
        (
            make(with_retry, false),
            [
                &["HelloRetryRequest", "server's flight after retry", ""],
                &["ClientHello before retry", "second ClientHello", "", ""],
            ],
        ),
        (
            make(setup(ClientAuth::OptionalAbsent), false),
            [&["", ""], &["", "client's flight without certificate", ""]],
        ),
        (
            make(resuming, true),
            [
                &["server's flight, resumed", ""],
                &["ClientHello with a PSK", "client's flight, resumed", ""],
            ],
        ),
        (
            make(resuming_with_retry, true),
            [
                &["HelloRetryRequest for a PSK", "", ""],
                &["", "second ClientHello with a PSK", "", ""],
            ],
        ),
        (
            make(early_data, true),
            [
                &["server's flight for early data", ""],
                &[
                    "ClientHello and early data",
                    "client's flight after early data",
                    "",
                ],
            ],
        ),
        (
            make(early_data_with_retry, true),
            [
                &["", "", ""],
                &[
                    "ClientHello and early data before retry",
                    "second ClientHello after early data",
                    "",
                    "",
                ],
            ],
        ),
    ];
    if cfg!(feature = "compression") {
        conversations.insert(0, compressing());
    }
    conversations
}

/// TLS 1.2, and connections with both versions enabled.
fn tls12(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let tls12 = |auth| Setup {
        versions: [Versions::Tls12; 2],
        ..setup(auth)
    };
    let with = |versions| Setup {
        versions,
        ..setup(ClientAuth::None)
    };
    let resuming = |resumes| Setup {
        resumes: Some(resumes),
        ..tls12(ClientAuth::None)
    };
    vec![
        (
            make(tls12(ClientAuth::Required), false),
            [
                &[
                    "server's flight of 1.2",
                    "server's Finished of 1.2",
                    "server's traffic of 1.2",
                ],
                &[
                    "ClientHello of 1.2",
                    "client's flight of 1.2",
                    "client's traffic of 1.2",
                ],
            ],
        ),
        (
            make(tls12(ClientAuth::OptionalAbsent), false),
            [
                &["", "", ""],
                &["", "client's flight of 1.2 without certificate", ""],
            ],
        ),
        (
            make(resuming(Resumes::Tickets), false),
            [
                &["", "server's Finished of 1.2 with a ticket", ""],
                &["", "", ""],
            ],
        ),
        (
            make(resuming(Resumes::Stored), true),
            [
                &["server's flight of 1.2, by session ID", ""],
                &[
                    "ClientHello of 1.2, by session ID",
                    "client's flight of 1.2, by session ID",
                    "",
                ],
            ],
        ),
        (
            make(resuming(Resumes::Tickets), true),
            [
                &["server's flight of 1.2, by ticket", ""],
                &["ClientHello of 1.2, by ticket", "", ""],
            ],
        ),
        (
            make(with([Versions::Both, Versions::Tls12]), false),
            [
                &["server's flight of 1.2 to a client of both", "", ""],
                &["ClientHello of both to a server of 1.2", "", ""],
            ],
        ),
        (
            make(with([Versions::Tls12, Versions::Both]), false),
            [
                &["", "", ""],
                &["ClientHello of 1.2 to a server of both", "", ""],
            ],
        ),
        (
            make(with([Versions::Both; 2]), false),
            [
                &["server's flight to a client of both", ""],
                &["ClientHello of both", "", ""],
            ],
        ),
    ]
}

/// QUIC, with the contents that records would have.
fn quic(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let quic = |auth| Setup {
        quic: true,
        ..setup(auth)
    };
    let with_retry = Setup {
        retry: true,
        ..quic(ClientAuth::None)
    };
    let early_data = Setup {
        resumes: Some(Resumes::Stored),
        early_data: true,
        ..quic(ClientAuth::None)
    };
    vec![
        (
            make(quic(ClientAuth::Required), false),
            [
                &["server's flight over QUIC", ""],
                &["ClientHello over QUIC", "client's flight over QUIC", ""],
            ],
        ),
        (
            make(with_retry, false),
            [
                &["HelloRetryRequest over QUIC", "", ""],
                &["", "second ClientHello over QUIC", "", ""],
            ],
        ),
        (
            make(early_data, true),
            [
                &[
                    "server's flight for early data over QUIC",
                    "ticket over QUIC",
                ],
                &[
                    "ClientHello for early data over QUIC",
                    "client's flight after early data over QUIC",
                    "",
                ],
            ],
        ),
    ]
}
