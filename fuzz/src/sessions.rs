//! Tickets and stored sessions of a server. Changed tickets must not open. Arbitrary bytes may also
//! replace a session's plaintext. They must resume a session exactly if a second parser accepts
//! them as a fitting one.

mod scenes;
mod value;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use harness::peers::configs::ClientAuth;
use harness::providers::transparent::{NOW, Resumes};
use pki_types::UnixTime;
use rustls::server::ProducesTickets;

pub use self::scenes::scenes;
use self::scenes::{Scene, Version, set_found};
use self::value::{SESSION_13, Session};
use super::input::Input;

/// The first byte chooses tickets of a provider, or a scene whose server receives a session. The
/// rest is the session, or changes to a genuine one.
pub fn sessions(input: &[u8]) {
    let mut input = Input::new(input);
    let choice = input.byte();
    match choice % 8 {
        0 | 1 => sealed(usize::from(choice % 2), &mut input),
        _ => {
            let all = scenes();
            let scene = &all[usize::from(choice % 8 - 2) % all.len()];
            let value = changed(choice >> 6, &scene.value, &mut input);
            resumption(scene, &value);
        }
    }
}

/// The lifetimes of sessions in seconds: in tickets, and in a storage.
const TICKET_LIFETIME: u64 = 60 * 60;
const STORED_LIFETIME: u64 = 24 * 60 * 60;
const WEEK: u64 = 7 * 24 * 60 * 60;

/// Returns `genuine` with changes of four bytes each: position (two bytes), operation, value.
/// Alternatively returns only input bytes, or these after a genuine prefix.
fn changed(how: u8, genuine: &[u8], input: &mut Input<'_>) -> Vec<u8> {
    let mut value = genuine.to_vec();
    match how {
        0 => return input.rest.to_vec(),
        1 => {
            value.truncate(usize::from(input.byte()));
            value.extend(input.rest);
            return value;
        }
        _ => {}
    }
    while input.begins_step(16) {
        let at = usize::from(u16::from_be_bytes([input.byte(), input.byte()])) % (value.len() + 1);
        let (what, byte) = (input.byte(), input.byte());
        match what % 4 {
            0 => value.insert(at, byte),
            1 => value.truncate(at),
            _ if at == value.len() => {}
            2 => value[at] ^= byte,
            _ => drop(value.remove(at)),
        }
    }
    value
}

/// Checks the ticketers of both providers, with the same secret and with their own, with a ticket
/// of each.
fn sealed(which: usize, input: &mut Input<'_>) {
    const PLAIN: &[u8] = b"some session of a client";
    type Sealed = (Arc<dyn ProducesTickets>, Vec<u8>);
    static MADE: OnceLock<[Sealed; 4]> = OnceLock::new();
    let all = MADE.get_or_init(|| {
        let clock = || Some(UnixTime::since_unix_epoch(Duration::from_secs(NOW)));
        let secret = [7; 32];
        let (ring, aws_lc) = (
            rustls_provider_ring::Ticketer::for_fleet_with_clock(&secret, 3600, clock),
            rustls_provider_aws_lc::Ticketer::for_fleet_with_clock(&secret, 3600, clock),
        );
        [
            ring,
            aws_lc,
            rustls_provider_ring::Ticketer::new(),
            rustls_provider_aws_lc::Ticketer::new(),
        ]
        .map(|ticketer| {
            let ticketer = ticketer.unwrap();
            let ticket = ticketer.encrypt(PLAIN).unwrap();
            (ticketer, ticket)
        })
    });
    let how = input.byte();
    let genuine = &all[which + usize::from(how & 2)].1;
    let ticket = changed(how >> 6, genuine, input);
    for (number, (ticketer, _)) in all.iter().enumerate() {
        // ticketers with a common secret accept each other's tickets
        let is_its_own = match number {
            0 | 1 => ticket == all[0].1 || ticket == all[1].1,
            own => ticket == all[own].1,
        };
        let expected = is_its_own.then_some(PLAIN);
        assert_eq!(ticketer.decrypt(&ticket).as_deref(), expected);
    }
}

/// The answer of a server.
#[derive(Debug, PartialEq)]
enum Answer {
    Full,
    Resumed,
    /// RFC 9846 §4.3.11: the key differs from the client's.
    IncorrectBinder,
}

/// Offers a session whose stored value is `value` to the server.
fn resumption(scene: &Scene, value: &[u8]) {
    let session = Session::read(value);
    let expected = session
        .as_ref()
        .map_or(Answer::Full, |session| answer(scene, session));

    set_found(Some(value.to_vec()));
    let mut server = scene.server();
    let result = server.end().receive(&scene.hello);
    let incorrect_binder = "PeerMisbehaved(IncorrectBinder)";
    let answered = match &result {
        Err(error) if error == incorrect_binder => Answer::IncorrectBinder,
        Err(error) => panic!("{error}"),
        Ok(()) => match &*server.kind() {
            "Some(Resumed)" => Answer::Resumed,
            "Some(Full)" => Answer::Full,
            other => panic!("{other}"),
        },
    };
    assert_eq!(answered, expected, "{session:?}");
    assert!(server.end().is_handshaking());
    let Some(session) = session.filter(|_| answered == Answer::Resumed) else {
        set_found(None);
        return;
    };

    let accepts_early_data = server.accepts_early_data();
    if let Some(accepts) = accepts_early_data {
        assert_eq!(accepts, allows_early_data(scene, &session));
    }
    if let Some(data) = server.resumption_data() {
        assert_eq!(data, session.application_data);
    }
    // the client's answer to the genuine session
    server.end().take_output();
    let finished = server.end().receive(&scene.finished);
    let has_secret = session.secret == scene.session.secret;
    // the client ends its early data if the server accepted it
    let ends_early_data =
        accepts_early_data.is_none_or(|accepts| accepts == scene.setup.early_data);
    if has_secret && ends_early_data {
        assert_eq!(finished, Ok(()));
        assert!(!server.end().is_handshaking());
        assert_eq!(server.end().peer_certificates(), session.client_chain);
    } else {
        assert!(finished.is_err() && server.end().is_handshaking());
    }
    set_found(None);
}

/// The expected answer to the scene's client, whose session is `scene.session`.
fn answer(scene: &Scene, session: &Session) -> Answer {
    let genuine = &scene.session;
    let lifetime = match scene.setup.resumes {
        Some(Resumes::Stored) => STORED_LIFETIME,
        _ => TICKET_LIFETIME,
    };
    let fits = session.version == genuine.version
        && session.suite == genuine.suite
        && session.secret.len() == genuine.secret.len()
        && NOW.abs_diff(session.issued_at) <= lifetime
        && NOW.abs_diff(session.authenticated_at) <= WEEK
        && session.client_auth == genuine.client_auth
        // `server_auth` does not matter: the server's certificate covers the name that the client
        // requests
        && session.server_name == genuine.server_name;
    let is_carried = match (scene.version, session.carrier) {
        (Version::Quic, 0) => true,
        (Version::Quic, carrier) => carrier == genuine.carrier,
        _ => true,
    };
    if !fits || !is_carried || session.extended_master_secret == Some(false) {
        return Answer::Full;
    }
    if session.version == SESSION_13 && session.secret != genuine.secret {
        return Answer::IncorrectBinder;
    }
    match (scene.setup.auth, session.client_chain.is_empty()) {
        (ClientAuth::Required, true) | (ClientAuth::None, false) => Answer::Full,
        _ => Answer::Resumed,
    }
}

/// True if early data is allowed with the resumed `session`.
fn allows_early_data(scene: &Scene, session: &Session) -> bool {
    let genuine = &scene.session;
    // the client computes the age of a ticket that it has just received
    let age = genuine.age_add.wrapping_sub(session.age_add);
    let expected = session
        .issued_at
        .saturating_mul(1000)
        .saturating_add(age.into());
    scene.setup.early_data
        && scene.setup.resumes == Some(Resumes::Stored)
        && (1..=scene.configs.server.max_early_data_size).contains(&session.max_early_data_size)
        && session.alpn_protocol == genuine.alpn_protocol
        && session.carrier == genuine.carrier
        && (NOW * 1000).abs_diff(expected) <= 60_000
}

#[cfg(test)]
mod tests;
