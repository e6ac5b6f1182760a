//! Tries calls of connections that fail: exporters, secrets for the kernel, QUIC, Acceptor and I/O.

use std::io::{Read, Write};
use std::sync::Arc;

use harness::peers::configs::{self, KeyType, Provider, Versions, server_name};
use harness::peers::endpoints::{ThisUnbuffered, Transfer, UpstreamUnbuffered, handshake};
use harness::peers::memory::Memory;
use harness::peers::roles::{self, ROLES, Role};

use crate::texts::log::Log;

pub const KEY_TYPE: KeyType = KeyType::Ed25519;
const VERSIONS: [Versions; 2] = [Versions::Tls12, Versions::Tls13];

macro_rules! connections {
    ($module:ident, $tls:ident, $unbuffered:ident) => {
        // upstream deprecates `dangerous_extract_secrets` for unbuffered connections
        #[allow(deprecated)]
        pub mod $module {
            use roles::$module::Config;
            use $tls::kernel::KernelConnection;
            use $tls::server::Acceptor;
            use $tls::{ClientConfig, ClientConnection, Connection, Stream, quic};

            use super::*;

            pub fn all(provider: Provider) -> Log {
                let mut log = Log::default();
                for versions in VERSIONS {
                    export(&mut log, provider, versions);
                    move_to_kernel(&mut log, provider, versions);
                    start_quic(&mut log, provider, versions);
                    read_and_write(&mut log, provider, versions);
                }
                accept(&mut log, provider);
                log
            }

            fn config(role: Role, provider: Provider, versions: Versions) -> Config {
                Config::new(role, versions, provider.$module(), KEY_TYPE).extractable()
            }

            fn client(provider: Provider, versions: Versions) -> ClientConnection {
                let config = config(Role::Client, provider, versions).client();
                ClientConnection::new(config, server_name()).unwrap()
            }

            fn server(provider: Provider, versions: Versions) -> Connection {
                config(Role::Server, provider, versions).connection()
            }

            fn connected(provider: Provider, versions: Versions) -> [Connection; 2] {
                let [mut client, mut server] =
                    ROLES.map(|role| config(role, provider, versions).buffered());
                handshake(&mut client, &mut server);
                [client.conn, server.conn]
            }

            fn export(log: &mut Log, provider: Provider, versions: Versions) {
                let what = format!("export {versions:?}");
                let fresh = client(provider, versions);
                log.call(&what, || {
                    fresh.export_keying_material([0; 32], b"label", None)
                });
                let [conn, _] = connected(provider, versions);
                for len in [0, 1, 8160, 8161, 12_240, 12_241, 70_000] {
                    for (label, context) in [
                        (&b""[..], None),
                        (b"label", Some(&b""[..])),
                        (b"label", Some(&[7; 0xffff])),
                    ] {
                        log.call(&what, || {
                            conn.export_keying_material(vec![0; len], label, context)
                        });
                    }
                }
            }

            fn move_to_kernel(log: &mut Log, provider: Provider, versions: Versions) {
                let what = format!("kernel {versions:?}");
                let mut client =
                    $unbuffered::client(config(Role::Client, provider, versions).client());
                let mut server =
                    $unbuffered::server(config(Role::Server, provider, versions).server());
                handshake(&mut client, &mut server);
                let (_, mut client) = client.conn.dangerous_into_kernel_connection().unwrap();
                let (_, mut server) = server.conn.dangerous_into_kernel_connection().unwrap();
                for payload in [&[][..], &[0; 3], &[0; 40], &[0xff; 40]] {
                    log.call(&what, || client.handle_new_session_ticket(payload));
                }
                update(log, &what, &mut client);
                update(log, &what, &mut server);
            }

            fn update<T>(log: &mut Log, what: &str, conn: &mut KernelConnection<T>) {
                log.call(what, || conn.update_tx_secret());
                log.call(what, || conn.update_rx_secret());
            }

            fn start_quic(log: &mut Log, provider: Provider, versions: Versions) {
                let what = format!("QUIC {versions:?}");
                let params = || b"parameters".to_vec();
                for has_quic in [false, true] {
                    let mut client = config(Role::Client, provider, versions).client();
                    let server = config(Role::Server, provider, versions).server();
                    if !has_quic {
                        let mut without = provider.$module();
                        let chacha = $tls::CipherSuite::TLS13_CHACHA20_POLY1305_SHA256;
                        without
                            .cipher_suites
                            .retain(|suite| suite.suite() != chacha);
                        without.cipher_suites.truncate(1);
                        let without = Arc::new(without);
                        let builder = ClientConfig::builder_with_provider(without)
                            .with_safe_default_protocol_versions()
                            .unwrap();
                        let roots = configs::$module::roots(KEY_TYPE);
                        client =
                            Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
                    }
                    log.call(&what, || {
                        let version = quic::Version::V1;
                        quic::ClientConnection::new(client, version, server_name(), params())
                    });
                    for size in [0, 1, 16_384, u32::MAX - 1, u32::MAX] {
                        let mut server = (*server).clone();
                        server.max_early_data_size = size;
                        let server = Arc::new(server);
                        log.call(&what, || {
                            quic::ServerConnection::new(server, quic::Version::V2, params())
                        });
                    }
                }
            }

            fn read_and_write(log: &mut Log, provider: Provider, versions: Versions) {
                let what = format!("I/O {versions:?}");
                let http = b"HTTP/1.1 400 Bad Request\r\n\r\n";
                // a ClientHello, truncated anywhere or missing; bytes that are not TLS
                let hello = client(provider, versions).output();
                for bytes in [&[][..], &hello[..3], &hello[..20], &hello[..], http] {
                    let mut conn = server(provider, versions);
                    let mut transport = Memory::ending(bytes);
                    log.io(&what, || conn.complete_io(&mut transport));
                    log.io(&what, || conn.complete_io(&mut transport));
                    if bytes != http {
                        log.io(&what, || conn.reader().read(&mut [0; 9]));
                    }
                    log.call(&what, || conn.process_new_packets());
                    let mut conn = client(provider, versions);
                    let mut transport = Memory::ending(bytes);
                    log.io(&what, || {
                        Stream::new(&mut conn, &mut transport).read(&mut [0])
                    });
                    log.io(&what, || {
                        Stream::new(&mut conn, &mut transport).write(b"data")
                    });
                    log.io(&what, || Stream::new(&mut conn, &mut transport).flush());
                }

                // the end of the stream, with and without a close_notify
                for closes in [false, true] {
                    let [mut conn, mut peer] = connected(provider, versions);
                    if closes {
                        peer.send_close_notify();
                    }
                    let bytes = peer.output();
                    let mut transport = Memory::ending(&bytes);
                    log.io(&what, || conn.complete_io(&mut transport));
                    log.io(&what, || conn.complete_io(&mut transport));
                    log.io(&what, || conn.reader().read(&mut [0; 9]));
                    let Connection::Client(conn) = &mut conn else {
                        panic!("the first is the client");
                    };
                    let mut stream = Stream::new(conn, &mut transport);
                    log.io(&what, || stream.read(&mut [0; 9]));
                    log.io(&what, || stream.write(b"data"));
                }

                // more than the buffer holds
                let [mut conn, mut peer] = connected(provider, versions);
                let mut bytes = Vec::new();
                for _ in 0..9 {
                    peer.writer().write_all(&[7; 16_384]).unwrap();
                    bytes.extend(peer.output());
                }
                for processes in [true, false] {
                    let mut rest = &bytes[..];
                    log.io(&what, || {
                        while !rest.is_empty() {
                            conn.read_tls(&mut rest)?;
                            if processes {
                                conn.process_new_packets().unwrap();
                            }
                        }
                        Ok(())
                    });
                    [conn, _] = connected(provider, versions);
                }
            }

            fn accept(log: &mut Log, provider: Provider) {
                let what = "acceptor";
                let hello = client(provider, Versions::Tls13).output();
                let tls12 = || config(Role::Server, provider, Versions::Tls12).server();
                for bytes in [
                    &hello[..],
                    b"HTTP/1.1 400 Bad Request\r\n\r\n",
                    &[22, 3, 1, 0, 0],
                ] {
                    let mut acceptor = Acceptor::default();
                    log.io(what, || acceptor.read_tls(&mut &bytes[..]));
                    let accepted = acceptor.accept();
                    log.call(what, || match accepted {
                        Ok(Some(accepted)) => {
                            let conn = accepted.into_connection(tls12());
                            conn.map(|_| ()).map_err(|(error, _)| error)
                        }
                        Ok(None) => Ok(()),
                        Err((error, _)) => Err(error),
                    });
                    log.call(what, || {
                        acceptor.accept().map(|_| ()).map_err(|(error, _)| error)
                    });
                    log.io(what, || acceptor.read_tls(&mut &bytes[..]));
                }
            }
        }
    };
}

connections!(this, rustls, ThisUnbuffered);
connections!(upstream, rustls_upstream, UpstreamUnbuffered);
