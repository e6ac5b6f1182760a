//! Invalid EncryptedExtensions: RFC 9846 §4.4.1.

use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::scripted::{Extension, Script, bytes};
use harness::wire::vector;
use rustls::{AlertDescription as Alert, InvalidMessage, PeerMisbehaved};

use crate::handshake_client::clients::{config, our_client, provider, their_client};
use crate::handshake_client::{ACCEPTED, Peers, illegal, script, undecodable, unsupported};

fn with(extensions: Vec<Extension>) -> Script {
    script(|script| script.encrypted_extensions = extensions)
}

#[test]
fn answers_are_accepted() {
    let peers = Peers::new();
    // server_name, supported_groups
    peers.both_accept(&with(vec![bytes(0, &[]), bytes(10, &[0, 2, 0, 29])]));
}

#[test]
fn unsolicited_ones_are_refused() {
    let peers = Peers::new();
    // unknown, heartbeat, ALPN, certificate types, padding, pre_shared_key, early_data, cookie,
    // quic_transport_parameters, encrypted_client_hello
    let unsolicited = [
        (0xfafa, &[][..]),
        (15, &[0]),
        (16, &[0, 3, 2, b'h', b'2']),
        (19, &[0]),
        (20, &[2]),
        (21, &[0]),
        (41, &[0, 0]),
        (42, &[]),
        (44, &[0, 1, 1]),
        (57, &[]),
        (0xfe0d, &[0, 0]),
    ];
    for (typ, body) in unsolicited {
        peers.both_refuse(
            &with(vec![bytes(typ, body)]),
            unsupported(PeerMisbehaved::UnsolicitedEncryptedExtension),
        );
    }
}

#[test]
fn forbidden_ones_are_refused() {
    let peers = Peers::new();
    let error = PeerMisbehaved::DisallowedEncryptedExtension;
    // supported_versions, key_share
    for extension in [bytes(43, &[3, 4]), bytes(51, &[0, 29, 0, 1, 1])] {
        let script = with(vec![extension]);
        peers.both_refuse_alerting(&script, illegal(error.clone()), Alert::UnsupportedExtension);
    }
    // status_request, signature_algorithms, psk_key_exchange_modes
    for extension in [bytes(5, &[]), bytes(13, &[0, 2, 4, 3]), bytes(45, &[1, 1])] {
        let script = with(vec![extension]);
        peers.only_we_refuse(&script, illegal(error.clone()));
    }
}

#[test]
fn malformed_ones_are_refused() {
    let peers = Peers::new();
    peers.both_refuse(
        &with(vec![bytes(0, &[1])]),
        undecodable(InvalidMessage::TrailingData("Empty")),
    );
    peers.both_refuse(
        &with(vec![bytes(10, &[0, 2, 0, 29]); 2]),
        illegal(InvalidMessage::DuplicateExtension(10)),
    );
}

/// Both clients offer h2, and the server selects.
#[test]
fn the_selected_protocol_must_have_been_offered() {
    let peers = Peers::new();
    let select = |name: &[u8]| with(vec![bytes(16, &vector(2, &vector(1, name)))]);
    let clients = |check_selected_alpn| -> (ThisBuffered, UpstreamBuffered) {
        let mut ours = config(&peers.identity, provider());
        ours.alpn_protocols = vec![b"h2".to_vec()];
        ours.check_selected_alpn = check_selected_alpn;
        (our_client(ours), their_client(&peers.identity, &[b"h2"]))
    };

    let (mut ours, mut theirs) = clients(true);
    assert_eq!(peers.identity.run(&mut ours, &select(b"h2")), ACCEPTED);
    assert_eq!(peers.identity.run(&mut theirs, &select(b"h2")), ACCEPTED);
    assert_eq!(ours.conn.alpn_protocol(), Some(&b"h2"[..]));

    let (mut ours, mut theirs) = clients(true);
    let error = PeerMisbehaved::SelectedUnofferedApplicationProtocol;
    let expected = illegal(error);
    let clients_that_check: [&mut dyn Endpoint; 2] = [&mut ours, &mut theirs];
    for client in clients_that_check {
        assert_eq!(peers.identity.run(client, &select(b"h3")), expected);
    }

    let (mut ours, _) = clients(false);
    assert_eq!(peers.identity.run(&mut ours, &select(b"h3")), ACCEPTED);
    assert_eq!(ours.conn.alpn_protocol(), Some(&b"h3"[..]));

    let (mut ours, _) = clients(true);
    assert_eq!(peers.identity.run(&mut ours, &Script::new()), ACCEPTED);
    assert_eq!(ours.conn.alpn_protocol(), None);
}
