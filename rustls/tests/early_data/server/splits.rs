//! Tests with early data, its end, Finished and later data, split at every length.

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered, handshake};
use harness::peers::servers::{Server, Settings};

use super::{settings, upstream_client};

/// The early data of upstream's client in several records. The client creates the rest of its
/// output after it has received the server's flight.
struct Recorded {
    first_flight: Vec<u8>,
    client: UpstreamBuffered,
}

const EARLY: [&[u8]; 3] = [b"early ", b"and more ", b"and more still"];
const LATER: [&[u8]; 2] = [b"later ", b"and last"];

impl Recorded {
    fn new(settings: &Settings, server: &Server) -> Self {
        let config = upstream_client(settings);
        let mut first = UpstreamBuffered::client(config.clone());
        handshake(&mut first, &mut *server.accept());

        let mut client = UpstreamBuffered::client(config);
        for data in EARLY {
            assert_eq!(client.send_early(data), data.len());
        }
        Self {
            first_flight: client.take_output(),
            client,
        }
    }

    /// Returns the second flight, followed by data.
    fn second_flight(&mut self, answer: &[u8]) -> Vec<u8> {
        self.client.receive(answer).unwrap();
        assert!(self.client.as_client().is_early_data_accepted());
        for data in LATER {
            assert_eq!(self.client.send(data), data.len());
        }
        self.client.take_output()
    }
}

/// Collects everything that the application reads.
#[derive(Default)]
struct Read {
    early: Vec<u8>,
    later: Vec<u8>,
}

impl Read {
    fn all(&mut self, server: &mut dyn Endpoint) {
        server.read_early_into(&mut self.early);
        server.read_into(&mut self.later);
        assert!(
            self.later.is_empty() || !server.is_handshaking(),
            "data before the handshake is complete"
        );
    }

    fn check(&self, what: &str) {
        assert_eq!(self.early, EARLY.concat(), "{what}");
        assert_eq!(self.later, LATER.concat(), "{what}");
    }
}

/// Delivers the pieces, and reads after each one if requested.
fn deliver<'a>(
    server: &mut dyn Endpoint,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    read: &mut Read,
    reads_each: bool,
) {
    for piece in pieces {
        server.receive(piece).unwrap();
        if reads_each {
            read.all(server);
        }
    }
}

#[test]
fn no_data_is_lost_mixed_or_repeated() {
    for settings in PROVIDERS.map(settings) {
        for (config, reads_each) in product(settings.our_servers(), [true, false]) {
            for len in (1..40).chain([50, 60, 77, 100, 150, 200, 300, 1000]) {
                let mut recorded = Recorded::new(&settings, &config);
                let (mut server, mut read) = (config.accept(), Read::default());
                let first = recorded.first_flight.chunks(len);
                deliver(&mut *server, first, &mut read, reads_each);
                let second = recorded.second_flight(&server.take_output());
                deliver(&mut *server, second.chunks(len), &mut read, reads_each);
                assert!(!server.is_handshaking());
                read.all(&mut *server);
                read.check(&format!("in pieces of {len}"));
            }
        }
    }
}
