//! Blocking I/O completes although operations are pending, and sends the alert if one fails.
#![cfg(unix)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use harness::operations::ends::Api;
use harness::operations::kinds::KINDS;
use harness::operations::{Plan, When};
use harness::peers::configs::server_name;
use rustls::{ClientConnection, Error, ServerConnection, Stream};

#[test]
fn streams_complete_while_operations_are_pending() {
    for kind in KINDS.iter().filter(|kind| !kind.has_early_data()) {
        for when in [When::Ready, When::After(2), When::FromThread] {
            let plan = Arc::new(Plan::new(when));
            let world = kind.world(Api::Buffered, &plan);
            let (near, far) = UnixStream::pair().unwrap();
            let server = thread::spawn(move || {
                let mut conn = ServerConnection::new(world.server).unwrap();
                conn.set_async(true);
                let mut far = far;
                let mut stream = Stream::new(&mut conn, &mut far);
                let mut request = [0; 7];
                stream.read_exact(&mut request).unwrap();
                assert_eq!(&request, b"request");
                stream.write_all(b"answer").unwrap();
            });
            let mut conn = ClientConnection::new(world.client, server_name()).unwrap();
            conn.set_async(true);
            let mut near = near;
            let mut stream = Stream::new(&mut conn, &mut near);
            stream.write_all(b"request").unwrap();
            let mut answer = [0; 6];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"answer");
            server.join().unwrap();
            assert!(plan.futures().contains("verify_server_cert"), "{kind:?}");
        }
    }
}

/// If an operation fails, its alert is sent.
#[test]
fn the_alert_of_a_failed_operation_is_sent() {
    let plan = Arc::new(Plan::new(When::FromThread).failing("resolve"));
    let world = KINDS[0].world(Api::Buffered, &plan);
    plan.begin_to_fail();
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut conn = ServerConnection::new(world.server).unwrap();
        conn.set_async(true);
        conn.complete_io(&mut far).unwrap_err()
    });
    let mut conn = ClientConnection::new(world.client, server_name()).unwrap();
    let error = conn.complete_io(&mut near).unwrap_err();
    let error = error.get_ref().unwrap().downcast_ref::<Error>().unwrap();
    let expected = Error::AlertReceived(rustls::AlertDescription::AccessDenied);
    assert_eq!(error, &expected);
    let error = server.join().unwrap().to_string();
    assert!(error.contains("no server certificate"), "{error}");
}
