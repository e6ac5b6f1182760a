//! Floods of useless records: the number that a connection accepts, of one kind and of several
//! kinds that alternate.

use harness::peers::configs::{ClientAuth, Versions, product};
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::this::Config;
use harness::peers::roles::{ROLES, Role, upstream};
use harness::providers::transparent::{self, Setup};
use harness::scripted::recorded::flights::{Framing, Record};
use harness::wire::client_hello::ClientHello;
use harness::wire::message;
use rustls::ContentType;

use crate::behaviour::transparent::{alert, data, key_update};

/// Returns connections in `role` after the handshake: of both APIs of this crate, then of upstream.
fn connected(role: Role) -> [Box<dyn Endpoint>; 3] {
    connected_of(Versions::Tls13, role)
}

fn connected_of(versions: Versions, role: Role) -> [Box<dyn Endpoint>; 3] {
    let setup = Setup::usual(ClientAuth::None).with_versions([versions; 2]);
    let ours = transparent::this::Configs::new(setup);
    let theirs = transparent::upstream::Configs::new(setup);
    let (client, server) = (Config::Client(ours.client), Config::Server(ours.server));
    let (ours, peer) = role.client_and_server(client, server);
    let theirs = match role {
        Role::Client => upstream::Config::Client(theirs.client),
        Role::Server => upstream::Config::Server(theirs.server),
    };
    let ends: [Box<dyn Endpoint>; 3] = [
        Box::new(ours.buffered()),
        ours.unbuffered(),
        Box::new(theirs.buffered()),
    ];
    ends.map(|mut end| {
        role.handshake(&mut *end, &mut peer.buffered());
        end
    })
}

/// Returns the rounds of `records` that an end accepts, at most 1000, and the error that stopped
/// it.
fn rounds(end: &mut dyn Endpoint, records: &[Vec<u8>]) -> (usize, String) {
    for round in 0..1000 {
        for record in records {
            if let Err(error) = end.receive(record) {
                return (round, error);
            }
            end.take_output();
        }
        end.read_into(&mut Vec::new());
    }
    (1000, String::new())
}

/// Useless records are bounded in both versions.
#[test]
fn floods_of_useless_records_are_bounded() {
    use ContentType::{Alert, ApplicationData, Handshake};
    let (hello_request, hello) = (message(0, &[]), ClientHello::tls12().message());
    let (key_update, renegotiation) = (message(24, &[1]), "TooManyRenegotiationRequests");
    let (empty, warnings) = ("TooManyEmptyFragments", "TooManyWarningAlertsReceived");
    let (tls12, tls13) = (Versions::Tls12, Versions::Tls13);
    for role in ROLES {
        let new_hello = match role {
            Role::Client => &hello_request,
            Role::Server => &hello,
        };
        for (versions, typ, content, what) in [
            (tls13, ApplicationData, &b""[..], empty),
            (tls12, ApplicationData, b"", empty),
            (tls13, Alert, &[1, 90], warnings),
            (tls12, Alert, &[1, 90], warnings),
            (tls13, Handshake, &key_update, "TooManyKeyUpdateRequests"),
            (tls12, Handshake, new_hello, renegotiation),
        ] {
            let framing = match versions {
                Versions::Tls12 => Framing::Tls12,
                _ => Framing::Tls13,
            };
            let record = Record::protected(framing, typ.into(), content).encode();
            let [buffered, unbuffered, _] = connected_of(versions, role);
            for mut end in [buffered, unbuffered] {
                let (count, error) = rounds(&mut *end, std::slice::from_ref(&record));
                assert!(count < 100, "{versions:?} {role:?} {what}: {count}");
                let expected = format!("PeerMisbehaved({what})");
                assert_eq!(error, expected, "{versions:?} {role:?}");
            }
        }
    }
}

/// Data does not reset the count of warnings, because an honest peer sends at most one.
#[test]
fn warnings_are_counted_across_other_records() {
    let expected = (4, "PeerMisbehaved(TooManyWarningAlertsReceived)".to_owned());
    let between = [vec![], data(b"x"), data(b""), key_update(0), key_update(1)];
    for (role, between) in product(ROLES, between) {
        // user_canceled
        let records = [between, alert(1, 90)];
        for mut end in connected(role) {
            let rounds = rounds(&mut *end, &records);
            assert_eq!(rounds, expected, "{role:?} {records:?}");
        }
    }
}

#[test]
fn data_resets_the_count_of_key_updates_and_empty_records() {
    for role in ROLES {
        for mut end in connected(role) {
            let records = [key_update(1), data(b""), data(b"x")];
            assert_eq!(rounds(&mut *end, &records).0, 1000, "{role:?}");
        }
    }
}

/// An empty record does not count as data. Upstream accepts unlimited KeyUpdates this way.
#[test]
fn empty_records_do_not_reset_the_count_of_key_updates() {
    let expected = (32, "PeerMisbehaved(TooManyKeyUpdateRequests)".to_owned());
    for (role, request) in product(ROLES, [0, 1]) {
        let [buffered, unbuffered, _] = connected(role);
        for mut end in [buffered, unbuffered] {
            let records = [data(b""), key_update(request)];
            assert_eq!(rounds(&mut *end, &records), expected, "{role:?} {request}");
        }
    }
}
