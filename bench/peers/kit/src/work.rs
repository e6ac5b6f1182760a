//! The measured work. A side's time is the CPU time of the calls to that side alone.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::{Contender, Group, Negotiated, RECORD_LEN, Result, Setup, Side, Work};

/// Records between two readings of the clock.
const RECORDS: usize = 32;
/// Handshakes between two readings of the clock. A client of rustls keeps eight TLS 1.3 tickets.
const HANDSHAKES: usize = 8;
const IDLE: usize = 1000;

/// Does the work for at least `time`, after some that is not measured. Returns the nanoseconds per
/// record or handshake, or the bytes per connection, of client and server.
pub(crate) fn measure<C: Contender>(setup: &Setup, time: Duration) -> Result<[f64; 2]> {
    check_verification::<C>(setup)?;
    let contender = C::new(setup)?;
    match setup.scenario.work {
        Work::Bulk => bulk(&contender, setup, time),
        Work::Full | Work::Ticket => handshakes(&contender, setup, time),
        Work::Idle => idle(&contender, setup),
    }
}

/// Fails if a client accepts a chain whose root it does not trust.
fn check_verification<C: Contender>(setup: &Setup) -> Result<()> {
    let setup = Setup {
        trusts_root: false,
        ..setup.clone()
    };
    match shake_hands(&C::new(&setup)?, &setup, 1, &mut Default::default()) {
        Ok(_) => Err("the client accepted an unknown root".into()),
        Err(_) => Ok(()),
    }
}

/// Adds the CPU time since the last reading to one side.
struct Clock {
    last: Duration,
}

impl Clock {
    fn start() -> Self {
        Self { last: cpu_time() }
    }

    fn lap(&mut self, spent: &mut Duration) {
        let now = cpu_time();
        *spent += now - self.last;
        self.last = now;
    }

    fn skip(&mut self) {
        self.last = cpu_time();
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn each(spent: [Duration; 2], count: usize) -> [f64; 2] {
    spent.map(|spent| spent.as_nanos() as f64 / count as f64)
}

fn bulk<C: Contender>(contender: &C, setup: &Setup, time: Duration) -> Result<[f64; 2]> {
    let (mut client, mut server) = connected(contender, setup)?;
    let len = C::LONGEST;
    let data: Vec<u8> = (0..len).map(|index| (index % 251) as u8).collect();
    let mut received = vec![0; len];
    let (mut spent, mut count) = ([Duration::ZERO; 2], 0);
    for batch in 0.. {
        if batch == 4 {
            (spent, count) = ([Duration::ZERO; 2], 0);
        }
        if spent[0] + spent[1] >= time && batch > 4 {
            break;
        }
        let mut clock = Clock::start();
        for _ in 0..RECORDS {
            client.send(&data)?;
        }
        clock.lap(&mut spent[0]);
        let sealed = client.wire().pending();
        // a record has 5 bytes of header, and 17 or 24 around the data
        if !(RECORDS * (len + 22)..=RECORDS * (len + 32)).contains(&sealed) {
            return Err(format!("{RECORDS} records took {sealed} bytes").into());
        }
        client.wire().deliver(server.wire())?;
        received.fill(0);
        clock.skip();
        receive(&mut server, &mut received, RECORDS * len)?;
        clock.lap(&mut spent[1]);
        if received != data {
            return Err("other data arrived than was sent".into());
        }
        count += RECORDS;
    }
    Ok(each(spent, count).map(|time| time * RECORD_LEN as f64 / len as f64))
}

/// Receives `missing` bytes, into `buffer` again and again.
fn receive(side: &mut impl Side, buffer: &mut [u8], mut missing: usize) -> Result<()> {
    while missing > 0 {
        match side.receive(buffer)? {
            0 => return Err(format!("{missing} bytes did not arrive").into()),
            read => missing -= read,
        }
    }
    Ok(())
}

fn handshakes<C: Contender>(contender: &C, setup: &Setup, time: Duration) -> Result<[f64; 2]> {
    let is_ticket = setup.scenario.work == Work::Ticket;
    let (mut spent, mut count) = ([Duration::ZERO; 2], 0);
    for batch in 0.. {
        // the first batch has no tickets
        if batch == 3 {
            (spent, count) = ([Duration::ZERO; 2], 0);
        }
        if spent[0] + spent[1] >= time && batch > 3 {
            break;
        }
        let sides = shake_hands(contender, setup, HANDSHAKES, &mut spent)?;
        for (client, server) in sides.0.iter().zip(&sides.1) {
            check(setup, &client.negotiated(), is_ticket && batch > 0)?;
            check(setup, &server.negotiated(), is_ticket && batch > 0)?;
        }
        let mut clock = Clock::start();
        drop(sides.0);
        clock.lap(&mut spent[0]);
        drop(sides.1);
        clock.lap(&mut spent[1]);
        count += HANDSHAKES;
    }
    Ok(each(spent, count))
}

/// Clients, and servers in the same order.
type Sides<C> = (Vec<<C as Contender>::Client>, Vec<<C as Contender>::Server>);

/// Makes `count` handshakes, flight by flight. Each ends when the client has read the first byte of
/// the server's data, which follows the tickets.
fn shake_hands<C: Contender>(
    contender: &C,
    setup: &Setup,
    count: usize,
    spent: &mut [Duration; 2],
) -> Result<Sides<C>> {
    let [of_client, of_server] = spent;
    let (mut clients, mut servers) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let (mut are_complete, mut received) = (vec![[false; 2]; count], vec![0; count]);
    let mut clock = Clock::start();
    for complete in &mut are_complete {
        let mut client = contender.client()?;
        complete[0] = client.handshake()?;
        clients.push(client);
    }
    clock.lap(of_client);
    for _ in 0..count {
        servers.push(contender.server()?);
    }
    clock.lap(of_server);
    let hello = clients[0].wire().pending();
    let is_hybrid = setup.scenario.group == Group::X25519MlKem768;
    // a share of ML-KEM-768 has 1184 bytes
    if (hello > 1184) != is_hybrid {
        return Err(format!("the ClientHello has {hello} bytes").into());
    }
    for is_last in [false, true] {
        for (client, server) in clients.iter_mut().zip(&mut servers) {
            client.wire().deliver(server.wire())?;
        }
        clock.skip();
        for (server, complete) in servers.iter_mut().zip(&mut are_complete) {
            if !complete[1] {
                complete[1] = server.handshake()?;
                if complete[1] {
                    server.send(&[1])?;
                }
            }
        }
        clock.lap(of_server);
        for (client, server) in clients.iter_mut().zip(&mut servers) {
            server.wire().deliver(client.wire())?;
        }
        clock.skip();
        for index in 0..count {
            let (client, complete) = (&mut clients[index], &mut are_complete[index]);
            if !complete[0] {
                complete[0] = client.handshake()?;
            }
            if is_last {
                received[index] = client.receive(&mut [0; 16])?;
            }
        }
        clock.lap(of_client);
    }
    if are_complete.iter().any(|complete| *complete != [true; 2])
        || received.iter().any(|received| *received != 1)
    {
        return Err(format!("a handshake did not complete: {are_complete:?} {received:?}").into());
    }
    Ok((clients, servers))
}

/// Fails if a connection is not as the scenario says.
fn check(setup: &Setup, negotiated: &Negotiated, is_resumed: bool) -> Result<()> {
    let scenario = &setup.scenario;
    let comparable = |name: &str| name.replace("TLS13_", "TLS_");
    let expected = [scenario.suite(), scenario.openssl_suite()];
    if !expected.contains(&comparable(&negotiated.suite)) || negotiated.is_resumed != is_resumed {
        let resumed = if is_resumed { "resumed" } else { "full" };
        return Err(format!("expected {expected:?}, {resumed}: {negotiated:?}").into());
    }
    Ok(())
}

fn connected<C: Contender>(contender: &C, setup: &Setup) -> Result<(C::Client, C::Server)> {
    let (mut clients, mut servers) = shake_hands(contender, setup, 1, &mut Default::default())?;
    let pair = clients.pop().zip(servers.pop()).ok_or("there is no pair")?;
    check(setup, &pair.0.negotiated(), false)?;
    Ok(pair)
}

/// Measures the live memory of connections that have exchanged a record in each direction, by
/// dropping all clients, then all servers.
fn idle<C: Contender>(contender: &C, setup: &Setup) -> Result<[f64; 2]> {
    let (mut clients, mut servers) = (Vec::with_capacity(IDLE), Vec::with_capacity(IDLE));
    let (data, mut buffer) = (vec![1; C::LONGEST], vec![0; C::LONGEST]);
    for _ in 0..IDLE {
        let (mut client, mut server) = connected(contender, setup)?;
        client.send(&data)?;
        client.wire().deliver(server.wire())?;
        receive_all(&mut server, &mut buffer)?;
        server.send(&data)?;
        server.wire().deliver(client.wire())?;
        receive_all(&mut client, &mut buffer)?;
        client.wire().free();
        server.wire().free();
        clients.push(client);
        servers.push(server);
    }
    let all = allocated();
    drop(clients);
    let of_servers = allocated();
    drop(servers);
    let none = allocated();
    let each = |before: usize, after: usize| before.saturating_sub(after) as f64 / IDLE as f64;
    Ok([each(all, of_servers), each(of_servers, none)])
}

/// Receives a record, and tries to receive more, as a program does that waits for data.
fn receive_all(side: &mut impl Side, buffer: &mut [u8]) -> Result<()> {
    receive(side, buffer, buffer.len())?;
    match side.receive(buffer)? {
        0 => Ok(()),
        more => Err(format!("{more} bytes too many arrived").into()),
    }
}

/// The bytes that Rust and C code of this process have from `malloc`, including its overhead.
#[allow(unsafe_code)] // glibc has no safe interface for it
fn allocated() -> usize {
    // SAFETY: it has no arguments, and locks what it reads.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}
