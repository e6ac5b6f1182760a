//! Early data, its end, Finished and later data, split at every length.

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints::{Endpoint, UpstreamBuffered, handshake};
use harness::peers::servers::{Server, Settings};

use super::{settings, upstream_client};

/// The early data of upstream's client in several records. The client produces the rest of its
/// output from the server's flight.
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

    /// The second flight, followed by data.
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
}

#[test]
fn nothing_is_lost_mixed_or_repeated() {
    for settings in PROVIDERS.map(settings) {
        let [buffered, unbuffered, _] = settings.servers();
        for (config, reads_at_once) in product([buffered, unbuffered], [true, false]) {
            let lens = (1..40).chain([50, 60, 77, 100, 150, 200, 300, 1000]);
            for len in lens {
                let mut recorded = Recorded::new(&settings, &config);
                let mut server = config.accept();
                let mut read = Read::default();
                for piece in recorded.first_flight.chunks(len) {
                    server.receive(piece).unwrap();
                    if reads_at_once {
                        read.all(&mut *server);
                    }
                }
                let answer = server.take_output();
                for piece in recorded.second_flight(&answer).chunks(len) {
                    server.receive(piece).unwrap();
                    if reads_at_once {
                        read.all(&mut *server);
                    }
                }
                assert!(!server.is_handshaking());
                read.all(&mut *server);
                assert_eq!(read.early, EARLY.concat(), "in pieces of {len}");
                assert_eq!(read.later, LATER.concat(), "in pieces of {len}");
            }
        }
    }
}

/// A single cut at every byte of the second flight.
#[test]
fn every_cut_of_the_second_flight() {
    let settings = settings(PROVIDERS[0]);
    let [buffered, unbuffered, _] = settings.servers();
    for config in [buffered, unbuffered] {
        let mut cut = 0;
        loop {
            let mut recorded = Recorded::new(&settings, &config);
            let mut server = config.accept();
            server.receive(&recorded.first_flight).unwrap();
            let answer = server.take_output();
            let flight = recorded.second_flight(&answer);
            if cut == flight.len() {
                break;
            }
            let (first, second) = flight.split_at(cut);
            let mut read = Read::default();
            server.receive(first).unwrap();
            if cut % 2 == 0 {
                read.all(&mut *server);
            }
            server.receive(second).unwrap();
            read.all(&mut *server);
            assert_eq!(read.early, EARLY.concat(), "cut at {cut}");
            assert_eq!(read.later, LATER.concat(), "cut at {cut}");
            cut += 1;
        }
    }
}
