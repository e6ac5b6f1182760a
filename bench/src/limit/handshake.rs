//! The limit of a handshake: only the indispensable operations of the provider's library, one after
//! the other. No messages, no certificates, no states.
//!
//! The operations are listed from the RFCs, with the lengths from the peers' flights. The number of
//! HMACs in a key schedule is counted here, not measured.

use super::primitive::Primitive;
use crate::choices::{Choice, Cipher, Group, Hash, Role, Version};
use crate::measure::Operation;
use crate::workload::handshakes::{Handshakes, Spent};
use crate::workload::{Result, Scenario, Sessions, records};

/// The operations of both sides in the handshake of `scenario`. `flights` are on the wire in turns,
/// the client's first.
pub(crate) fn handshakes(scenario: &Scenario, flights: &[Vec<u8>]) -> Result<Box<dyn Handshakes>> {
    let sides = Role::ALL.iter().map(|&role| {
        let of = |primitive: &Primitive| primitive.of(scenario.provider);
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

/// The operations that `role` has to compute.
fn operations(role: Role, scenario: &Scenario, flights: &[Vec<u8>]) -> Vec<Primitive> {
    let handshake = Handshake {
        role,
        scenario,
        flights,
        hash: scenario.suite.hash(),
        is_resumed: scenario.sessions.are_resumed(),
        all: Vec::new(),
    };
    match scenario.suite.version {
        Version::Tls12 => handshake.tls12(),
        Version::Tls13 => handshake.tls13(),
    }
}

/// The handshake whose operations are being listed.
struct Handshake<'a> {
    role: Role,
    scenario: &'a Scenario,
    flights: &'a [Vec<u8>],
    hash: Hash,
    is_resumed: bool,
    all: Vec<Primitive>,
}

/// The signed bytes in TLS 1.3, RFC 9846 §4.5.3: 64 spaces, a label, a zero and the hash of the
/// transcript.
const CERTIFICATE_VERIFY_LEN: usize = 64 + 33 + 1;

/// The bytes that a TLS 1.2 server signs, RFC 8422 §5.4: both randoms, the curve and its share.
const SERVER_KEY_EXCHANGE_LEN: usize = 64 + 4 + 32;

/// The approximate length of a session without certificates in a ticket.
const SESSION_LEN: usize = 128;

impl Handshake<'_> {
    /// Lists the operations of TLS 1.3. RFC 9846 §7.1 has the picture of the key schedule.
    fn tls13(mut self) -> Vec<Primitive> {
        let len = self.hash.len();
        let (derive, key_and_iv) = (derive_secret_len(len), [22, 21]);
        self.randoms();
        self.exchange();
        if !self.is_resumed {
            self.authenticate(CERTIFICATE_VERIFY_LEN + len, CERTIFICATE_VERIFY_LEN + len);
        }
        // the server's signature and Finished, the client's, and the secrets of both kinds of
        // traffic
        self.transcript(if self.is_resumed { 5 } else { 6 });

        // early secret: a constant without a PSK
        if self.is_resumed {
            self.mac(vec![len]);
            self.mac(vec![derive; 2]);
            self.mac(vec![derive_secret_len(0)]);
            self.mac(vec![len]);
        }
        // handshake secret; two traffic secrets and the next salt derive from it
        self.mac(vec![len]);
        self.mac(vec![derive; 3]);
        // master secret: two traffic secrets, exporter and resumption
        self.mac(vec![len]);
        self.mac(vec![derive; 4]);
        // the keys of both directions; during the handshake those for Finished, too
        for _ in 0..2 {
            self.mac([&key_and_iv[..], &[derive_secret_len(0)]].concat());
            self.mac(key_and_iv.to_vec());
            // Finished
            self.mac(vec![len]);
        }
        self.keys(4);
        let tickets = self
            .encrypted(self.flights.get(3).map_or(&[], |flight| flight))
            .len();
        for _ in 0..tickets {
            // the PSK of a ticket's nonce
            self.mac(vec![30]);
        }
        self.tickets(tickets);
        self.records();
        self.all
    }

    /// Lists the operations of TLS 1.2: RFC 5246 §8.1 and §6.3, RFC 7627.
    fn tls12(mut self) -> Vec<Primitive> {
        let len = self.hash.len();
        let cipher = self.scenario.suite.cipher;
        self.randoms();
        if self.is_resumed {
            self.transcript(2);
        } else {
            self.exchange();
            let transcript = self.flights.iter().take(2).map(Vec::len).sum();
            self.authenticate(SERVER_KEY_EXCHANGE_LEN, transcript);
            // the session hash, and two for Finished
            self.transcript(3);
            self.prf(22 + len, 48);
        }
        let iv_len = match cipher {
            Cipher::Chacha20Poly1305 => 12,
            Cipher::Aes128Gcm | Cipher::Aes256Gcm => 4,
        };
        self.prf(13 + 64, 2 * (cipher.key_len() + iv_len));
        self.prf(15 + len, 12);
        self.prf(15 + len, 12);
        self.keys(2);
        self.tickets(1);
        self.records();
        self.all
    }

    /// The random of this side and a session ID.
    fn randoms(&mut self) {
        self.all
            .extend([Primitive::Random(32), Primitive::Random(32)]);
    }

    fn keys(&mut self, count: usize) {
        let key = Primitive::AeadKey(self.scenario.suite.cipher);
        self.all.extend(vec![key; count]);
    }

    fn exchange(&mut self) {
        let group = self.scenario.group.unwrap_or(Group::X25519);
        self.all.push(Primitive::Exchange(group, self.role));
    }

    /// Verifies the peer's chain and signature, and signs. The arguments are the lengths of the
    /// signed bytes.
    fn authenticate(&mut self, by_server: usize, by_client: usize) {
        let scenario = self.scenario;
        let (key_type, client) = (scenario.key_type, scenario.client.as_ref());
        let (peer, to_sign, signed) = match self.role {
            Role::Client => (
                scenario.server.as_ref(),
                client.map(|_| by_client),
                by_server,
            ),
            Role::Server => (client, Some(by_server), by_client),
        };
        if let Some(peer) = peer {
            let chain = match scenario.verifies_once {
                true => &[],
                false => &peer.chain[..],
            };
            let lens = chain.iter().map(|certificate| certificate.len());
            let lens = lens.chain([signed]);
            self.all
                .extend(lens.map(|len| Primitive::Verify(key_type, len)));
        }
        self.all
            .extend(to_sign.map(|len| Primitive::Sign(key_type, len)));
    }

    /// Hashes the handshake's flights, without tickets, and takes the hash `times` times on the
    /// way.
    fn transcript(&mut self, times: usize) {
        // in TLS 1.3 the fourth has the tickets
        let count = if self.is_tls13() { 3 } else { 4 };
        let len: usize = self.flights.iter().take(count).map(Vec::len).sum();
        let pieces = vec![len / times; times];
        self.all.push(Primitive::Hash(self.hash, pieces));
    }

    fn mac(&mut self, messages: Vec<usize>) {
        self.all.push(Primitive::Mac(self.hash, messages));
    }

    /// The PRF of TLS 1.2 (RFC 5246 §5): two HMACs for each hash length of output.
    fn prf(&mut self, seed_len: usize, output_len: usize) {
        let len = self.hash.len();
        let rounds = output_len.div_ceil(len);
        let mut messages = vec![seed_len];
        messages.extend(vec![len; rounds - 1]);
        messages.extend(vec![len + seed_len; rounds]);
        self.mac(messages);
    }

    /// The AEAD operations of the server's ticketer.
    fn tickets(&mut self, sent: usize) {
        if (self.role, self.scenario.sessions) != (Role::Server, Sessions::Tickets) {
            return;
        }
        let mut len = SESSION_LEN;
        if self.scenario.client.is_some() {
            let chain = &self.scenario.key_type.identities().client.chain;
            len += chain
                .iter()
                .map(|certificate| certificate.len())
                .sum::<usize>();
        }
        let cipher = Cipher::Chacha20Poly1305;
        if self.is_resumed {
            self.all.push(Primitive::Open(cipher, len));
        }
        // a resumed TLS 1.2 session keeps its ticket
        if self.is_tls13() || !self.is_resumed {
            self.all.extend(vec![Primitive::Seal(cipher, len); sent]);
        }
    }

    /// Seals this side's encrypted records and opens the peer's.
    fn records(&mut self) {
        let cipher = self.scenario.suite.cipher;
        for (turn, flight) in self.flights.iter().enumerate() {
            let is_own = (turn % 2 == 0) == (self.role == Role::Client);
            let operation = if is_own {
                Primitive::Seal
            } else {
                Primitive::Open
            };
            let records = self.encrypted(flight).into_iter();
            self.all.extend(records.map(|len| operation(cipher, len)));
        }
    }

    /// The lengths of the encrypted records in `flight`.
    fn encrypted(&self, flight: &[u8]) -> Vec<usize> {
        const CHANGE_CIPHER_SPEC: u8 = 20;
        const APPLICATION_DATA: u8 = 23;
        const TAG_LEN: usize = 16;
        let mut has_changed = false;
        let is_encrypted = |(content_type, _): &(u8, usize)| {
            let encrypted = [has_changed, *content_type == APPLICATION_DATA];
            has_changed |= *content_type == CHANGE_CIPHER_SPEC;
            encrypted[usize::from(self.is_tls13())]
        };
        let plain_len = |(_, len): (u8, usize)| len.saturating_sub(TAG_LEN);
        records(flight)
            .filter(is_encrypted)
            .map(plain_len)
            .collect()
    }

    fn is_tls13(&self) -> bool {
        self.scenario.suite.version == Version::Tls13
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
    use crate::upstream::connection::handshake::handshakes as of_upstream;
    use crate::workload::Identity;
    use crate::workload::handshakes::flights;

    /// The numbers of signatures, verifications, key exchanges, opened tickets, sealed and opened
    /// records of `role`.
    fn counts(scenario: &Scenario, role: Role) -> [usize; 6] {
        let flights = flights(&mut *of_upstream(scenario).unwrap()).unwrap();
        let all = operations(role, scenario, &flights);
        let is: [fn(&&Primitive) -> bool; 6] = [
            |p| matches!(p, Primitive::Sign(..)),
            |p| matches!(p, Primitive::Verify(..)),
            |p| matches!(p, Primitive::Exchange(..)),
            |p| matches!(p, Primitive::Open(Cipher::Chacha20Poly1305, _)),
            |p| matches!(p, Primitive::Seal(Cipher::Aes128Gcm, _)),
            |p| matches!(p, Primitive::Open(Cipher::Aes128Gcm, _)),
        ];
        is.map(|is| all.iter().filter(is).count())
    }

    #[test]
    fn every_signature_and_every_encrypted_record_is_counted() {
        for &version in Version::ALL {
            let share = usize::from(version == Version::Tls13);
            let key_type = KeyType::EcdsaP256;
            let new = Scenario::of(Provider::Ring, version, key_type).unwrap();
            for (sessions, client_auth, of_client, of_server) in [
                (Sessions::Nothing, false, [0, 2, 1, 0], [1, 0, 1, 0]),
                (Sessions::Nothing, true, [1, 2, 1, 0], [1, 2, 1, 0]),
                (Sessions::Stored, false, [0, 0, share, 0], [0, 0, share, 0]),
                (Sessions::Tickets, false, [0, 0, share, 0], [0, 0, share, 1]),
            ] {
                let scenario = new.with(|new| {
                    new.server = Some(Arc::new(Identity::of(key_type, Role::Server)));
                    new.verifies_once = false;
                    new.client =
                        client_auth.then(|| Arc::new(Identity::of(key_type, Role::Client)));
                    new.sessions = sessions;
                });
                let [client, server] =
                    [Role::Client, Role::Server].map(|role| counts(&scenario, role));
                assert_eq!(
                    (&client[..4], &server[..4]),
                    (&of_client[..], &of_server[..])
                );
                // a known chain leaves the signature of the handshake
                let once = scenario.with(|new| new.verifies_once = true);
                let [client_once, server_once] =
                    [Role::Client, Role::Server].map(|role| counts(&once, role));
                assert_eq!(client_once[1], of_client[1] / 2);
                assert_eq!(server_once[1], of_server[1] / 2);
                // each side opens the records that the other seals
                assert_eq!((client[4], client[5]), (server[5], server[4]));
                assert!(client[4] > 0 && client[5] > 0, "{client:?}");
            }
        }
    }
}
