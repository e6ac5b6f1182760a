//! Tests with NSS's `selfserv` and `tstclnt`, and the databases that they need.

use std::fs;

use harness::peers::configs::{ClientAuth, KeyType, SERVER_NAME, Versions};
use harness::peers::programs::{Files, Program, listen};

use crate::other_stacks::{Case, answer_twice, files, output, request_twice};

/// Old versions of NSS do not support Ed25519 certificates.
const KEY_TYPES: [KeyType; 3] = [KeyType::EcdsaP256, KeyType::EcdsaP384, KeyType::Rsa2048];

/// Creates a database with the authority and with the certificate and key of `name`; `None` if the
/// tools are not installed.
fn database(files: &Files, name: &str) -> Option<String> {
    let directory = files.path("database");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    let database = format!("sql:{directory}");
    let ca = files.path("ca.pem");
    Program::run("certutil", &["-N", "-d", &database, "--empty-password"])?;
    let trust = ["-A", "-d", &database, "-n", "ca", "-t", "CT,C,C", "-i", &ca];
    Program::run("certutil", &trust)?;
    let (cert, key) = (format!("{name}.pem"), format!("{name}.key"));
    let (cert, key, both) = (files.path(&cert), files.path(&key), files.path("both.p12"));
    let key = ["-in", &cert, "-inkey", &key, "-name", name];
    let export = [
        &["pkcs12", "-export", "-passout", "pass:test", "-out", &both],
        &key[..],
    ]
    .concat();
    Program::run("openssl", &export)?;
    let import = ["-i", &both, "-d", &database, "-W", "test", "-K", ""];
    Program::run("pk12util", &import)?;
    Some(database)
}

fn versions(case: &Case) -> [String; 2] {
    let version = match case.version {
        Versions::Tls12 => "tls1.2:tls1.2",
        _ => "tls1.3:tls1.3",
    };
    ["-V".into(), version.into()]
}

#[test]
fn our_client_connects_to_their_server() {
    for case in Case::all(&KEY_TYPES) {
        let files = files("selfserv", &case);
        let Some(database) = database(&files, "server") else {
            return;
        };
        let started = Program::serve("selfserv", |port| {
            let name = match case.key_type {
                KeyType::Rsa2048 => "-n",
                _ => "-e",
            };
            let port = port.to_string();
            let args = ["-d", &database, name, "server", "-p", &port, "-u", "-G"];
            let mut args = args.map(str::to_owned).to_vec();
            args.extend(versions(&case));
            if case.auth == ClientAuth::Required {
                args.extend(["-r".into(), "-r".into()]);
            }
            args
        });
        let Some((_server, port, socket)) = started else {
            return;
        };
        let answer = request_twice(&case, b"GET / HTTP/1.0\r\n\r\n", 15, port, socket);
        assert_eq!(answer, b"HTTP/1.0 200 OK");
    }
}

#[test]
fn their_client_connects_to_our_server() {
    for case in Case::all(&KEY_TYPES) {
        let files = files("tstclnt", &case);
        files.write("request", "GET / HTTP/1.0\r\n\r\n");
        let Some(database) = database(&files, "client") else {
            return;
        };
        let (listener, port) = listen();
        let (port, request) = (port.to_string(), files.path("request"));
        let to = [
            "-d",
            &database,
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-a",
            SERVER_NAME,
        ];
        // the certificate does not cover the address; everything else is checked
        let how = ["-o", "-u", "-G", "-4", "-L", "2", "-A", &request];
        let mut args: Vec<String> = to.iter().chain(&how).map(ToString::to_string).collect();
        args.extend(versions(&case));
        if case.auth == ClientAuth::Required {
            args.extend(["-n".into(), "client".into()]);
        }
        let Some(mut client) = Program::start("tstclnt", &args) else {
            return;
        };
        answer_twice(&case, &listener, |tls, _| {
            let mut request = [0; 18];
            tls.read_exact(&mut request).unwrap();
            tls.write_all(b"hello of the server\n").unwrap();
        });
        let output = output(&mut client);
        let answers = output.matches("hello of the server").count();
        assert_eq!(answers, 2, "{case:?}: {output}");
    }
}
