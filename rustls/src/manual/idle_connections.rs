//! How to hold as many connections as possible.
//!
//! An idle connection of this library holds its keys, its state, and no buffer:
//!
//! | heap bytes, the connection type included, aws-lc-rs | this | rustls 0.23.46 |
//! |---|---|---|
//! | buffered client | 1056 | 35518 |
//! | buffered server | 1008 | 35102 |
//! | unbuffered client | 1096 | 2670 |
//! | unbuffered server | 1048 | 2254 |
//!
//! ```sh
//! cargo run --release -p bench -- memory
//! ```
//!
//! Receive and send buffers are taken from a pool of the thread with the first byte of a record and given back with the
//! last. So the number of connections does not count, but the number of those that hold a partial record or unsent output.
//! A peer that sends part of a record and waits makes its connection hold about what it has sent, in a buffer of the next of
//! these lengths: 256 bytes, 1, 2, 4, 8 and 16 KiB. Output that the socket does not take is held in the same lengths, up to
//! 72 KiB.
//!
//! # What a thread keeps
//!
//! A thread keeps at most 128 KiB of buffers that no connection uses, until it ends. A few threads with many connections
//! each do not notice. With **a thread for each connection** it is what a resting thread holds at the most: 16 KiB after
//! records of 16 KiB were received one by one, up to 128 KiB after long writes. Prefer a pool of threads, or `write` less
//! at a time.
//!
//! Buffers hold old bytes of the connections that used them. A connection that gets a buffer of another one sees none of
//! them: they are cleared before its transport or its cipher is given that part of the buffer. Two connections that take
//! turns on a thread have their own buffers, and nothing is cleared.
//!
//! # What an application can do
//!
//! - **Do not keep a buffer for each connection either.** A read buffer of 16 KiB beside each connection costs sixteen times
//!   what this library does. Read when the socket is ready, into a buffer of the thread; with io_uring, use provided buffers.
//! - **Take all plaintext when it is there.** What waits to be read waits in a buffer.
//! - **Lower the limit for output** where peers are slow: [`set_buffer_limit`](crate::ConnectionCommon::set_buffer_limit)
//!   bounds what waits for the socket, 64 KiB by default. `write` then takes less, and an event loop waits until it can go on.
//!   Without a limit (`None`) output takes about a quarter more memory than it is long, and gives it back as it is sent. Where
//!   memory ends, `write` takes less, and nothing with an error of the kind
//!   [`OutOfMemory`](std::io::ErrorKind::OutOfMemory).
//! - **Keep fewer sessions.** A TLS 1.3 client keeps tickets ([`Resumption`](crate::client::Resumption), 8 for each of 32 servers by
//!   default), a server with a storage in memory keeps sessions (256 by default), each about 300 bytes beside the
//!   certificates of the peer, which are [shared](crate::certificates::PeerChains). A server with a
//!   [`Ticketer`](crate::crypto::aws_lc_rs::Ticketer) keeps nothing.
//! - **Send fewer tickets** to clients that will not come back:
//!   [`send_tls13_tickets`](crate::ServerConfig::send_tls13_tickets) is 2, each a few hundred bytes on the wire and some work.
//! - **Share one configuration.** A connection holds an `Arc` of it and nothing of its content.
//! - **Drop what has ended.** Once a connection has failed its keys are gone at once; the connection itself is the
//!   application's to drop.
//!
//! # Ten thousand connections
//!
//! What is idle stays so small, whatever came before. 10 000 pairs in one process, which send each other 1 byte, 1 kB and
//! 16 KiB in turns, and parts of such records, hold not one byte more after the fourth round than after the first:
//!
//! | heap bytes of each connection, buffered, aws-lc-rs | this | rustls 0.23.46 |
//! |---|---|---|
//! | idle, client / server | 1072 / 1014 | 35516 / 35102 |
//! | part of a record of 1 kB has come | 2067 | 6638 |
//! | part of a record of 16 KiB has come | 17689 | 35310 |
//! | a record of 16 KiB waits to be read | 17689 | 51694 |
//! | a record of 1 byte waits to be read | 5139 | 6638 |
//!
//! ```sh
//! cargo run --release -p bench -- load connections
//! ```
//!
//! The last row is what to avoid: the buffer is as long as what could have come with the byte, and is given back when the
//! byte has been read. The test `beside_upstream` compares some hundred of such states with 0.23: none holds more.
//!
//! # Peers that mean no good
//!
//! What a peer can make a connection hold is bounded, whatever it sends, and so is what it can send that brings nothing:
//!
//! | a peer that sends | makes a connection hold, bytes | until |
//! |---|---|---|
//! | nothing | 650 | the application closes it |
//! | part of a ClientHello, or byte by byte | at most 2¼ times what was sent, and 2 kB | the same |
//! | 64 kB of handshake message but a byte, in any records | 65 kB | the same; a longer one is refused by its header |
//! | a ClientHello and no more | 2.6 kB | the same |
//! | certificates of up to 64 kB, where the server asks for them | 62 kB | the end of the connection |
//! | all of a record but a byte | 17.7 kB | the application closes it |
//! | empty records, or nothing but padding | 17.1 kB | the 33rd in a row |
//! | warnings | 2.6 kB | the 5th |
//! | KeyUpdates | 2.6 kB | the 33rd without data between them |
//! | requests to renegotiate, with TLS 1.2 | 2.7 kB | the 2nd |
//! | data, and never reads the answers | 75 kB: `set_buffer_limit`, 64 KiB, in a buffer of 72 KiB | the application closes it |
//! | tickets without end, to a client | 8 of 64 kB at the most for each of 32 servers, by default | |
//!
//! `bench -- load hostile` has all kinds, with what they take of the processor, and what rustls 0.23.46 does: where
//! KeyUpdates come with data and no answer is read, it queues an answer to each, 1.3 MB after 20 000; here one is owed
//! however many are requested.
//!
//! Two things are the application's, as it alone can tell them:
//!
//! - **Time.** Close connections whose [`is_handshaking`](crate::CommonState::is_handshaking) stays true for more than a few
//!   seconds, and those that have half a record or unsent output for long.
//! - **Back-pressure.** Who does not take what there is to send shall not be read from: while
//!   [`wants_write`](crate::CommonState::wants_write) is true, wait for the socket to become writable and call no
//!   `read_tls`. [`Writer::room_left`](crate::Writer::room_left) says how much more may be written. With the unbuffered API
//!   output is in buffers of the application from the start.
//!
//! A million handshakes, full ones and resumed ones with and without client certificates, leave nothing behind but what
//! caches hold that have a limit: `bench -- load handshakes`.
