//! Tests with `gnutls-serv` and `gnutls-cli`.

use harness::peers::configs::{ClientAuth, KEY_TYPES, SERVER_NAME, Versions};
use harness::peers::programs::{Files, Program, listen};

use crate::other_stacks::{Case, answer_twice, files, output, request_twice};

fn priority(case: &Case) -> String {
    let version = match case.version {
        Versions::Tls12 => "1.2",
        _ => "1.3",
    };
    format!("--priority=NORMAL:-VERS-ALL:+VERS-TLS{version}")
}

/// Returns the options for this end's certificate and key, and for the other end's authority.
fn identity(files: &Files, name: &str) -> Vec<String> {
    vec![
        format!("--x509certfile={}", files.path(&format!("{name}.pem"))),
        format!("--x509keyfile={}", files.path(&format!("{name}.key"))),
        format!("--x509cafile={}", files.path("ca.pem")),
    ]
}

#[test]
fn our_client_connects_to_their_server() {
    for case in Case::all(&KEY_TYPES) {
        let files = files("gnutls-serv", &case);
        let started = Program::serve("gnutls-serv", |port| {
            let mut args = identity(&files, "server");
            args.extend([priority(&case), format!("--port={port}")]);
            let auth: &[&str] = match case.auth {
                ClientAuth::None => &["--disable-client-cert"],
                _ => &["--require-client-cert", "--verify-client-cert"],
            };
            let options = ["--echo", "--quiet"].iter().chain(auth);
            args.extend(options.map(ToString::to_string));
            args
        });
        let Some((_server, port, socket)) = started else {
            return;
        };
        let answer = request_twice(&case, b"a line\n", 7, port, socket);
        assert_eq!(answer, b"a line\n");
    }
}

#[test]
fn their_client_connects_to_our_server() {
    for case in Case::all(&KEY_TYPES) {
        let files = files("gnutls-cli", &case);
        let (listener, port) = listen();
        let mut args = vec![
            "127.0.0.1".to_owned(),
            format!("--port={port}"),
            format!("--x509cafile={}", files.path("ca.pem")),
            format!("--sni-hostname={SERVER_NAME}"),
            format!("--verify-hostname={SERVER_NAME}"),
            "--resume".into(),
            "--waitresumption".into(),
            priority(&case),
        ];
        if case.auth == ClientAuth::Required {
            args.extend(identity(&files, "client"));
        }
        let Some(mut client) = Program::start("gnutls-cli", &args) else {
            return;
        };
        answer_twice(&case, &listener, |tls, is_resumed| {
            if is_resumed {
                tls.write_all(b"hello of the server\n").unwrap();
            } else {
                // the client closes and reconnects
                let _ = tls.read(&mut [0; 100]);
            }
        });
        let output = output(&mut client);
        assert!(output.contains("hello of the server"), "{case:?}: {output}");
    }
}
