//! Scripts, and their results.

use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::task::Poll;

use harness::peers::endpoints::Endpoint;
use tokio::io::ReadBuf;

use crate::kit::crates::peers::Peers;
use crate::kit::crates::{Configs, Handshake, Published, Setting, Stream, This};
use crate::kit::executor::poll_while_woken;
use crate::kit::transport::{Call, Fault, Plan, Transport};

/// A call by the program, or an action of its peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Write(usize),
    /// A vectored write of slices of these lengths.
    WriteVectored(&'static [usize]),
    Read(usize),
    /// Lends a chunk, and consumes at most this many bytes.
    Lend(usize),
    Flush,
    Shutdown,

    PeerSends(usize),
    PeerCloses,
    PeerUpdatesKeys,
    /// A record that cannot be decrypted.
    BadRecord,
    /// The beginning of a record.
    PartOfRecord,
    /// The end of the peer's bytes.
    End,
    /// The transport accepts no bytes.
    Block,
    Unblock,
    /// Later writes accept only one slice.
    NotVectored,
}

use Step::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
    /// A server that reads the ClientHello first.
    Lazy,
}

pub(crate) const SIDES: [Side; 3] = [Side::Client, Side::Server, Side::Lazy];

/// Returns the byte that each side sends at offset `at`.
fn pattern(at: usize) -> u8 {
    (at ^ (at >> 8)) as u8
}

fn bytes(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(pattern).collect()
}

fn shown<T: Debug>(result: Poll<io::Result<T>>) -> String {
    match result {
        Poll::Pending => "pending".into(),
        Poll::Ready(Ok(value)) => format!("{value:?}"),
        Poll::Ready(Err(error)) => text(&error),
    }
}

/// Returns everything that a program can see of an error.
pub(crate) fn text(error: &io::Error) -> String {
    let inner = error.get_ref().map(ToString::to_string);
    format!("{:?}, {error}, {inner:?}", error.kind())
}

/// A program and its peer.
pub(crate) struct Scene {
    pub(crate) stream: Stream,
    pub(crate) transport: Transport,
    written: usize,
    read: usize,
    sent_by_peer: usize,
    /// False once a write has failed: its data may have been accepted.
    is_exact: bool,
}

impl Scene {
    pub(crate) fn new(stream: Stream, transport: Transport) -> Self {
        transport.change(|net| {
            net.counts = [0; 4];
            net.log.clear();
            net.received.clear();
        });
        Self {
            stream,
            transport,
            written: 0,
            read: 0,
            sent_by_peer: 0,
            is_exact: true,
        }
    }

    /// Connects a stream, without faults.
    pub(crate) fn connect(side: Side, configs: &dyn Configs, peers: &Peers) -> Self {
        let (result, transport) = handshake(side, configs, peers, None);
        let stream = result.unwrap_or_else(|error| panic!("{side:?}: {error}"));
        Self::new(stream, transport)
    }

    /// Returns the result of a step, and what the peer has received.
    pub(crate) fn step(&mut self, step: Step) -> String {
        let result = self.act(step);
        let net = &mut *self.transport.net();
        let received = net.received.len();
        if self.is_exact {
            let is_rejected = !self.stream.is_early_data_accepted();
            let early = if is_rejected {
                0
            } else {
                net.received_early.len()
            };
            assert!(net.received == bytes(early, received));
        }
        // repeated flushes count as one
        let mut log = mem::take(&mut net.log);
        log.retain(|call| *call != Call::Write);
        log.dedup();
        format!(
            "{step:?}: {result}; peer: {received} {:?} closed {}; {log:?}",
            net.peer_error,
            net.peer.peer_has_closed(),
        )
    }

    fn act(&mut self, step: Step) -> String {
        let Self {
            stream, transport, ..
        } = self;
        let stream = &mut **stream;
        match step {
            Write(len) => {
                let data = bytes(self.written, len);
                let result = poll_while_woken(|cx| Pin::new(&mut *stream).poll_write(cx, &data));
                self.wrote(&result);
                shown(result)
            }
            WriteVectored(lens) => {
                let data = bytes(self.written, lens.iter().sum());
                let mut rest = &data[..];
                let mut slices = Vec::new();
                for len in lens {
                    let (slice, behind) = rest.split_at(*len);
                    slices.push(IoSlice::new(slice));
                    rest = behind;
                }
                let result =
                    poll_while_woken(|cx| Pin::new(&mut *stream).poll_write_vectored(cx, &slices));
                self.wrote(&result);
                shown(result)
            }
            Read(len) => {
                let mut out = vec![0; len];
                let result = poll_while_woken(|cx| {
                    let mut buf = ReadBuf::new(&mut out);
                    let result = Pin::new(&mut *stream).poll_read(cx, &mut buf);
                    let len = buf.filled().len();
                    assert!(len == 0 || matches!(result, Poll::Ready(Ok(()))));
                    result.map_ok(|()| len)
                });
                if let Poll::Ready(Ok(len)) = result {
                    assert!(out[..len] == bytes(self.read, len));
                    self.read += len;
                }
                shown(result)
            }
            Lend(most) => {
                let result = poll_while_woken(|cx| {
                    let result = Pin::new(&mut *stream).poll_fill_buf(cx);
                    result.map_ok(<[u8]>::to_vec)
                });
                let result = result.map_ok(|chunk| {
                    assert!(chunk == bytes(self.read, chunk.len()));
                    let len = chunk.len().min(most);
                    Pin::new(stream).consume(len);
                    self.read += len;
                    chunk.len()
                });
                shown(result)
            }
            Flush => shown(poll_while_woken(|cx| Pin::new(&mut *stream).poll_flush(cx))),
            Shutdown => shown(poll_while_woken(|cx| {
                Pin::new(&mut *stream).poll_shutdown(cx)
            })),
            PeerSends(len) => {
                let data = bytes(self.sent_by_peer, len);
                transport.change(|net| {
                    let mut rest = &data[..];
                    while !rest.is_empty() {
                        let sent = net.peer.send(rest);
                        rest = &rest[sent..];
                        net.incoming.extend(net.peer.take_output());
                    }
                });
                self.sent_by_peer += len;
                String::new()
            }
            _ => {
                transport.change(|net| {
                    match step {
                        PeerCloses => net.peer.close(),
                        PeerUpdatesKeys => net.peer.refresh_traffic_keys(),
                        BadRecord => net
                            .incoming
                            .extend([&[23, 3, 3, 0, 40], &[7; 40][..]].concat()),
                        PartOfRecord => net.incoming.extend(b"\x17\x03\x03\x01\x00abc"),
                        End => net.has_ended = true,
                        Block => net.is_blocked = true,
                        Unblock => net.is_blocked = false,
                        NotVectored => net.is_vectored = false,
                        _ => unreachable!(),
                    }
                    let output = net.peer.take_output();
                    // after injected bytes, later output of the peer is dropped
                    if matches!(step, PeerCloses | PeerUpdatesKeys) {
                        net.incoming.extend(output);
                    }
                });
                String::new()
            }
        }
    }

    fn wrote(&mut self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Ready(Ok(len)) => self.written += len,
            Poll::Ready(Err(_)) => self.is_exact = false,
            Poll::Pending => {}
        }
    }
}

/// Runs a handshake over a transport with a fault. Returns its result.
pub(crate) fn handshake(
    side: Side,
    configs: &dyn Configs,
    peers: &Peers,
    plan: Option<Plan>,
) -> (Result<Stream, String>, Transport) {
    let transport = transport(side, peers, plan);
    (handshake_over(side, configs, &transport), transport)
}

/// Returns a transport with a fault, for a stream of `side`.
pub(crate) fn transport(side: Side, peers: &Peers, plan: Option<Plan>) -> Transport {
    let transport = Transport::new(match side {
        Side::Client => peers.server(),
        Side::Server | Side::Lazy => peers.client(),
    });
    transport.change(|net| net.plan = plan);
    transport
}

pub(crate) fn handshake_over(
    side: Side,
    configs: &dyn Configs,
    transport: &Transport,
) -> Result<Stream, String> {
    let mut handshake = start(side, configs, transport);
    match poll_while_woken(|cx| handshake.as_mut().poll(cx)) {
        Poll::Ready(Ok(stream)) => Ok(stream),
        Poll::Ready(Err((error, _))) => Err(text(&error)),
        Poll::Pending => Err("pending".into()),
    }
}

/// Returns the future of a handshake.
pub(crate) fn start(side: Side, configs: &dyn Configs, transport: &Transport) -> Handshake {
    match side {
        Side::Client => configs.connect(transport.clone()),
        Side::Server => configs.accept(transport.clone()),
        Side::Lazy => configs.accept_lazily(transport.clone()),
    }
}

/// The results of a script.
pub(crate) struct Outcome {
    results: Vec<String>,
    /// True if the fault occurred.
    was_planned: bool,
    /// The numbers of calls of the transport, by kind.
    counts: [usize; 4],
}

/// Runs a script with a fault.
pub(crate) fn run(
    side: Side,
    configs: &dyn Configs,
    peers: &Peers,
    steps: &[Step],
    plan: Option<(Call, usize, Fault)>,
) -> Outcome {
    let mut scene = Scene::connect(side, configs, peers);
    scene.transport.change(|net| net.plan = plan);
    let results = steps.iter().map(|step| scene.step(*step)).collect();
    let net = scene.transport.net();
    Outcome {
        results,
        was_planned: net.was_planned,
        counts: net.counts,
    }
}

/// Runs a script for both crates, and compares the results. Without a fault, this crate must not
/// call the transport more often. Returns true if the fault occurred.
pub(crate) fn compare(setting: Setting, side: Side, steps: &[Step], plan: Option<Plan>) -> bool {
    let peers = Peers::new(setting);
    let expected = run(side, &Published::new(setting), &peers, steps, plan);
    let found = run(side, &This::new(setting), &peers, steps, plan);
    assert_eq!(
        found.results, expected.results,
        "{setting:?} {side:?} {plan:?}"
    );
    if plan.is_none() {
        for call in [Call::Read, Call::Write] {
            let [found, most] = [found.counts, expected.counts].map(|counts| counts[call as usize]);
            assert!(found <= most, "{steps:?}: {call:?} {found}, not {most}");
        }
    }
    expected.was_planned || found.was_planned
}

/// Compares a script without a fault, and with each fault at each call of these kinds.
pub(crate) fn compare_with_faults(
    setting: Setting,
    side: Side,
    steps: &[Step],
    calls: &[Call],
    faults: &[Fault],
) {
    compare(setting, side, steps, None);
    for &call in calls {
        for &fault in faults {
            let mut number = 0;
            while compare(setting, side, steps, Some((call, number, fault))) {
                number += 1;
            }
        }
    }
}
