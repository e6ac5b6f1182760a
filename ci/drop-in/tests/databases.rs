//! Database clients: tokio-postgres-rustls and sqlx with a PostgreSQL server, redis with a Redis
//! server. The servers use OpenSSL.

use std::fs;
use std::path::{Path, PathBuf};

use drop_in::{Credentials, Program, find_program, moved, page, run, skipped};

const PASSWORD: &str = "the password";

/// Starts a PostgreSQL server that only accepts TLS connections: from `postgres` with a password,
/// from `certified` with a certificate. Returns `None` if there is no such program.
fn postgres(name: &str, credentials: &Credentials) -> Option<(Program, u16)> {
    let folders = || {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        versions.flatten().map(|version| version.path().join("bin"))
    };
    let initdb = find_program("initdb", folders())?;
    let server = find_program("postgres", folders())?;

    let mut program = Program::new(name, "postgres");
    let password = program.write("password", PASSWORD);
    let certificate = program.write("server.pem", &credentials.certificate_pem);
    let key = program.write("server.key", &credentials.key_pem);
    let authority = program.write("authority.pem", &credentials.authority_pem);
    let access = program.write(
        "access",
        "hostssl all certified 127.0.0.1/32 cert\nhostssl all postgres 127.0.0.1/32 scram-sha-256\n",
    );
    let made = program
        .command(&initdb)
        .args(["--pgdata", "data", "--username", "postgres", "--no-sync"])
        .args([
            "--encoding",
            "UTF8",
            "--locale",
            "C",
            "--auth",
            "scram-sha-256",
        ])
        .arg("--pwfile")
        .arg(password)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");

    let set = |name: &str, value: &Path| format!("--{name}={}", value.display());
    let settings = [
        "--ssl=on".to_owned(),
        set("ssl_cert_file", &certificate),
        set("ssl_key_file", &key),
        set("ssl_ca_file", &authority),
        set("hba_file", &access),
    ];
    let port = program.start("ready to accept connections", |program, port| {
        let mut command = program.command(&server);
        command.args(["-D", "data", "-F", "-h", "127.0.0.1", "-k", ""]);
        command.args(["-p", &port.to_string()]).args(&settings);
        command
    });
    Some((program, port))
}

/// Returns the page as text, because the databases are asked for text.
fn text() -> String {
    page().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn tokio_postgres_rustls_queries() {
    use tokio_postgres::Config;
    use tokio_postgres::config::{ChannelBinding, SslMode};
    use tokio_postgres_rustls::MakeRustlsConnect;

    let credentials = Credentials::new();
    let Some((_server, port)) = postgres("tokio-postgres", &credentials) else {
        return skipped("tokio-postgres-rustls", "PostgreSQL server");
    };
    run(async {
        let connector = MakeRustlsConnect::new(credentials.client_config());
        let mut config = Config::new();
        config
            .host("localhost")
            .hostaddr([127, 0, 0, 1].into())
            .port(port)
            .user("postgres")
            .password(PASSWORD)
            .ssl_mode(SslMode::Require)
            // the password is only valid for this connection, through the hash of the server's
            // certificate
            .channel_binding(ChannelBinding::Require);
        let (client, connection) = config.connect(connector).await.unwrap();
        let connection = tokio::spawn(connection);

        let row = client
            .query_one(
                "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
                &[],
            )
            .await
            .unwrap();
        assert_eq!(row.get::<_, String>(0), "TLSv1.3");
        let text = text();
        let row = client.query_one("SELECT $1::text", &[&text]).await;
        assert!(row.unwrap().get::<_, String>(0) == text, "wrong text");
        client
            .batch_execute("CREATE ROLE certified LOGIN")
            .await
            .unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        moved(
            "tokio-postgres-rustls",
            "client",
            "PostgreSQL",
            2 * text.len(),
        );
    });
}

#[test]
fn sqlx_queries() {
    use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
    use sqlx::{ConnectOptions, Connection};

    let credentials = Credentials::new();
    let Some((_server, port)) = postgres("sqlx", &credentials) else {
        return skipped("sqlx", "PostgreSQL server");
    };
    run(async {
        let options = PgConnectOptions::new()
            .host("localhost")
            .port(port)
            .username("postgres")
            .database("postgres")
            .ssl_mode(PgSslMode::VerifyFull)
            .ssl_root_cert_from_pem(credentials.authority_pem.clone().into());
        let mut connection = options.clone().password(PASSWORD).connect().await.unwrap();
        let made = sqlx::query("CREATE ROLE certified LOGIN");
        made.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();

        // connect again, without a password
        let (certificate, key) = credentials.client_pem("certified");
        let options = options
            .username("certified")
            .ssl_client_cert_from_pem(certificate)
            .ssl_client_key_from_pem(key);
        let mut connection: PgConnection = options.connect().await.unwrap();
        let text = text();
        let echoed: String = sqlx::query_scalar("SELECT $1")
            .bind(&text)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert!(echoed == text, "wrong text");
        connection.close().await.unwrap();
        moved("sqlx", "client", "PostgreSQL", 2 * text.len());

        // an authority with the same name and another key
        let untrusting = options.ssl_root_cert_from_pem(Credentials::new().authority_pem.into());
        let error = untrusting.connect().await.unwrap_err();
        assert!(format!("{error:?}").contains("BadSignature"), "{error:?}");
    });
}

#[test]
fn redis_sets_and_gets() {
    use redis::{AsyncCommands, Client, ClientTlsConfig, Commands, TlsCertificates};

    let Some(server) = find_program("redis-server", [PathBuf::from("/usr/bin")]) else {
        return skipped("redis", "Redis server");
    };
    let credentials = Credentials::new();
    let mut program = Program::new("redis", "redis");
    let files = [
        ("--tls-cert-file", &credentials.certificate_pem),
        ("--tls-key-file", &credentials.key_pem),
        ("--tls-ca-cert-file", &credentials.authority_pem),
    ]
    .map(|(name, content)| (name, program.write(&name[2..], content)));
    let port = program.start("Ready to accept connections", |program, port| {
        let mut command = program.command(&server);
        command.args(["--port", "0", "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--tls-auth-clients", "yes", "--tls-port", &port.to_string()]);
        for (name, path) in &files {
            command.arg(name).arg(path);
        }
        command
    });

    let (client_cert, client_key) = credentials.client_pem("a client");
    let certificates = TlsCertificates {
        client_tls: Some(ClientTlsConfig {
            client_cert: client_cert.into(),
            client_key: client_key.into(),
        }),
        root_cert: Some(credentials.authority_pem.clone().into()),
    };
    let url = format!("rediss://localhost:{port}/");
    let client = Client::build_with_tls(url, certificates).unwrap();

    // a blocking connection, on rustls' own stream
    let mut connection = client.get_connection().unwrap();
    let () = connection.set("page", page()).unwrap();
    let got: Vec<u8> = connection.get("page").unwrap();
    assert!(got == page(), "wrong page");
    moved("redis", "client, blocking", "Redis", 2 * page().len());

    // a connection over tokio-rustls with many concurrent requests
    run(async {
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let asked: tokio::task::JoinSet<_> = (0..4)
            .map(|_| {
                let mut connection = connection.clone();
                async move { connection.get::<_, Vec<u8>>("page").await.unwrap() }
            })
            .collect();
        for got in asked.join_all().await {
            assert!(got == page(), "wrong page");
        }
        moved("redis", "client, tokio", "Redis", 4 * page().len());
    });
}
