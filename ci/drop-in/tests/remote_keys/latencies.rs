//! Prints how long requests take while other clients connect and each signature takes 5 ms:
//!
//! ```text
//!   RATE=50 cargo test --release ... --test remote_keys -- --ignored --nocapture
//! ```
//!
//! The server has one thread and one core, the clients another. Windows with and without handshakes
//! alternate.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use drop_in::{Credentials, run};
use rustls::client::Resumption;
use rustls::sign::Signer;
use rustls::{ClientConfig, Error};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::spawn;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_rustls::TlsConnector;

use super::{KINDS, KeyService, Kind, SERVICE, Signature, provider};

const TIME_OF_SIGNATURE: Duration = Duration::from_millis(5);
const WINDOW: Duration = Duration::from_secs(1);
const PAIRS: usize = 9;

/// A service whose signatures take 5 ms, and nothing of the server's processor.
struct Service(mpsc::Sender<Task>);

type Task = (
    Arc<dyn Signer>,
    Vec<u8>,
    oneshot::Sender<Result<Vec<u8>, Error>>,
);

impl Service {
    fn start() -> Self {
        let (sender, tasks) = mpsc::channel::<Task>();
        thread::spawn(move || {
            place(1, false);
            for (key, message, signature) in tasks {
                let _ = signature.send(key.sign(&message));
            }
        });
        Self(sender)
    }
}

impl KeyService for Service {
    fn sign(self: Arc<Self>, key: Arc<dyn Signer>, message: Vec<u8>) -> Signature {
        let (sender, signature) = oneshot::channel();
        self.0.send((key, message, sender)).unwrap();
        Signature::Later(Box::pin(async move {
            tokio::join!(sleep(TIME_OF_SIGNATURE), signature).1.unwrap()
        }))
    }
}

/// The same key for servers that cannot wait.
struct Blocking;

impl KeyService for Blocking {
    fn sign(self: Arc<Self>, key: Arc<dyn Signer>, message: Vec<u8>) -> Signature {
        thread::sleep(TIME_OF_SIGNATURE);
        Signature::Now(key.sign(&message))
    }
}

/// Binds this thread to a core, if the machine has the commands. With `comes_first`, other threads
/// on the core wait for it.
fn place(core: usize, comes_first: bool) {
    let link = fs::read_link("/proc/thread-self").unwrap();
    let thread = link.file_name().unwrap();
    let core = core.to_string();
    let policy = match comes_first {
        true => ["-f", "-p", "10"],
        false => ["-o", "-p", "0"],
    };
    for (command, arguments) in [("taskset", &["-cp", &core][..]), ("chrt", &policy)] {
        let _ = process::Command::new(command)
            .args(arguments)
            .arg(thread)
            .output();
    }
}

/// Connects at a steady rate while `is_on`. Counts the handshakes.
async fn connect_steadily(
    port: u16,
    rate: f64,
    config: Arc<ClientConfig>,
    is_on: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
) {
    let connector = TlsConnector::from(config);
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        if is_on.load(Ordering::Relaxed) {
            let (connector, count) = (connector.clone(), count.clone());
            spawn(async move {
                let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let name = "localhost".try_into().unwrap();
                connector.connect(name, socket).await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    }
}

/// Returns the 50th and the 99th percentile, in microseconds.
fn percentiles(mut times: Vec<f64>) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [50, 99].map(|percent| times[times.len() * percent / 100])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(kind: Kind, is_blocking: bool, rate: f64) {
    let credentials = Arc::new(Credentials::new());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stop, stopped) = oneshot::channel::<()>();
    let of_server = credentials.clone();
    let server = thread::spawn(move || {
        SERVICE.set(Some(match is_blocking {
            true => Arc::new(Blocking),
            false => Arc::new(Service::start()),
        }));
        place(0, true);
        run(async {
            tokio::select! {
                () = kind.serve(listener, &of_server) => {}
                _ = stopped => {}
            }
        });
    });
    let mut config = credentials.client_config();
    config.resumption = Resumption::disabled();
    let config = Arc::new(config);
    let [is_on, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let count = Arc::new(AtomicUsize::new(0));
    let connecting = {
        let (config, is_on, is_over) = (config.clone(), is_on.clone(), is_over.clone());
        let count = count.clone();
        thread::spawn(move || {
            place(1, false);
            run(async {
                let connecting = connect_steadily(port, rate, config, is_on, count);
                let over = async {
                    while !is_over.load(Ordering::Relaxed) {
                        sleep(Duration::from_millis(20)).await;
                    }
                };
                tokio::select! {
                    () = connecting => {}
                    () = over => {}
                }
            });
        })
    };
    let asking = thread::spawn(move || {
        place(1, true);
        let mut windows = [Vec::new(), Vec::new()];
        run(async {
            let mut connection = kind.connect(port, &credentials.authority_pem, config).await;
            for number in 0..2 * PAIRS {
                let with_handshakes = number % 2;
                is_on.store(with_handshakes == 1, Ordering::Relaxed);
                // let the last handshakes end
                sleep(Duration::from_millis(50)).await;
                let (begin, mut times) = (Instant::now(), Vec::new());
                while begin.elapsed() < WINDOW {
                    let sent = Instant::now();
                    connection.ask().await;
                    times.push(sent.elapsed().as_secs_f64() * 1e6);
                    // real clients pause, too; this also lets the other clients run
                    sleep(Duration::from_millis(1)).await;
                }
                windows[with_handshakes].push(percentiles(times));
            }
        });
        windows
    });
    let [without, with] = asking.join().unwrap();
    let column =
        |windows: &[[f64; 2]], at: usize| median(windows.iter().map(|window| window[at]).collect());
    let ratios = without
        .iter()
        .zip(&with)
        .map(|(without, with)| with[1] / without[1]);
    println!(
        "{:10} {:8} {:8.0} {:8.0} {:8.0} {:8.0} {:8.2} {:6}",
        format!("{kind:?}"),
        if is_blocking { "blocking" } else { "async" },
        column(&without, 0),
        column(&without, 1),
        column(&with, 0),
        column(&with, 1),
        median(ratios.collect()),
        count.load(Ordering::Relaxed) / PAIRS,
    );
    is_over.store(true, Ordering::Relaxed);
    connecting.join().unwrap();
    stop.send(()).unwrap();
    server.join().unwrap();
}

#[test]
#[ignore = "a measurement, which takes minutes"]
fn print_latencies() {
    let _ = provider().install_default();
    let rate = env::var("RATE").map_or(50.0, |rate| rate.parse().unwrap());
    println!("microseconds; medians of {PAIRS} windows without and with handshakes");
    println!("server     key      p50      p99      p50with  p99with  ratio    handshakes/s");
    for is_blocking in [false, true] {
        for kind in KINDS {
            measure(kind, is_blocking, rate);
        }
    }
}
