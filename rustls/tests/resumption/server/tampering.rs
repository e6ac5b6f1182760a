//! Tickets, identities and binders with each byte changed.

use std::sync::Arc;

use harness::peers::servers::{Server, Settings, hello, servers};
use harness::scripted::OfferedPsk;

/// The length in bytes of a SHA-256 binder.
const BINDER_LEN: usize = 32;

/// RFC 9846 §4.3.11: an unknown ticket is ignored.
#[test]
fn changed_tickets_get_a_full_handshake() {
    for settings in Settings::all() {
        for server in settings.servers() {
            let ticket = server.tickets(&settings).remove(0);
            for at in 0..ticket.ticket.len() {
                let mut changed = ticket.clone();
                changed.ticket[at] ^= 1;
                assert!(!server.resumes(&settings, hello(), &changed.offer(0)));
            }
            for len in (1..ticket.ticket.len()).step_by(9) {
                let mut cut = ticket.clone();
                cut.ticket.truncate(len);
                assert!(!server.resumes(&settings, hello(), &cut.offer(0)));
            }
            let mut longer = ticket.clone();
            longer.ticket.push(0);
            assert!(!server.resumes(&settings, hello(), &longer.offer(0)));

            // RFC 9846 §4.3.10: the age matters for early data only
            assert!(server.resumes(&settings, hello(), &ticket.offer(0x8000_0000)));
        }
    }
}

/// RFC 9846 §4.3.11: an invalid binder aborts the handshake.
#[test]
fn changed_binders_are_refused() {
    for settings in Settings::all() {
        for server in settings.servers() {
            let mut tickets = Vec::new();
            for at in 0..BINDER_LEN {
                if tickets.is_empty() {
                    tickets = server.tickets(&settings);
                }
                let offer = tickets.remove(0).offer(0);
                let refused = connect_edited(&settings, &server, offer, move |body| {
                    let end = body.len();
                    body[end - BINDER_LEN + at] ^= 0x80 >> (at % 8);
                })
                .unwrap_err();
                assert_eq!(refused, "PeerMisbehaved(IncorrectBinder)", "decrypt_error");
            }
        }
    }
}

/// A binder with the right bytes but another length.
#[test]
fn binders_of_other_lengths_are_refused() {
    for (settings, server) in servers(Settings::new) {
        for (change, expected) in [
            (1, "PeerMisbehaved(IncorrectBinder)"),
            (-1, "PeerMisbehaved(IncorrectBinder)"),
        ] {
            let ticket = server.tickets(&settings).remove(0);
            let edit = move |body: &mut Vec<u8>| {
                let binder = body.len() - BINDER_LEN;
                if change > 0 {
                    body.push(0);
                } else {
                    body.pop();
                }
                body[binder - 1] = body[binder - 1].wrapping_add_signed(change);
                body[binder - 2] = body[binder - 2].wrapping_add_signed(change);
            };
            let refused = connect_edited(&settings, &server, ticket.offer(0), edit).unwrap_err();
            assert_eq!(refused, expected);
        }
    }
}

/// The number of binders must equal that of identities, otherwise illegal_parameter.
#[test]
fn missing_binders_are_refused() {
    for (settings, server) in servers(Settings::new) {
        let ticket = server.tickets(&settings).remove(0);
        let mut offer = ticket.offer(0);
        offer.identities.push((b"another".to_vec(), 0));
        let edit = |body: &mut Vec<u8>| {
            // two binders of 33 bytes each
            let list = body.len() - 2 * 33;
            body.truncate(body.len() - 33);
            body[list - 1] = 33;
        };
        let refused = connect_edited(&settings, &server, offer, edit).unwrap_err();
        assert_eq!(
            refused,
            "PeerMisbehaved(PskExtensionWithMismatchedIdsAndBinders)"
        );
    }
}

/// Connects with an edited pre_shared_key. Returns the error of a refusal, whose alert is checked.
fn connect_edited(
    settings: &Settings,
    server: &Server,
    mut offer: OfferedPsk,
    edit: impl Fn(&mut Vec<u8>) + 'static,
) -> Result<(), String> {
    offer.edit = Arc::new(edit);
    match server.connect(settings, hello(), Some(&offer)) {
        Ok(_) => Ok(()),
        Err(refused) => {
            let expected = if refused.error.contains("IncorrectBinder") {
                // decrypt_error
                [2, 51]
            } else {
                // illegal_parameter
                [2, 47]
            };
            assert_eq!(refused.alert.as_deref(), Some(&expected[..]));
            Err(refused.error)
        }
    }
}
