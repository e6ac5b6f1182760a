//! Connections whose secrets are handed over: to halves, by extraction, to the kernel.

use core::hint::black_box;
use std::io::{Read, Write};
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::peers::pairs::this::{Configs, unbuffered};
use rustls::client::ClientConnectionData;
use rustls::server::ServerConnectionData;
use rustls::split::{Receiver, Sender};
use rustls::{ClientConfig, ServerConfig};

use crate::connections::{Case, Sessions, connected, move_through_heap};
use crate::secrets::left_by;

/// Fails if `work` leaves a secret of connections of its configurations.
fn check(what: &str, work: impl Fn(&Case, ClientConfig, ServerConfig)) {
    for provider in PROVIDERS {
        for versions in [Versions::Tls13, Versions::Tls12] {
            for sessions in [Sessions::Tickets, Sessions::Stored] {
                let case = Case {
                    sessions,
                    ..Case::of_version(provider, versions)
                };
                check_case(what, &case, &work);
            }
        }
    }
}

fn check_case(what: &str, case: &Case, work: impl Fn(&Case, ClientConfig, ServerConfig)) {
    let left = left_by(case.provider, case.suite, || {
        let (client, server) = case.configs();
        work(case, client, server);
    });
    assert!(left.is_empty(), "{what}, {case:?}: {left:?}");
}

/// Passes data in records from one half to the other side's.
fn pass<Data>(sender: &mut Sender, receiver: &mut Receiver<Data>, data: &[u8]) {
    sender.writer().write_all(data).unwrap();
    let mut wire = Vec::new();
    while sender.wants_write() {
        sender.write_tls(&mut wire).unwrap();
    }
    let mut wire = &wire[..];
    while !wire.is_empty() {
        receiver.read_tls(&mut wire).unwrap();
        receiver.process_new_packets().unwrap();
    }
    let mut received = vec![0; data.len()];
    receiver.reader().read_exact(&mut received).unwrap();
    assert_eq!(received, data);
}

#[test]
fn no_secret_of_a_split_connection_is_left() {
    check("split", |case, client, server| {
        let (client, server) = connected(&Arc::new(client), &Arc::new(server));
        type Halves<Data> = (Sender, Receiver<Data>);
        let (mut client_sends, mut client_receives): Halves<ClientConnectionData> =
            move_through_heap(client).into_split().unwrap();
        let (mut server_sends, mut server_receives): Halves<ServerConnectionData> =
            move_through_heap(server).into_split().unwrap();
        for _ in 0..3 {
            pass(&mut client_sends, &mut server_receives, b"data");
            pass(&mut server_sends, &mut client_receives, b"data");
            if case.is_tls13() {
                client_sends.refresh_traffic_keys().unwrap();
            }
            client_sends = move_through_heap(client_sends);
            server_sends = move_through_heap(server_sends);
            client_receives = move_through_heap(client_receives);
            server_receives = move_through_heap(server_receives);
        }
        // one half outlives the other
        drop(black_box(Box::new(client_sends)));
        drop(black_box(Box::new(server_receives)));
    });
}

#[test]
fn no_extracted_secret_is_left() {
    check("extracted", |_, mut client, mut server| {
        client.enable_secret_extraction = true;
        server.enable_secret_extraction = true;
        let (client, server) = connected(&Arc::new(client), &Arc::new(server));
        let extracted = [
            move_through_heap(client)
                .dangerous_extract_secrets()
                .unwrap(),
            move_through_heap(server)
                .dangerous_extract_secrets()
                .unwrap(),
        ];
        drop(black_box(Box::new(extracted)));
    });
}

#[test]
fn no_secret_of_a_kernel_connection_is_left() {
    for provider in [Provider::AwsLc, Provider::Ring] {
        for versions in [Versions::Tls13, Versions::Tls12] {
            let case = Case::of_version(provider, versions);
            check_case("kernel", &case, |case, mut client, mut server| {
                client.enable_secret_extraction = true;
                server.enable_secret_extraction = true;
                let configs = Configs {
                    client: Arc::new(client),
                    server: Arc::new(server),
                };
                let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
                // collects the randoms
                drop(connected(&configs.client, &configs.server));
                let pair =
                    unbuffered::Pair::connect_through(&configs, &mut to_server, &mut to_client);
                let unbuffered::Pair { client, server } = pair.unwrap();
                let (secrets, client) = client.dangerous_into_kernel_connection().unwrap();
                drop(black_box(Box::new(secrets)));
                let (secrets, server) = server.dangerous_into_kernel_connection().unwrap();
                drop(black_box(Box::new(secrets)));
                let (mut client, mut server) =
                    (move_through_heap(client), move_through_heap(server));
                if case.is_tls13() {
                    for _ in 0..2 {
                        drop(black_box(Box::new(client.update_tx_secret().unwrap())));
                        drop(black_box(Box::new(client.update_rx_secret().unwrap())));
                        drop(black_box(Box::new(server.update_tx_secret().unwrap())));
                        (client, server) = (move_through_heap(client), move_through_heap(server));
                    }
                }
                drop(black_box((Box::new(client), Box::new(server))));
            });
        }
    }
}
