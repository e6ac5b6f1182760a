//! Tests of the fleet ticketer. A machine is a ticketer with a shared secret and a clock that the
//! test sets.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use core::time::Duration;
use std::format;

use super::*;
use crate::crypto::GetRandomFailed;
use crate::crypto::tls13::HkdfUsingHmac;
use crate::crypto::toy::{ToyAead, ToyHmac};

const SECRET: [u8; 32] = [0x5e; 32];
const EPOCH: u32 = 6 * 60 * 60;
/// The start of epoch 1000.
const START: u64 = 1000 * EPOCH as u64;
/// The value that makes a clock fail.
const BROKEN: u64 = u64::MAX;

struct Machine {
    tickets: FleetTicketer<ToyAead>,
    clock: Arc<AtomicU64>,
}

impl Machine {
    fn new(secret: &[u8], epoch_secs: u32) -> Self {
        let clock = Arc::new(AtomicU64::new(START));
        let time = clock.clone();
        let clock_fn = move || match time.load(Ordering::Relaxed) {
            BROKEN => None,
            secs => Some(UnixTime::since_unix_epoch(Duration::from_secs(secs))),
        };
        Self {
            tickets: FleetTicketer::new(secret, epoch_secs, crypto(&RANDOM), clock_fn).unwrap(),
            clock,
        }
    }

    fn at(&self, secs: u64) -> &FleetTicketer<ToyAead> {
        self.clock.store(secs, Ordering::Relaxed);
        &self.tickets
    }
}

fn crypto(random: &'static dyn SecureRandom) -> FleetCrypto<ToyAead> {
    FleetCrypto {
        hkdf: &HkdfUsingHmac(&ToyHmac),
        new_aead: |key| ToyAead(key.as_ref()[0]),
        random,
    }
}

/// Fills with a byte that differs in each call.
#[derive(Debug)]
struct Counter(AtomicU8);

impl SecureRandom for Counter {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        buf.fill(self.0.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }
}

static RANDOM: Counter = Counter(AtomicU8::new(1));

#[derive(Debug)]
struct NoRandom;

impl SecureRandom for NoRandom {
    fn fill(&self, _: &mut [u8]) -> Result<(), GetRandomFailed> {
        Err(GetRandomFailed)
    }
}

fn two_machines() -> [Machine; 2] {
    [(); 2].map(|()| Machine::new(&SECRET, EPOCH))
}

#[test]
fn one_machine_opens_the_tickets_of_another() {
    let [maker, opener] = two_machines();
    let tickets = maker.at(START);
    assert!(tickets.enabled());
    assert_eq!(
        format!("{tickets:?}"),
        "FleetTicketer { epoch_secs: 21600, .. }"
    );
    let ticket = tickets.encrypt(b"session").unwrap();
    assert_eq!(ticket.len(), 8 + 32 + 7 + 16);
    assert!(!ticket.windows(7).any(|bytes| bytes == b"session"));
    assert_eq!(opener.at(START).decrypt(&ticket).unwrap(), b"session");
    assert_eq!(tickets.decrypt(&ticket).unwrap(), b"session");
    assert_ne!(tickets.encrypt(b"session").unwrap(), ticket);
    let empty = tickets.encrypt(b"").unwrap();
    assert_eq!(opener.at(START).decrypt(&empty).unwrap(), b"");
}

#[test]
fn current_and_neighbouring_epochs_are_accepted() {
    let [maker, opener] = two_machines();
    let epoch = u64::from(EPOCH);
    for made in [START, START + 1, START + epoch - 1] {
        let ticket = maker.at(made).encrypt(b"session").unwrap();
        for (opened, accepted) in [
            (START - epoch - 1, false),
            // created by a machine whose clock is ahead
            (START - epoch, true),
            (START - 1, true),
            (START, true),
            (START + epoch - 1, true),
            (START + epoch, true),
            (START + 2 * epoch - 1, true),
            (START + 2 * epoch, false),
            (0, false),
            (BROKEN - 1, false),
        ] {
            let plain = opener.at(opened).decrypt(&ticket);
            assert_eq!(
                plain.is_some(),
                accepted,
                "created at {made}, opened at {opened}"
            );
        }
    }
}

/// This holds while clocks differ by at most the tolerance, no matter when the ticket was created.
#[test]
fn a_ticket_can_be_opened_during_the_lifetime_sent_to_clients() {
    let [maker, opener] = two_machines();
    let tolerance = u64::from(FleetTicketer::<ToyAead>::CLOCK_TOLERANCE_SECS);
    for into_epoch in [0, 1, u64::from(EPOCH) / 2, u64::from(EPOCH) - 1] {
        let tickets = maker.at(START + into_epoch);
        let ticket = tickets.encrypt(b"session").unwrap();
        let lifetime = u64::from(tickets.lifetime());
        for skew in [-1, 0, 1].map(|sign| sign * tolerance as i64) {
            for age in [0, 1, lifetime / 2, lifetime] {
                let now = (START + into_epoch + age).checked_add_signed(skew).unwrap();
                let plain = opener.at(now).decrypt(&ticket);
                assert!(plain.is_some(), "{into_epoch} s, {skew} s, {age} s");
            }
        }
    }
}

#[test]
fn the_lifetime_does_not_exceed_the_seven_days_of_the_rfc() {
    type Tickets = FleetTicketer<ToyAead>;
    let lifetime = |secs| Machine::new(&SECRET, secs).tickets.lifetime();
    assert_eq!(lifetime(EPOCH), 21_300);
    assert_eq!(lifetime(Tickets::MIN_EPOCH_SECS), 3300);
    assert_eq!(lifetime(Tickets::MAX_EPOCH_SECS), 302_100);
    // the longest time for which any ticket can be opened
    assert_eq!(2 * Tickets::MAX_EPOCH_SECS, 7 * 24 * 60 * 60);
}

#[test]
fn a_changed_or_truncated_ticket_is_rejected() {
    let [maker, opener] = two_machines();
    let ticket = maker.at(START).encrypt(b"session").unwrap();
    let tickets = opener.at(START);
    for i in (0..ticket.len()).step_by(if cfg!(miri) { 31 } else { 1 }) {
        for bit in 0..8 {
            let mut changed = ticket.clone();
            changed[i] ^= 1 << bit;
            assert!(tickets.decrypt(&changed).is_none(), "bit {bit} of byte {i}");
        }
        assert!(
            tickets.decrypt(&ticket[..i]).is_none(),
            "truncated to {i} bytes"
        );
    }
    assert!(tickets.decrypt(&[&ticket[..], &[0]].concat()).is_none());
}

#[test]
fn the_epoch_is_authenticated() {
    let [maker, opener] = two_machines();
    let ticket = maker.at(START).encrypt(b"session").unwrap();
    // an old ticket must not get younger by claiming another epoch
    for claimed in [999_u64, 1001] {
        let claimed = [&claimed.to_be_bytes()[..], &ticket[8..]].concat();
        assert!(opener.at(START).decrypt(&claimed).is_none());
    }
}

#[test]
fn tickets_of_other_secrets_or_epoch_lengths_are_rejected() {
    let ticket = Machine::new(&SECRET, EPOCH).at(START).encrypt(b"session");
    let ticket = ticket.unwrap();
    for at in [0, 31] {
        let mut secret = SECRET;
        secret[at] ^= 1;
        let other = Machine::new(&secret, EPOCH);
        assert!(other.at(START).decrypt(&ticket).is_none());
    }
    let longer = Machine::new(&[&SECRET[..], &[0]].concat(), EPOCH);
    assert!(longer.at(START).decrypt(&ticket).is_none());
    // both machines are in an epoch with the same number
    let length = Machine::new(&SECRET, EPOCH + 1);
    assert!(length.at(START + 1000).decrypt(&ticket).is_none());
}

#[test]
fn tickets_require_time_and_randomness() {
    let [maker, _] = two_machines();
    let ticket = maker.at(START).encrypt(b"session").unwrap();
    assert!(maker.at(BROKEN).encrypt(b"session").is_none());
    assert!(maker.at(BROKEN).decrypt(&ticket).is_none());
    assert!(maker.at(START).decrypt(&ticket).is_some());

    let clock = || Some(UnixTime::since_unix_epoch(Duration::from_secs(START)));
    let no_random = FleetTicketer::new(&SECRET, EPOCH, crypto(&NoRandom), clock).unwrap();
    assert!(no_random.encrypt(b"session").is_none());
    assert!(no_random.decrypt(&ticket).is_some());
}

#[test]
fn secrets_and_epochs_out_of_range_are_rejected() {
    type Tickets = FleetTicketer<ToyAead>;
    let made = |secret: &[u8], epoch_secs| {
        Tickets::new(secret, epoch_secs, crypto(&RANDOM), || None).map(drop)
    };
    for len in [0, 1, 16, 31] {
        let error = made(&SECRET[..len], EPOCH).unwrap_err();
        assert!(matches!(error, Error::General(text) if text.contains("32 bytes")));
    }
    for secs in [0, 1, 3599, 302_401, u32::MAX] {
        let error = made(&SECRET, secs).unwrap_err();
        assert!(matches!(error, Error::General(text) if text.contains("3600 to 302400")));
    }
    for (secret, secs) in [(&SECRET[..], 3600), (&[1; 100], 302_400)] {
        assert_eq!(made(secret, secs), Ok(()));
    }
}

#[test]
fn tickets_longer_than_the_wire_format_allows_are_rejected() {
    let [maker, _] = two_machines();
    let tickets = maker.at(START);
    let longest = vec![0; 0xffff - 56];
    let ticket = tickets.encrypt(&longest).unwrap();
    assert_eq!(ticket.len(), 0xffff);
    assert_eq!(tickets.decrypt(&ticket).unwrap(), longest);
    assert!(tickets.encrypt(&[&longest[..], &[0]].concat()).is_none());
    assert!(tickets.decrypt(&[&ticket[..], &[0]].concat()).is_none());
}
