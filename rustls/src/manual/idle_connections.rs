//! Memory: holding as many connections as possible.
//!
//! An idle connection of this library holds its keys and its state, and no buffer. After traffic:
//!
//! | heap bytes, including the connection type, aws-lc-rs | this | rustls 0.23.46 |
//! |---|---|---|
//! | buffered client | <!--=idle-client-->1072<!--/--> | <!--=old-idle-client-->35520<!--/--> |
//! | buffered server | <!--=idle-server-->1013<!--/--> | <!--=old-idle-server-->35102<!--/--> |
//! | unbuffered client | <!--=idle-unbuffered-client-->1096<!--/--> | <!--=old-idle-unbuffered-client-->2672<!--/--> |
//! | unbuffered server | <!--=idle-unbuffered-server-->1037<!--/--> | <!--=old-idle-unbuffered-server-->2254<!--/--> |
//!
//! ```sh
//! cargo run --release -p bench -- memory
//! ```
//!
//! A connection takes a buffer from a pool of its thread with the first byte of a record, and
//! returns it with the last. So memory depends on the connections that hold a partial record or
//! unsent output, not on their total number. A connection that waits for the rest of a record holds
//! about the bytes received, in a buffer of the next of these lengths: 256 bytes, 1, 2, 4, 8 and 16
//! KiB. Output that the socket does not accept is held in the same lengths, up to 72 KiB.
//!
//! # Memory of a thread
//!
//! A thread keeps at most 128 KiB of unused buffers until it ends. That is little for a few threads
//! with many connections each. With **one thread per connection**, it adds up: an idle thread holds
//! 16 KiB after receiving records of 16 KiB one by one, and up to 128 KiB after long writes. Prefer
//! a pool of threads, or write less at a time.
//!
//! Buffers hold old bytes of the connections that used them. No other connection sees these bytes:
//! they are cleared before its transport or its cipher gets that part of the buffer. Two
//! connections that take turns on a thread have separate buffers, and nothing is cleared.
//!
//! # Advice for applications
//!
//! - **Do not keep a buffer per connection.** A read buffer of 16 KiB costs sixteen times as much
//!   as this library's connection. Read when the socket is ready, into a buffer of the thread. With
//!   io_uring, use provided buffers.
//! - **Read all plaintext when it arrives.** Waiting plaintext occupies a buffer.
//! - **Lower the output limit** if peers are slow.
//!   [`set_buffer_limit`](crate::ConnectionCommon::set_buffer_limit) limits the output that waits
//!   for the socket; the default is 64 KiB. `write` then accepts less, and an event loop waits.
//!   Without a limit (`None`), output takes about a quarter more memory than its length, and
//!   releases it as it is sent. If memory is exhausted, `write` accepts less. If it can accept
//!   nothing, it returns [`OutOfMemory`](std::io::ErrorKind::OutOfMemory).
//! - **Keep fewer sessions.** A TLS 1.3 client keeps tickets
//!   ([`Resumption`](crate::client::Resumption), 8 for each of 32 servers by default). A server
//!   with a storage in memory keeps sessions, 256 by default. Each takes about <!--=session-->360<!--/--> bytes beside the
//!   peer's certificates, which are [shared](crate::certificates::PeerChains). A server with a
//!   [`Ticketer`](crate::crypto::aws_lc_rs::Ticketer) keeps nothing.
//! - **Send fewer tickets** to clients that will not return.
//!   [`send_tls13_tickets`](crate::ServerConfig::send_tls13_tickets) is 2 by default. Each ticket
//!   costs a few hundred bytes on the wire and some work.
//! - **Share one configuration.** A connection holds an `Arc` of it and no copy.
//! - **Drop finished connections.** A failed connection has already dropped its keys; the
//!   application drops the rest.
//!
//! # Ten thousand connections
//!
//! Idle connections stay this small whatever they did before. In one process, 10 000 pairs send
//! each other 1 byte, 1 kB and 16 KiB in turns, and parts of such records. After the fourth round
//! they hold exactly as many bytes as after the first:
//!
//! | heap bytes per connection, buffered, aws-lc-rs | this | rustls 0.23.46 |
//! |---|---|---|
//! | idle client | <!--=many-idle-client-->1072<!--/--> | <!--=old-many-idle-client-->35516<!--/--> |
//! | idle server | <!--=many-idle-server-->1014<!--/--> | <!--=old-many-idle-server-->35102<!--/--> |
//! | part of a record of 1 kB received | <!--=many-part-1k-->2066<!--/--> | <!--=old-many-part-1k-->6637<!--/--> |
//! | part of a record of 16 KiB received | <!--=many-part-16k-->17681<!--/--> | <!--=old-many-part-16k-->35309<!--/--> |
//! | an unread record of 16 KiB | <!--=many-wait-16k-->17683<!--/--> | <!--=old-many-wait-16k-->51693<!--/--> |
//! | an unread record of 1 byte | <!--=many-wait-1-->5134<!--/--> | <!--=old-many-wait-1-->6638<!--/--> |
//!
//! ```sh
//! cargo run --release -p bench -- load connections
//! ```
//!
//! The unread byte is in a buffer of 4 KiB, which had room for more. Once `read_tls` finds nothing
//! to read, the byte moves to a buffer that fits. The test `beside_upstream` compares hundreds of
//! such states with 0.23; none takes more memory.
//!
//! # Hostile peers
//!
//! The library limits the memory that a peer can occupy, and the number of useless messages:
//!
//! | a peer that sends | occupies, bytes | until |
//! |---|---|---|
//! | nothing | 650 | the application closes the connection |
//! | part of a ClientHello, or single bytes | at most 2¼ times its bytes, and 2 kB | the same |
//! | 64 kB of a handshake message less one byte, in any records | 65 kB | the same |
//! | a ClientHello and no more | 2.6 kB | the same |
//! | a ClientHello to an `Acceptor` | its length, and 2 kB | the application continues |
//! | certificates without a signature, up to 16 KiB | 16 kB | the connection ends |
//! | the same, longer, if the verifier accepts them | 64 kB; with TLS 1.2, 144 kB | the same |
//! | certificates with a signature, up to 64 kB | their length, and 24 bytes for each | the same |
//! | a record less one byte | 17.7 kB | the application closes the connection |
//! | empty records, or only padding | 17.1 kB | the 33rd in a row |
//! | warnings | 2.6 kB | the 5th |
//! | KeyUpdates | 2.6 kB | the 33rd without data between them |
//! | requests to renegotiate, with TLS 1.2 | 2.7 kB | the 2nd |
//! | data, and never reads the answers | 75 kB | the application closes the connection |
//! | endless tickets, to a client | at most 8 of 64 kB for each of 32 servers | |
//!
//! The verifiers of this library verify a chain of up to 16 KiB after the client's signature,
//! because an earlier handshake may have accepted it. Until then it is one string of bytes, so that
//! many short certificates take no more memory than a long one. A longer chain is verified on
//! arrival, and most are rejected there. With TLS 1.2, the messages that the client will sign are
//! held, too. Once the client is authenticated, its certificates are a list, as in 0.23, because
//! applications get one.
//!
//! A handshake message of more than 64 kB is rejected by its header. The 75 kB are the 64 KiB of
//! `set_buffer_limit`, in a buffer of 72 KiB. The limit on tickets is the default.
//!
//! `cargo run --release -p hostile` measures all kinds and their CPU time, also with rustls
//! 0.23.46. One example: a peer sends KeyUpdates with data and reads no answers. 0.23 queues an
//! answer to each, 1.3 MB after 20 000. This library owes one answer, however many are requested.
//!
//! The application must add two limits:
//!
//! - **Time.** Close connections whose [`is_handshaking`](crate::CommonState::is_handshaking) stays
//!   true for more than a few seconds, and those with a partial record or unsent output for long.
//! - **Back-pressure.** Stop reading from a peer that does not drain your output. While
//!   [`wants_write`](crate::CommonState::wants_write) is true, wait until the socket is writable,
//!   and do not call `read_tls`. [`Writer::room_left`](crate::Writer::room_left) returns the room
//!   for more output. With the unbuffered API, the application owns the output from the start.
//!
//! A million handshakes, full and resumed, with and without client certificates, leave nothing
//! behind except the bounded caches: `bench -- load handshakes`.
