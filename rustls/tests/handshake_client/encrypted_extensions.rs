//! Answers in EncryptedExtensions (RFC 9846 §4.4.1). `differential` inserts and changes every
//! extension.

use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::scripted::{Script, bytes};
use harness::table;
use harness::wire::client_hello::protocols;
use rustls::{AlertDescription as Alert, InvalidMessage, PeerMisbehaved};

use crate::handshake_client::clients::{config, our_client, provider, their_client};
use crate::handshake_client::{ACCEPTED, Peers, illegal, script, undecodable};

fn with(typ: u16, body: &[u8]) -> Script {
    script(|script| script.encrypted_extensions = vec![bytes(typ, body)])
}

#[test]
fn answers_to_sent_extensions_are_accepted() {
    let name_and_groups = vec![bytes(0, &[]), bytes(10, &[0, 2, 0, 29])];
    Peers::new().both_accept([script(|it| it.encrypted_extensions = name_and_groups)]);
}

#[test]
fn forbidden_and_malformed_extensions_are_refused() {
    let peers = Peers::new();
    let disallowed = || illegal(PeerMisbehaved::DisallowedEncryptedExtension);
    let key_share = with(51, &[0, 29, 0, 1, 1]);
    peers.both_refuse_alerting(table! {
        "supported_versions": with(43, &[3, 4]), disallowed(), Alert::UnsupportedExtension;
        "key_share": key_share, disallowed(), Alert::UnsupportedExtension;
    });
    peers.only_we_refuse(table! {
        "status_request": with(5, &[]), disallowed();
        "signature_algorithms": with(13, &[0, 2, 4, 3]), disallowed();
        "psk_key_exchange_modes": with(45, &[1, 1]), disallowed();
    });
    let groups = bytes(10, &[0, 2, 0, 29]);
    let twice = script(|script| script.encrypted_extensions = vec![groups; 2]);
    peers.both_refuse(table! {
        "a name": with(0, &[1]), undecodable(InvalidMessage::TrailingData("Empty"));
        "groups twice": twice, illegal(InvalidMessage::DuplicateExtension(10));
    });
}

/// Both clients offer h2, and the server selects.
#[test]
fn the_selected_protocol_must_have_been_offered_unless_the_check_is_off() {
    let peers = Peers::new();
    let select = |name: &[u8]| with(16, &protocols(&[name]));
    let clients = |check_selected_alpn| -> (ThisBuffered, UpstreamBuffered) {
        let mut ours = config(&peers.identity, provider());
        ours.alpn_protocols = vec![b"h2".to_vec()];
        ours.check_selected_alpn = check_selected_alpn;
        (our_client(ours), their_client(&peers.identity, &[b"h2"]))
    };
    let run = |client: &mut dyn Endpoint, script: &Script| peers.identity.run(client, script);

    let refused = illegal(PeerMisbehaved::SelectedUnofferedApplicationProtocol);
    for (name, expected) in [(b"h2", ACCEPTED), (b"h3", refused)] {
        let (mut ours, mut theirs) = clients(true);
        assert_eq!(run(&mut ours, &select(name)), expected);
        assert_eq!(run(&mut theirs, &select(name)), expected);
    }
    for (checks, script, selected) in [
        (true, select(b"h2"), Some(&b"h2"[..])),
        (false, select(b"h3"), Some(b"h3")),
        (true, Script::new(), None),
    ] {
        let (mut ours, _) = clients(checks);
        assert_eq!(run(&mut ours, &script), ACCEPTED);
        assert_eq!(ours.conn.alpn_protocol(), selected);
    }
}
