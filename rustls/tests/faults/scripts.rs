//! Tests of an application over a transport that fails at one of its calls, for each call. The
//! application retries, and in the end all data of both sides has arrived once and in order. Both
//! crates run the same scripts, and the results of all calls are compared.

use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Write};
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use harness::either;
use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, Transfer, UpstreamBuffered};
use harness::peers::roles::{self, ROLES, Role};

use crate::pieces::{Pieces, piece};
use crate::transport::{Counts, ERRORS, Fault, IoCall, KINDS, Plan, PlannedPanic, Then, Transport};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The number of attempts at a call that fails.
const TRIES: usize = 6;

harness::listed! {
    /// The special features of a connection, in addition to data, a KeyUpdate and a close_notify.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) enum Scene {
        Tls12,
        Tls12Resumed,
        Tls12ClientAuth,
        Tls13,
        Tls13Resumed,
        Tls13EarlyData,
        Tls13Retry,
        Tls13ClientAuth,
    }
}

impl Scene {
    fn versions(self) -> Versions {
        match self {
            Self::Tls12 | Self::Tls12Resumed | Self::Tls12ClientAuth => Versions::Tls12,
            _ => Versions::Tls13,
        }
    }

    fn auth(self) -> ClientAuth {
        match self {
            Self::Tls12ClientAuth | Self::Tls13ClientAuth => ClientAuth::Required,
            _ => ClientAuth::None,
        }
    }

    fn resumes(self) -> bool {
        matches!(
            self,
            Self::Tls12Resumed | Self::Tls13Resumed | Self::Tls13EarlyData
        )
    }
}

/// The API with which the application moves bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    /// `read_tls`, `process_new_packets` and `write_tls`.
    Tls,
    /// `complete_io`.
    CompleteIo,
    /// A `Stream`.
    Stream,
}

const STYLES: [Style; 3] = [Style::Tls, Style::CompleteIo, Style::Stream];

/// The outcome of a run.
#[derive(Debug)]
struct Outcome {
    log: Vec<String>,
    counts: Counts,
}

/// The result of a call, or a note that it panicked as planned.
pub(crate) enum Tried<T> {
    Returned(io::Result<T>),
    Panicked,
}

pub(crate) fn tried<T>(call: impl FnOnce() -> io::Result<T>) -> Tried<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Tried::Returned(result),
        Err(panic) if (*panic).is::<PlannedPanic>() => Tried::Panicked,
        Err(panic) => resume_unwind(panic),
    }
}

impl<T> Tried<T> {
    fn panicked(&self) -> bool {
        matches!(self, Self::Panicked)
    }
}

/// Reads into a buffer, or copies a chunk from the connection's buffer.
fn read(mut from: impl BufRead, copies: bool, buf: &mut [u8]) -> io::Result<usize> {
    if copies {
        return from.read(buf);
    }
    let chunk = from.fill_buf()?;
    let len = chunk.len().min(buf.len());
    buf[..len].copy_from_slice(&chunk[..len]);
    from.consume(len);
    Ok(len)
}

/// Logs the failure of a call.
fn note<T>(what: &str, tried: Tried<T>, log: &mut Vec<String>) {
    match tried {
        Tried::Returned(Ok(_)) => {}
        Tried::Returned(Err(error)) => {
            // the lengths of flights differ, and some texts include them
            let text = error.to_string();
            let text = text.split(" (").next().unwrap_or_default();
            log.push(format!("{what}: {:?}: {text}", error.kind()));
        }
        Tried::Panicked => log.push(format!("{what}: panicked")),
    }
}

/// Repeats a call until it succeeds, and logs each failure or panic.
fn until_done<T>(
    what: &str,
    log: &mut Vec<String>,
    mut call: impl FnMut() -> io::Result<T>,
) -> Option<T> {
    for _ in 0..TRIES {
        match tried(&mut call) {
            Tried::Returned(Ok(value)) => return Some(value),
            failed => note(what, failed, log),
        }
    }
    None
}

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        pub(crate) mod $module {
            use harness::peers::roles::$module::Config;

            use super::*;

            /// The configurations of the connection under test and of its peer in each role. They
            /// can be used for any number of connections.
            pub(crate) struct Configs {
                scene: Scene,
                pub(crate) ours: [Config; 2],
                peers: [roles::upstream::Config; 2],
            }

            pub(super) fn config(scene: Scene, role: Role) -> Config {
                let (versions, auth) = (scene.versions(), scene.auth());
                let has_early_data = scene == Scene::Tls13EarlyData;
                let mut provider = Provider::Ring.$module();
                if scene == Scene::Tls13Retry && role == Role::Server {
                    provider.kx_groups.remove(0);
                }
                let config = match role {
                    Role::Client => Config::Client(
                        configs::$module::client_of(versions, provider, KEY_TYPE, auth).into(),
                    ),
                    Role::Server => Config::Server(
                        configs::$module::server_of(versions, provider, KEY_TYPE, auth).into(),
                    ),
                };
                config.edit(
                    |client| client.enable_early_data = has_early_data,
                    |server| server.max_early_data_size = if has_early_data { 1000 } else { 0 },
                )
            }

            impl Configs {
                pub(crate) fn new(scene: Scene) -> Self {
                    Self {
                        scene,
                        ours: ROLES.map(|role| config(scene, role)),
                        peers: ROLES.map(|role| super::upstream::config(scene, role.other())),
                    }
                }

                /// Creates a connection and its peer before the handshake.
                pub(crate) fn fresh(&self, role: Role) -> ($tls::Connection, UpstreamBuffered) {
                    let (ours, peer) = (&self.ours[role as usize], &self.peers[role as usize]);
                    (ours.connection(), peer.buffered())
                }

                /// Stores a session for scenes that resume one.
                pub(crate) fn prepare(&self, role: Role) {
                    if self.scene.resumes() {
                        connect(&mut self.fresh(role));
                    }
                }

                pub(super) fn run(&self, role: Role, style: Style, plan: Option<Plan>) -> Outcome {
                    self.prepare(role);
                    let (mut conn, peer) = self.fresh(role);
                    let mut transport = Transport::new(peer, plan);
                    let mut pieces = Pieces::default();
                    match &mut conn {
                        $tls::Connection::Client(conn) => {
                            if let Some(mut early) = conn.early_data() {
                                let piece = pieces.next();
                                early.write_all(&piece).unwrap();
                                pieces.written(&piece);
                            }
                        }
                        $tls::Connection::Server(conn) => {
                            if self.scene == Scene::Tls13EarlyData {
                                accept_early_data(conn, &mut pieces.log, &mut transport);
                            }
                        }
                    }
                    either!($tls: &mut conn, conn => {
                        let mut app = App { conn, style, transport, pieces };
                        app.talk();
                        Outcome {
                            log: app.pieces.log,
                            counts: app.transport.counts,
                        }
                    })
                }
            }

            fn accept_early_data(
                conn: &mut $tls::ServerConnection,
                log: &mut Vec<String>,
                transport: &mut Transport,
            ) {
                let early = transport.peer.send_early(&piece(99));
                assert_eq!(early, piece(99).len());
                let mut received = Vec::new();
                for _ in 0..TRIES {
                    note("accepting", tried(|| conn.complete_io(transport)), log);
                    if let Some(mut early) = conn.early_data() {
                        early.read_to_end(&mut received).unwrap();
                    }
                }
                assert_eq!(received, piece(99), "early data");
            }

            /// Completes the handshake, including tickets.
            pub(crate) fn connect((conn, peer): &mut ($tls::Connection, UpstreamBuffered)) {
                loop {
                    peer.receive(&conn.output()).unwrap();
                    let from_peer = peer.take_output();
                    if from_peer.is_empty() && !conn.wants_write() {
                        return;
                    }
                    conn.input(&from_peer);
                }
            }

            /// An application with its connection.
            struct App<'a, C> {
                conn: &'a mut C,
                style: Style,
                transport: Transport,
                pieces: Pieces,
            }

            impl<C, D> App<'_, C>
            where
                C: DerefMut<Target = $tls::ConnectionCommon<D>>,
                D: $tls::SideData,
            {
                /// Sends data in both directions, a KeyUpdate, data in both directions, and a
                /// close_notify.
                fn talk(&mut self) {
                    for _ in 0..2 {
                        for way in 0..3 {
                            self.write(way);
                        }
                        self.flush();
                        let mut expected = Vec::new();
                        for number in 0..3 {
                            let piece = piece(number);
                            assert_eq!(self.transport.peer.send(&piece), piece.len());
                            expected.extend(piece);
                        }
                        self.read(&expected);
                        // fails in TLS 1.2
                        let _ = self.conn.refresh_traffic_keys();
                    }
                    self.conn.send_close_notify();
                    self.flush();
                    assert!(self.transport.peer.peer_has_closed(), "{:?}", self.pieces.log);
                    self.transport.peer.close();
                    self.read_end();
                    self.pieces.check(&self.transport.received_by_peer);
                }

                /// Writes the next piece until it is accepted. After a panic, its state is unknown.
                fn write(&mut self, way: usize) {
                    let piece = self.pieces.next();
                    for _ in 0..TRIES {
                        let result = if self.style == Style::Stream {
                            let mut stream = $tls::Stream::new(self.conn, &mut self.transport);
                            let (first, rest) = piece.split_at(2);
                            tried(|| match way {
                                0 => stream.write_vectored(&[first, &[], rest].map(IoSlice::new)),
                                _ => stream.write(&piece),
                            })
                        } else {
                            tried(|| self.conn.writer().write(&piece))
                        };
                        match &result {
                            Tried::Returned(Ok(len)) => {
                                assert_eq!(*len, piece.len());
                                return self.pieces.written(&piece);
                            }
                            Tried::Returned(Err(_)) => {}
                            Tried::Panicked => {
                                self.pieces.log.push("write: panicked".into());
                                return self.pieces.perhaps_written(&piece);
                            }
                        }
                        note("write", result, &mut self.pieces.log);
                    }
                    panic!("write: {:?}", self.pieces.log);
                }

                /// Delivers everything written to the peer.
                fn flush(&mut self) {
                    let (conn, transport) = (&mut *self.conn, &mut self.transport);
                    let log = &mut self.pieces.log;
                    match self.style {
                        Style::Tls => self.pump(),
                        Style::CompleteIo => {
                            for _ in 0..TRIES {
                                let result = tried(|| conn.complete_io(transport));
                                note("complete_io", result, log);
                                if !conn.is_handshaking() && !conn.wants_write() {
                                    return;
                                }
                            }
                            panic!("flush: {log:?}");
                        }
                        Style::Stream => {
                            let mut stream = $tls::Stream::new(conn, transport);
                            let done = until_done("flush", log, || stream.flush());
                            assert!(done.is_some(), "{log:?}");
                        }
                    }
                }

                /// Moves bytes in both directions until nothing is left.
                fn pump(&mut self) {
                    let (conn, transport) = (&mut *self.conn, &mut self.transport);
                    let log = &mut self.pieces.log;
                    for _ in 0..3 {
                        while conn.wants_write() {
                            let done = until_done("write_tls", log, || conn.write_tls(transport));
                            assert!(done.is_some(), "{log:?}");
                        }
                        for _ in 0..4 {
                            match tried(|| conn.read_tls(transport)) {
                                // the crates may differ in the number of reads that block
                                Tried::Returned(Err(error))
                                    if error.kind() == ErrorKind::WouldBlock => {}
                                result => note("read_tls", result, log),
                            }
                            conn.process_new_packets().unwrap();
                        }
                    }
                }

                /// Receives the peer's data.
                fn read(&mut self, expected: &[u8]) {
                    let mut received = Vec::new();
                    for attempt in 0..4 * TRIES {
                        if received.len() == expected.len() {
                            break;
                        }
                        let mut buf = [0; 20];
                        let result = self.read_once(attempt % 2 == 0, &mut buf);
                        if let Tried::Returned(Ok(len)) = &result {
                            assert_ne!(*len, 0, "end of the data: {:?}", self.pieces.log);
                            received.extend_from_slice(&buf[..*len]);
                        }
                        note("read", result, &mut self.pieces.log);
                    }
                    assert_eq!(received, expected, "{:?}", self.pieces.log);
                }

                fn read_once(&mut self, copies: bool, buf: &mut [u8]) -> Tried<usize> {
                    let (conn, transport) = (&mut *self.conn, &mut self.transport);
                    let panicked = match self.style {
                        Style::Tls => tried(|| conn.read_tls(transport)).panicked(),
                        Style::CompleteIo => tried(|| conn.complete_io(transport)).panicked(),
                        Style::Stream => {
                            let stream = $tls::Stream::new(conn, transport);
                            return tried(|| read(stream, copies, buf));
                        }
                    };
                    if panicked {
                        return Tried::Panicked;
                    }
                    conn.process_new_packets().unwrap();
                    tried(|| read(conn.reader(), copies, buf))
                }

                /// Receives the peer's close_notify.
                fn read_end(&mut self) {
                    for attempt in 0..2 * TRIES {
                        let result = self.read_once(attempt % 2 == 0, &mut [0; 20]);
                        if let Tried::Returned(Ok(len)) = &result {
                            assert_eq!(*len, 0, "data after the end");
                            return;
                        }
                        note("end", result, &mut self.pieces.log);
                    }
                    panic!("the data has no end: {:?}", self.pieces.log);
                }
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

/// Returns a plan for every fault at every call.
pub(crate) fn plans(counts: Counts, faults: &[Fault]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for call in [IoCall::Read, IoCall::Write, IoCall::Flush] {
        for (at, &fault) in product(0..counts[call as usize], faults) {
            // a flush moves no bytes
            if call != IoCall::Flush || matches!(fault, Fault::Fails(_) | Fault::Panics) {
                let then = Then::Work;
                plans.push(Plan {
                    call,
                    at,
                    fault,
                    then,
                });
            }
        }
    }
    plans
}

/// Asserts that the connection survives these faults at every call of a scene.
fn survives(scene: Scene, styles: &[Style], faults: &[Fault]) {
    let configs = this::Configs::new(scene);
    for (role, &style) in product(ROLES, styles) {
        let counts = configs.run(role, style, None).counts;
        for plan in plans(counts, faults) {
            println!("{scene:?} {role:?} {style:?} {plan:?}");
            configs.run(role, style, Some(plan));
        }
    }
}

#[test]
fn full_handshakes_survive_faults_of_the_transport() {
    for scene in [Scene::Tls12, Scene::Tls13] {
        survives(scene, &STYLES, &KINDS);
    }
}

/// Tries faults that interrupt a connection in the middle of an operation.
#[test]
fn other_handshakes_survive_faults_of_the_transport() {
    let breaks = [
        Fault::Short,
        Fault::Fails(ErrorKind::WouldBlock),
        Fault::Panics,
    ];
    for &scene in Scene::ALL {
        if !matches!(scene, Scene::Tls12 | Scene::Tls13) {
            // a `Stream` calls `complete_io` anyway
            survives(scene, &[Style::Tls, Style::Stream], &breaks);
        }
    }
}

#[test]
fn calls_over_a_faulty_transport_return_the_same_as_upstream() {
    let scene = Scene::Tls13;
    let (ours, theirs) = (this::Configs::new(scene), upstream::Configs::new(scene));
    let mut differences = 0;
    for (role, style) in product(ROLES, STYLES) {
        let counts = ours.run(role, style, None).counts;
        for plan in plans(counts, &[&KINDS[..], &ERRORS].concat()) {
            // upstream panics
            if plan.call == IoCall::Read && plan.fault == Fault::Lies {
                continue;
            }
            let ours = ours.run(role, style, Some(plan)).log;
            let theirs = theirs.run(role, style, Some(plan)).log;
            if ours != theirs {
                differences += 1;
                println!("{role:?} {style:?} {plan:?}\n  ours   {ours:?}\n  theirs {theirs:?}");
            }
        }
    }
    assert_eq!(differences, 0);
}
