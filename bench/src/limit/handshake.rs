//! The limit of a handshake: only the indispensable operations of the provider's library, one after
//! the other. No messages, no certificates, no states.
//!
//! The operations are listed from the RFCs, with the lengths from the peers' flights. The number of
//! HMACs in a key schedule is counted here, not measured.

use harness::wire::records;

use super::aead::TAG_LEN;
use super::primitive::Primitive;
use super::{library_of, operation};
use crate::choices::{Choice, Cipher, Group, Hash, Role, Version};
use crate::measure::Operation;
use crate::workload::handshakes::{Handshakes, Spent};
use crate::workload::{Result, Scenario, Sessions};

/// Returns the operations of both sides in the handshake of `scenario`. `flights` are on the wire
/// in turns, the client's first.
pub(crate) fn handshakes(scenario: &Scenario, flights: &[Vec<u8>]) -> Result<Box<dyn Handshakes>> {
    let sides = Role::ALL.iter().map(|&role| {
        let of =
            |primitive: &Primitive| operation(library_of(scenario.provider, primitive), primitive);
        operations(role, scenario, flights).iter().map(of).collect()
    });
    Ok(Box::new(Limit(sides.collect::<Result<_>>()?)))
}

/// The operations of client and server.
struct Limit(Vec<Vec<Operation>>);

impl Handshakes for Limit {
    fn make(&mut self, _: &mut dyn FnMut(&[u8])) -> Result<[Spent; 2]> {
        let mut spent: [Spent; 2] = Default::default();
        for (spent, operations) in spent.iter_mut().zip(&mut self.0) {
            spent.by(|| operations.iter_mut().try_for_each(|operation| operation()))?;
        }
        Ok(spent)
    }
}

/// Returns the operations that `role` computes.
fn operations(role: Role, scenario: &Scenario, flights: &[Vec<u8>]) -> Vec<Primitive> {
    let is_tls13 = scenario.suite.version == Version::Tls13;
    // besides its random, a client makes a session ID: for tickets, and always in TLS 1.3
    let has_new_id = role == Role::Client && (is_tls13 || scenario.sessions == Sessions::Tickets);
    let mut handshake = Handshake {
        role,
        scenario,
        flights,
        hash: scenario.suite.hash(),
        is_resumed: scenario.sessions.are_resumed(),
        is_tls13,
        all: vec![Primitive::Random(32); 1 + usize::from(has_new_id)],
    };
    if handshake.is_tls13 {
        handshake.tls13();
    } else {
        handshake.tls12();
    }
    handshake.records();
    handshake.all
}

/// The handshake whose operations are being listed.
struct Handshake<'a> {
    role: Role,
    scenario: &'a Scenario,
    flights: &'a [Vec<u8>],
    hash: Hash,
    is_resumed: bool,
    is_tls13: bool,
    all: Vec<Primitive>,
}

/// The signed bytes in TLS 1.3, RFC 9846 §4.5.3: 64 spaces, a label, a zero and the hash of the
/// transcript.
const CERTIFICATE_VERIFY_LEN: usize = 64 + 33 + 1;

/// The bytes that a TLS 1.2 server signs, RFC 8422 §5.4: both randoms, the curve and its share.
const SERVER_KEY_EXCHANGE_LEN: usize = 64 + 4 + 32;

/// The approximate length of a session without certificates in a ticket.
const SESSION_LEN: usize = 128;

/// The number of tickets that a TLS 1.3 server sends by default, in both libraries.
const TICKETS: usize = 2;

/// The AEAD of this library's ticketers.
const TICKET_CIPHER: Cipher = Cipher::Aes256Gcm;

impl Handshake<'_> {
    /// Lists the operations of TLS 1.3. RFC 9846 §7.1 has the picture of the key schedule.
    fn tls13(&mut self) {
        let len = self.hash.len();
        let (derive, derive_empty) = (derive_secret_len(len), derive_secret_len(0));
        self.exchange();
        if !self.is_resumed {
            self.authenticate([CERTIFICATE_VERIFY_LEN + len; 2]);
        }
        // the server's signature and Finished, the client's, and the secrets of both kinds of
        // traffic
        self.transcript(if self.is_resumed { 5 } else { 6 });

        // early secret: a constant without a PSK
        if self.is_resumed {
            self.macs([vec![len], vec![derive; 2], vec![derive_empty], vec![len]]);
        }
        // handshake secret; two traffic secrets and the next salt derive from it
        self.macs([vec![len], vec![derive; 3]]);
        // master secret: two traffic secrets, exporter and resumption
        self.macs([vec![len], vec![derive; 4]]);
        // the keys and IVs of both directions; during the handshake those for Finished, too
        for _ in 0..2 {
            self.macs([vec![22, 21, derive_empty], vec![22, 21], vec![len]]);
        }
        self.keys(4);
        let has_tickets = self.flights.get(3).is_some_and(|it| !it.is_empty());
        let tickets = if has_tickets { TICKETS } else { 0 };
        // the PSK of a ticket's nonce
        self.macs(vec![vec![30]; tickets]);
        self.tickets(tickets);
    }

    /// Lists the operations of TLS 1.2: RFC 5246 §8.1 and §6.3, RFC 7627.
    fn tls12(&mut self) {
        let len = self.hash.len();
        let cipher = self.scenario.suite.cipher;
        if self.is_resumed {
            self.transcript(2);
        } else {
            self.exchange();
            let transcript = self.flights.iter().take(2).map(Vec::len).sum();
            self.authenticate([transcript, SERVER_KEY_EXCHANGE_LEN]);
            // the session hash, and two for Finished
            self.transcript(3);
            self.prf(22 + len, 48);
        }
        let is_chacha = cipher == Cipher::Chacha20Poly1305;
        let iv_len = if is_chacha { 12 } else { 4 };
        self.prf(13 + 64, 2 * (cipher.key_len() + iv_len));
        self.prf(15 + len, 12);
        self.prf(15 + len, 12);
        self.keys(2);
        // both libraries renew the ticket when they resume, too (RFC 5077 §3.3)
        self.tickets(1);
    }

    fn add(&mut self, operations: impl IntoIterator<Item = Primitive>) {
        self.all.extend(operations);
    }

    fn keys(&mut self, count: usize) {
        let key = Primitive::AeadKey(self.scenario.suite.cipher);
        self.add(vec![key; count]);
    }

    fn exchange(&mut self) {
        let group = self.scenario.group.unwrap_or(Group::X25519);
        self.add([Primitive::Exchange(group, self.role)]);
    }

    /// Adds the verifications of the peer's chain and signature, and this side's signature. `lens`
    /// are those of the bytes that client and server sign.
    fn authenticate(&mut self, lens: [usize; 2]) {
        let (scenario, key_type) = (self.scenario, self.scenario.key_type);
        let (own, peer) = (lens[self.role as usize], lens[1 - self.role as usize]);
        let identities = [scenario.client.as_ref(), Some(&scenario.server)];
        if let Some(identity) = identities[1 - self.role as usize] {
            if !scenario.verifies_once {
                let signed = identity.chain.iter().map(|certificate| certificate.len());
                self.add(signed.map(|len| Primitive::Verify(key_type, len)));
            }
            self.add([Primitive::Verify(key_type, peer)]);
        }
        let signer = identities[self.role as usize];
        self.add(signer.map(|_| Primitive::Sign(key_type, own)));
    }

    /// Hashes the handshake's flights, without tickets, and reads the hash `times` times on the
    /// way.
    fn transcript(&mut self, times: usize) {
        // in TLS 1.3 the fourth has the tickets
        let count = if self.is_tls13 { 3 } else { 4 };
        let len: usize = self.flights.iter().take(count).map(Vec::len).sum();
        let pieces = vec![len / times; times];
        self.add([Primitive::Hash(self.hash, pieces)]);
    }

    /// Adds HMACs, with one key for each item of `messages`.
    fn macs(&mut self, messages: impl IntoIterator<Item = Vec<usize>>) {
        let hash = self.hash;
        let messages = messages.into_iter();
        self.add(messages.map(|lens| Primitive::Mac(hash, lens)));
    }

    /// Adds the PRF of TLS 1.2 (RFC 5246 §5): two HMACs for each hash length of output.
    fn prf(&mut self, seed_len: usize, output_len: usize) {
        let len = self.hash.len();
        let rounds = output_len.div_ceil(len);
        let mut messages = vec![seed_len];
        messages.extend(vec![len; rounds - 1]);
        messages.extend(vec![len + seed_len; rounds]);
        self.macs([messages]);
    }

    /// Adds the AEAD operations of the server's ticketer, which makes `sent` tickets.
    fn tickets(&mut self, sent: usize) {
        if (self.role, self.scenario.sessions) != (Role::Server, Sessions::Tickets) {
            return;
        }
        let chain = self.scenario.client.iter().flat_map(|client| &client.chain);
        let len = SESSION_LEN + chain.map(|certificate| certificate.len()).sum::<usize>();
        if self.is_resumed {
            self.add([Primitive::Open(TICKET_CIPHER, len)]);
        }
        // with a random nonce
        let ticket = [Primitive::Random(12), Primitive::Seal(TICKET_CIPHER, len)];
        self.add(vec![ticket; sent].concat());
    }

    /// Adds the sealing of this side's encrypted records and the opening of the peer's.
    fn records(&mut self) {
        let cipher = self.scenario.suite.cipher;
        for (turn, flight) in self.flights.iter().enumerate() {
            let operation =
                [Primitive::Open, Primitive::Seal][usize::from(turn % 2 == self.role as usize)];
            let records = self.encrypted(flight).into_iter();
            self.add(records.map(|len| operation(cipher, len)));
        }
    }

    /// The plaintext lengths of the encrypted records in `flight`.
    fn encrypted(&self, flight: &[u8]) -> Vec<usize> {
        const CHANGE_CIPHER_SPEC: u8 = 20;
        const APPLICATION_DATA: u8 = 23;
        let mut has_changed = false;
        let mut records = records(flight);
        records.retain(|record| {
            let after_change = has_changed;
            has_changed |= record.typ == CHANGE_CIPHER_SPEC;
            if self.is_tls13 {
                record.typ == APPLICATION_DATA
            } else {
                after_change
            }
        });
        let lens = records.iter().map(|record| record.payload.len());
        lens.map(|len| len.saturating_sub(TAG_LEN)).collect()
    }
}

/// The length of the message that HKDF expands to a secret: RFC 9846 §7.1, `HkdfLabel` with a label
/// of about ten bytes and a hash of `hash_len`, plus HKDF's counter.
fn derive_secret_len(hash_len: usize) -> usize {
    2 + 1 + 6 + 10 + 1 + hash_len + 1
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::choices::{KeyType, Provider};
    use crate::this::connection::handshake::handshakes as of_this;
    use crate::upstream::connection::handshake::handshakes as of_upstream;
    use crate::workload::Identity;
    use crate::workload::handshakes::flights;

    /// Counts signatures, verifications, key exchanges, opened and sealed tickets, and sealed and
    /// opened records of `role`.
    fn counts(scenario: &Scenario, role: Role) -> [usize; 7] {
        let flights = flights(&mut *of_upstream(scenario).unwrap()).unwrap();
        let all = operations(role, scenario, &flights);
        let is: [fn(&&Primitive) -> bool; 7] = [
            |p| matches!(p, Primitive::Sign(..)),
            |p| matches!(p, Primitive::Verify(..)),
            |p| matches!(p, Primitive::Exchange(..)),
            |p| matches!(p, Primitive::Open(TICKET_CIPHER, _)),
            |p| matches!(p, Primitive::Seal(TICKET_CIPHER, _)),
            |p| matches!(p, Primitive::Seal(Cipher::Aes128Gcm, _)),
            |p| matches!(p, Primitive::Open(Cipher::Aes128Gcm, _)),
        ];
        is.map(|is| all.iter().filter(is).count())
    }

    #[test]
    fn every_signature_and_every_encrypted_record_is_counted() {
        for &version in Version::ALL {
            let share = usize::from(version == Version::Tls13);
            let sent = if share == 1 { TICKETS } else { 1 };
            let key_type = KeyType::EcdsaP256;
            let new = Scenario::of(Provider::Ring, version, key_type).unwrap();
            for (sessions, client_auth, of_client, of_server) in [
                (Sessions::Nothing, false, [0, 2, 1, 0, 0], [1, 0, 1, 0, 0]),
                (Sessions::Nothing, true, [1, 2, 1, 0, 0], [1, 2, 1, 0, 0]),
                (
                    Sessions::Stored,
                    false,
                    [0, 0, share, 0, 0],
                    [0, 0, share, 0, 0],
                ),
                (
                    Sessions::Tickets,
                    false,
                    [0, 0, share, 0, 0],
                    [0, 0, share, 1, sent],
                ),
            ] {
                let scenario = new.with(|new| {
                    new.verifies_once = false;
                    new.client =
                        client_auth.then(|| Arc::new(Identity::of(key_type, Role::Client)));
                    new.sessions = sessions;
                });
                let [client, server] =
                    [Role::Client, Role::Server].map(|role| counts(&scenario, role));
                assert_eq!(
                    (&client[..5], &server[..5]),
                    (&of_client[..], &of_server[..])
                );
                // a known chain leaves the signature of the handshake
                let once = scenario.with(|new| new.verifies_once = true);
                let [client_once, server_once] =
                    [Role::Client, Role::Server].map(|role| counts(&once, role));
                assert_eq!(client_once[1], of_client[1] / 2);
                assert_eq!(server_once[1], of_server[1] / 2);
                // each side opens the records that the other seals
                assert_eq!((client[5], client[6]), (server[6], server[5]));
                assert!(client[5] > 0 && client[6] > 0, "{client:?}");
            }
        }
    }

    #[test]
    fn a_server_sends_a_new_ticket_in_each_resumption_of_tls12() {
        for &provider in Provider::ALL {
            let new = Scenario::of(provider, Version::Tls12, KeyType::EcdsaP256).unwrap();
            let scenario = new.with(|new| new.sessions = Sessions::Tickets);
            for build in [of_this, of_upstream] {
                let flights = flights(&mut *build(&scenario).unwrap()).unwrap();
                // RFC 5077 §3.3: NewSessionTicket follows ServerHello in its own record
                let next = &records(&flights[1])[1];
                let messages = [next.typ, next.payload[0]];
                assert_eq!(messages, [22, 4], "{next:?}");
            }
        }
    }
}
