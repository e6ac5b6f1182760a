//! The available conversations, and the names of their flights.

use std::sync::OnceLock;

use super::conversation::Conversation;
use crate::peers::configs::{ClientAuth, Versions};
use crate::providers::transparent::{Resumes, Setup};

/// A conversation, with the names of its flights to client and server. Flights without a name also
/// occur in another conversation.
pub(super) type Named = (&'static Conversation, [Vec<&'static str>; 2]);

/// Returns the conversations, with or without hashed transcripts.
pub(super) fn conversations(hashes_transcript: bool) -> &'static [Named] {
    static MADE: [OnceLock<Vec<Named>>; 2] = [const { OnceLock::new() }; 2];
    MADE[usize::from(hashes_transcript)].get_or_init(|| {
        let setup = |auth| Setup {
            hashes_transcript,
            ..Setup::usual(auth)
        };
        [tls13(setup), tls12(setup), quic(setup)].concat()
    })
}

/// Returns the first connection of `setup`. Semicolons separate the names of the flights.
fn first(setup: Setup, to_client: &'static str, to_server: &'static str) -> Named {
    named(setup, false, [to_client, to_server])
}

/// Creates a connection that resumes the session of the first one.
fn resumed(setup: Setup, to_client: &'static str, to_server: &'static str) -> Named {
    named(setup, true, [to_client, to_server])
}

fn named(setup: Setup, resumes: bool, names: [&'static str; 2]) -> Named {
    let conversation = Box::leak(Box::new(Conversation::new(setup, resumes)));
    let names = names.map(|names| names.split(';').map(str::trim).collect());
    (conversation, names)
}

fn tls13(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let none = setup(ClientAuth::None);
    let resuming = none.resuming(Resumes::Stored);
    let early_data = none.with_early_data();
    let compressed = || {
        first(
            setup(ClientAuth::Required).compressing(),
            "server's flight, compressed;",
            "; client's flight, compressed;",
        )
    };
    let compressed = cfg!(feature = "compression").then(compressed);
    let others = [
        first(
            setup(ClientAuth::Required),
            "server's flight; server's traffic",
            "ClientHello; client's flight; client's traffic",
        ),
        first(
            none.with_retry(),
            "HelloRetryRequest; server's flight after retry;",
            "ClientHello before retry; second ClientHello;;",
        ),
        first(
            setup(ClientAuth::OptionalAbsent),
            ";",
            "; client's flight without certificate;",
        ),
        resumed(
            resuming,
            "server's flight, resumed;",
            "ClientHello with a PSK; client's flight, resumed;",
        ),
        resumed(
            resuming.with_retry(),
            "HelloRetryRequest for a PSK;;",
            "; second ClientHello with a PSK;;",
        ),
        resumed(
            early_data,
            "server's flight for early data;",
            "ClientHello and early data; client's flight after early data;",
        ),
        resumed(
            early_data.with_retry(),
            ";;",
            "ClientHello and early data before retry; second ClientHello after early data;;",
        ),
    ];
    compressed.into_iter().chain(others).collect()
}

/// TLS 1.2, and connections with both versions enabled.
fn tls12(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let tls12 = |auth| setup(auth).with_versions([Versions::Tls12; 2]);
    let with = |versions| setup(ClientAuth::None).with_versions(versions);
    let resuming = |resumes| tls12(ClientAuth::None).resuming(resumes);
    vec![
        first(
            tls12(ClientAuth::Required),
            "server's flight of 1.2; server's Finished of 1.2; server's traffic of 1.2",
            "ClientHello of 1.2; client's flight of 1.2; client's traffic of 1.2",
        ),
        first(
            tls12(ClientAuth::OptionalAbsent),
            ";;",
            "; client's flight of 1.2 without certificate;",
        ),
        first(
            resuming(Resumes::Tickets),
            "; server's Finished of 1.2 with a ticket;",
            ";;",
        ),
        resumed(
            resuming(Resumes::Stored),
            "server's flight of 1.2, by session ID;",
            "ClientHello of 1.2, by session ID; client's flight of 1.2, by session ID;",
        ),
        resumed(
            resuming(Resumes::Tickets),
            "server's flight of 1.2, by ticket;",
            "ClientHello of 1.2, by ticket;;",
        ),
        first(
            with([Versions::Both, Versions::Tls12]),
            "server's flight of 1.2 to a client of both;;",
            "ClientHello of both to a server of 1.2;;",
        ),
        first(
            with([Versions::Tls12, Versions::Both]),
            ";;",
            "ClientHello of 1.2 to a server of both;;",
        ),
        first(
            with([Versions::Both; 2]),
            "server's flight to a client of both;",
            "ClientHello of both;;",
        ),
    ]
}

/// QUIC, with the same contents as over records.
fn quic(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let none = setup(ClientAuth::None).over_quic();
    vec![
        first(
            setup(ClientAuth::Required).over_quic(),
            "server's flight over QUIC;",
            "ClientHello over QUIC; client's flight over QUIC;",
        ),
        first(
            none.with_retry(),
            "HelloRetryRequest over QUIC;;",
            "; second ClientHello over QUIC;;",
        ),
        resumed(
            none.with_early_data(),
            "server's flight for early data over QUIC; ticket over QUIC",
            "ClientHello for early data over QUIC; client's flight after early data over QUIC;",
        ),
    ]
}
