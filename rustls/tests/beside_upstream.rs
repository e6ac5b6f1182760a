//! Memory and allocations of connections with slow peers never exceed those of rustls 0.23 in the
//! same state.
//!
//! This test is a separate program because the count is process-wide.

#[path = "memory/counting.rs"]
mod counting;

use std::io::Write;

use harness::peers::configs::{KeyType, Provider, Versions, product3};
use harness::peers::endpoints::Transfer;
use harness::peers::memory::Memory;

use crate::counting::{heap, held_by, region};

/// Creates a transport with nothing to read that accepts no output.
fn blocked() -> Memory {
    Memory {
        takes: false,
        ..Memory::new(&[])
    }
}

/// A connection that waits in the middle of a record or holds an unread one.
#[derive(Clone, Copy, Debug)]
struct Waiting<'a> {
    /// The lengths of earlier plaintexts.
    before: &'a [usize],
    /// The length of the plaintext.
    len: usize,
    /// The number of bytes on the wire that have arrived, if not all.
    part: Option<usize>,
    /// True if the application reads until the socket blocks.
    until_blocked: bool,
}

macro_rules! measures {
    ($module:ident, $tls:ident) => {
        mod $module {
            use harness::peers::pairs::$module::Configs;
            use harness::peers::pairs::$module::buffered::Pair;

            use super::*;

            pub(super) fn configs() -> Configs {
                let provider = Provider::AwsLc.$module();
                Configs::new(Versions::Tls13, provider, KeyType::EcdsaP256)
            }

            /// Creates a connection that has sent and received plaintexts of these lengths.
            fn after(configs: &Configs, lens: &[usize]) -> Pair {
                let mut pair = Pair::connect(configs).unwrap();
                for len in lens {
                    pair.exchange(&vec![1; *len], &mut Vec::new(), &mut [0; 100_000])
                        .unwrap();
                }
                pair
            }

            pub(super) fn waiting(configs: &Configs, state: Waiting<'_>) -> usize {
                let mut pair = after(configs, state.before);
                pair.client.writer().write_all(&vec![1; state.len]).unwrap();
                let mut wire = pair.client.output();
                wire.truncate(state.part.unwrap_or(usize::MAX));
                pair.server.input(&wire);
                if state.until_blocked {
                    pair.server.read_tls(&mut blocked()).unwrap_err();
                }
                held_by(pair.server)
            }

            /// Returns the bytes that a connection holds for `len` bytes of blocked output, after
            /// it has sent long output.
            pub(super) fn blocked_output(configs: &Configs, len: usize) -> usize {
                let idle = after(configs, &[64_000]).server;
                let mut pair = after(configs, &[64_000]);
                pair.server.writer().write_all(&vec![1; len]).unwrap();
                pair.server.write_tls(&mut blocked()).unwrap_err();
                held_by(pair.server) - held_by(idle)
            }

            /// Returns the allocations and their bytes while a ClientHello of `len` bytes arrives
            /// byte by byte.
            pub(super) fn byte_by_byte(configs: &Configs, len: usize) -> (usize, usize) {
                let mut client = $tls::ClientConfig::clone(&configs.client);
                client.alpn_protocols = vec![vec![b'a'; 250]; len / 250];
                let configs = Configs {
                    client: client.into(),
                    server: configs.server.clone(),
                };
                let (mut client, mut server) = configs.ends().unwrap();
                let hello = client.output();
                let (record, last) = hello.split_at(hello.len().min(16_000) - 1);
                assert!(!last.is_empty());
                let region = region();
                for byte in record {
                    server.read_tls(&mut &[*byte][..]).unwrap();
                    server.process_new_packets().unwrap();
                }
                let change = region.change();
                assert!(server.is_handshaking());
                let allocations = change.allocations + change.reallocations;
                (allocations, change.bytes_allocated)
            }

            /// Returns the bytes held after writing `len` bytes without a limit, and after sending
            /// half of them.
            pub(super) fn unlimited(configs: &Configs, len: usize) -> [usize; 2] {
                let mut pair = Pair::connect(configs).unwrap();
                pair.client.set_buffer_limit(None);
                let before = heap();
                pair.client.writer().write_all(&vec![1; len]).unwrap();
                let all = heap() - before;
                let mut sent = 0;
                while sent < len / 2 {
                    let mut some = &mut [0; 1 << 14][..];
                    sent += pair.client.write_tls(&mut some).unwrap();
                }
                [all, heap() - before]
            }

            /// Returns the heap bytes that a thread keeps after it has served connections.
            pub(super) fn resting_thread(configs: &Configs) -> usize {
                let before = heap();
                let mut pair = Pair::connect(configs).unwrap();
                for len in [1, 300, 1000, 2000, 4000, 8000, 16_000, 30_000, 64_000] {
                    for _ in 0..4 {
                        let mut application = vec![0; 100_000];
                        pair.exchange(&vec![1; len], &mut Vec::new(), &mut application)
                            .unwrap();
                    }
                    // several connections at once
                    let mut others = Vec::new();
                    for _ in 0..4 {
                        let mut other = Pair::connect(configs).unwrap();
                        other.client.writer().write_all(&vec![1; len]).unwrap();
                        others.push(other);
                    }
                }
                drop(pair);
                heap() - before
            }
        }
    };
}

measures!(this, rustls);
measures!(upstream, rustls_upstream);

#[test]
fn memory_does_not_exceed_upstreams() {
    let (ours, theirs) = (this::configs(), upstream::configs());
    // warm up: one-time setup of a process or thread is not part of a connection
    let state = Waiting {
        before: &[64_000],
        len: 100,
        part: None,
        until_blocked: true,
    };
    this::waiting(&ours, state);
    upstream::waiting(&theirs, state);

    let parts = [
        (
            16_384,
            &[
                1, 4, 5, 100, 1000, 4000, 4096, 4097, 5000, 8192, 9000, 16_000, 16_405,
            ][..],
        ),
        (8000, &[1, 4096, 5000, 8000]),
        (1000, &[1, 600]),
        (40_000, &[16_406, 16_411, 16_500, 20_000, 32_811]),
    ];
    let parts = parts
        .into_iter()
        .flat_map(|(len, parts)| parts.iter().map(move |part| (len, Some(*part))));
    let whole = [
        1, 100, 1000, 4070, 4080, 5000, 8000, 8170, 9000, 14_000, 16_384,
    ];
    let states = parts.chain(whole.map(|len| (len, None)));
    let befores = [&[][..], &[16_384], &[64_000, 10], &[10_000]];
    for ((len, part), before, until_blocked) in product3(states, befores, [false, true]) {
        let state = Waiting {
            before,
            len,
            part,
            until_blocked,
        };
        let ours = this::waiting(&ours, state);
        let theirs = upstream::waiting(&theirs, state);
        assert!(ours <= theirs, "{state:?}: {ours} bytes, upstream {theirs}");
    }

    for len in [16, 1000, 30_000] {
        let ours = this::blocked_output(&ours, len);
        let theirs = upstream::blocked_output(&theirs, len);
        println!("{len} bytes of output: {ours} bytes, upstream {theirs}");
        assert!(ours <= (5 * len / 2).max(256), "{ours} bytes for {len}");
    }

    let ours_by_byte = this::byte_by_byte(&ours, 16_500);
    let theirs_by_byte = upstream::byte_by_byte(&theirs, 16_500);
    println!("byte by byte: {ours_by_byte:?}, upstream {theirs_by_byte:?}");
    assert!(ours_by_byte.0 <= 10 && ours_by_byte.1 <= theirs_by_byte.1.max(64 * 1024));

    for len in [100_000, 1 << 20, 10 << 20] {
        let ours = this::unlimited(&ours, len);
        let theirs = upstream::unlimited(&theirs, len);
        println!("{len} bytes without limit: {ours:?}, upstream {theirs:?}");
        for (held, waits) in ours.into_iter().zip([len, len / 2]) {
            let most = waits + waits / 4 + 80 * 1024;
            assert!(held <= most, "{held} bytes for {waits}");
        }
    }
    // the test's own thread already has its buffers
    let resting = std::thread::scope(|scope| {
        let ours = scope.spawn(|| this::resting_thread(&ours)).join();
        let theirs = scope.spawn(|| upstream::resting_thread(&theirs)).join();
        [ours, theirs].map(Result::unwrap)
    });
    println!("an idle thread: {resting:?}");
    assert!(resting[0] <= 160 * 1024 + 8 * 1024, "{resting:?}");
}
