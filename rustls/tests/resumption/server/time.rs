//! Tests of the time for which sessions can be resumed. Upstream's server trusts the client and
//! resumes sessions of any age.

use harness::peers::configs::PROVIDERS;
use harness::peers::servers::{Settings, hello};

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// RFC 9846 §4.3.11, §4.7.1: sessions resume for the lifetime of the ticket.
#[test]
fn sessions_expire() {
    for settings in Settings::all() {
        for server in settings.our_servers() {
            let lifetime = i64::from(server.tickets(&settings)[0].lifetime);
            assert!((HOUR..=7 * DAY).contains(&lifetime));
            for (passed, resumes) in [
                (0, true),
                (lifetime, true),
                (lifetime + 1, false),
                (8 * DAY, false),
                // a clock that was set back
                (-HOUR, true),
                (-lifetime - 1, false),
            ] {
                let settings = settings.clone();
                let ticket = server.tickets(&settings).remove(0);
                settings.clock.advance(passed);
                let resumed = server.resumes(&settings, hello(), &ticket.offer(0));
                settings.clock.advance(-passed);
                assert_eq!(resumed, resumes, "after {passed} seconds");
            }
        }
    }
}

/// RFC 9846 §4.7.1: a chain of sessions ends.
#[test]
fn resumption_does_not_extend_sessions_forever() {
    for settings in PROVIDERS.map(Settings::new) {
        for server in settings.our_servers() {
            let mut ticket = server.tickets(&settings).remove(0);
            for hours in (20..200).step_by(20) {
                settings.clock.advance(20 * HOUR);
                let offer = ticket.offer(20 * 60 * 60 * 1000);
                let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
                assert_eq!(client.is_resumed, hours <= 7 * 24, "after {hours} hours");
                client.start_handshake();
                client.finish().unwrap();
                if !client.is_resumed {
                    break;
                }
                ticket = client.tickets().remove(0);
                // tickets do not announce a longer lifetime either
                assert!(hours * HOUR + i64::from(ticket.lifetime) <= 7 * DAY);
            }
        }
    }
}
