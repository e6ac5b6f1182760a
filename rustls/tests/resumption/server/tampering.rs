//! Tests of tickets, identities and binders with each byte changed.

use std::sync::Arc;

use harness::peers::configs::PROVIDERS;
use harness::peers::servers::{Server, Settings, hello, servers};
use harness::providers::tickets::this::Tickets;
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

/// RFC 9846 §4.7.1: a PSK is as long as the hash.
#[test]
fn sessions_with_a_psk_of_another_length_get_a_full_handshake() {
    for settings in PROVIDERS.map(Settings::new) {
        let mut config = settings.ours();
        // the ticketer does not encrypt, so that tickets can be changed
        let copy = |bytes: &[u8]| Some(bytes.to_vec());
        config.ticketer = Arc::new(Tickets::new(60 * 60, copy, copy));
        let server = Server::Buffered(Arc::new(config));
        let ticket = server.tickets(&settings).remove(0);
        let psk_len = ticket.psk.len();
        let mut places = ticket.ticket.windows(psk_len);
        let psk = places.position(|at| at == ticket.psk).unwrap();
        for len in [psk_len, psk_len - 1, psk_len + 1, 1, 255] {
            let mut changed = ticket.clone();
            changed.psk.resize(len, 7);
            changed.ticket[psk - 1] = len as u8;
            let other = changed.psk.iter().copied();
            changed.ticket.splice(psk..psk + psk_len, other);
            let resumed = server.resumes(&settings, hello(), &changed.offer(0));
            assert_eq!(resumed, len == psk_len, "{len} bytes");
        }
    }
}

/// A binder that was shortened or lengthened is invalid. RFC 9846 §4.3.11: the number of binders
/// must equal that of identities.
#[test]
fn binders_of_a_wrong_length_or_number_are_refused() {
    const WRONG: &str = "PeerMisbehaved(IncorrectBinder)";
    const MISSING: &str = "PeerMisbehaved(PskExtensionWithMismatchedIdsAndBinders)";

    type Edit = fn(&mut Vec<u8>);
    let longer: Edit = |body| resize(body, 1);
    let shorter: Edit = |body| resize(body, -1);
    // two binders of 33 bytes each
    let without_one: Edit = |body| {
        let list = body.len() - 2 * 33;
        body.truncate(body.len() - 33);
        body[list - 1] = 33;
    };
    for (settings, server) in servers(Settings::new) {
        for (edit, expected) in [(longer, WRONG), (shorter, WRONG), (without_one, MISSING)] {
            let mut offer = server.tickets(&settings).remove(0).offer(0);
            if expected == MISSING {
                offer.identities.push((b"another".to_vec(), 0));
            }
            assert_eq!(refused(&settings, &server, offer, edit), expected);
        }
    }
}

/// Changes the length of the only binder.
fn resize(body: &mut Vec<u8>, change: i8) {
    let binder = body.len() - BINDER_LEN;
    body.resize(body.len().wrapping_add_signed(change.into()), 0);
    body[binder - 1] = body[binder - 1].wrapping_add_signed(change);
    body[binder - 2] = body[binder - 2].wrapping_add_signed(change);
}

/// Sends an offer with an edited pre_shared_key. Checks the alert and returns the error of the
/// server.
fn refused(
    settings: &Settings,
    server: &Server,
    mut offer: OfferedPsk,
    edit: impl Fn(&mut Vec<u8>) + 'static,
) -> String {
    offer.edit = Arc::new(edit);
    let refused = server
        .connect(settings, hello(), Some(&offer))
        .err()
        .unwrap();
    // decrypt_error or illegal_parameter
    let is_wrong = refused.error.contains("IncorrectBinder");
    let alert = if is_wrong { 51 } else { 47 };
    assert_eq!(refused.alert.as_deref(), Some(&[2, alert][..]));
    refused.error
}
