//! A table of all kinds of handshakes, with the events of both sides in order, and the facts of the
//! handshake. Each runs over each API and provider.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::handshake;
use harness::peers::events::Events;
use harness::verifiers::raw_keys::this::{present_client, present_server, trust_server, verifier};
use rustls::client::Resumption;
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{ClientConfig, NamedGroup, ServerConfig};

use super::pairs::{Api, KEY_TYPE, Pair, RECORDS, finished, lines, summary};

struct Kind {
    name: &'static str,
    versions: Versions,
    auth: ClientAuth,
    edit: fn(&mut ClientConfig, &mut ServerConfig, Provider),
    /// True if an earlier connection with the same configurations came before.
    is_second: bool,
    early_data: Option<&'static [u8]>,
    /// The events and facts of the client, then those of the server.
    client: [&'static str; 2],
    server: [&'static str; 2],
}

const FULL13: [&str; 2] = [
    "begun; finished Full; ticket received; session stored; ticket received; session stored; closed",
    "begun; finished Full; ticket made; ticket made; session stored; session stored; closed",
];

const FULL12: &str = "begun; finished Full; session stored; closed";

const fn kind(
    name: &'static str,
    versions: Versions,
    edit: fn(&mut ClientConfig, &mut ServerConfig, Provider),
    client: [&'static str; 2],
    server: [&'static str; 2],
) -> Kind {
    Kind {
        name,
        versions,
        auth: ClientAuth::None,
        edit,
        is_second: false,
        early_data: None,
        client,
        server,
    }
}

const fn second(kind: Kind) -> Kind {
    Kind {
        is_second: true,
        ..kind
    }
}

const fn authenticating(auth: ClientAuth, kind: Kind) -> Kind {
    Kind { auth, ..kind }
}

fn unchanged(_: &mut ClientConfig, _: &mut ServerConfig, _: Provider) {}

fn without_sessions(client: &mut ClientConfig, server: &mut ServerConfig, _: Provider) {
    client.resumption = Resumption::disabled();
    server.session_storage = Arc::new(NoServerSessionStorage {});
}

fn without_store(client: &mut ClientConfig, _: &mut ServerConfig, _: Provider) {
    client.resumption = Resumption::disabled();
}

fn with_tickets(_: &mut ClientConfig, server: &mut ServerConfig, provider: Provider) {
    server.ticketer = provider.this_ticketer();
}

fn with_early_data(client: &mut ClientConfig, server: &mut ServerConfig, _: Provider) {
    client.enable_early_data = true;
    server.max_early_data_size = u32::MAX;
}

const KINDS: &[Kind] = &[
    kind(
        "full",
        Versions::Tls13,
        unchanged,
        [FULL13[0], "chain verified"],
        [FULL13[1], ""],
    ),
    kind(
        "full",
        Versions::Tls12,
        unchanged,
        [FULL12, "chain verified"],
        [FULL12, ""],
    ),
    kind(
        "full, no sessions",
        Versions::Tls13,
        without_sessions,
        ["begun; finished Full; closed", "chain verified"],
        ["begun; finished Full; closed", ""],
    ),
    kind(
        "full, no sessions",
        Versions::Tls12,
        without_sessions,
        ["begun; finished Full; closed", "chain verified"],
        ["begun; finished Full; closed", ""],
    ),
    kind(
        "full, tickets are not stored",
        Versions::Tls13,
        without_store,
        [
            "begun; finished Full; ticket received; session not stored; ticket received; \
             session not stored; closed",
            "chain verified",
        ],
        [FULL13[1], ""],
    ),
    kind(
        "full, a session is not stored",
        Versions::Tls12,
        without_store,
        [
            "begun; finished Full; session not stored; closed",
            "chain verified",
        ],
        [FULL12, ""],
    ),
    kind(
        "full, tickets",
        Versions::Tls13,
        with_tickets,
        [FULL13[0], "chain verified"],
        ["begun; finished Full; ticket made; ticket made; closed", ""],
    ),
    kind(
        "full, tickets",
        Versions::Tls12,
        with_tickets,
        [
            "begun; finished Full; ticket received; session stored; closed",
            "chain verified",
        ],
        ["begun; finished Full; ticket made; closed", ""],
    ),
    second(kind(
        "resumed from the storage",
        Versions::Tls13,
        unchanged,
        [
            "begun; finished Resumed; ticket received; session stored; ticket received; \
             session stored; closed",
            "from ticket",
        ],
        [
            "begun; finished Resumed; ticket made; ticket made; session stored; session stored; \
             closed",
            "from storage",
        ],
    )),
    second(kind(
        "resumed from the storage",
        Versions::Tls12,
        unchanged,
        ["begun; finished Resumed; closed", "from storage"],
        ["begun; finished Resumed; closed", "from storage"],
    )),
    second(kind(
        "resumed by a ticket",
        Versions::Tls13,
        with_tickets,
        [
            "begun; finished Resumed; ticket received; session stored; ticket received; \
             session stored; closed",
            "from ticket",
        ],
        [
            "begun; finished Resumed; ticket made; ticket made; closed",
            "from ticket",
        ],
    )),
    second(kind(
        "resumed by a ticket",
        Versions::Tls12,
        with_tickets,
        [
            "begun; finished Resumed; ticket received; session stored; closed",
            "from ticket",
        ],
        [
            "begun; ticket made; finished Resumed; closed",
            "from ticket",
        ],
    )),
    authenticating(
        ClientAuth::Required,
        kind(
            "client certificate",
            Versions::Tls13,
            unchanged,
            [FULL13[0], "client sent, chain verified"],
            [FULL13[1], "client sent, chain verified"],
        ),
    ),
    authenticating(
        ClientAuth::Required,
        kind(
            "client certificate",
            Versions::Tls12,
            unchanged,
            [FULL12, "client sent, chain verified"],
            [FULL12, "client sent, chain verified"],
        ),
    ),
    authenticating(
        ClientAuth::OptionalAbsent,
        kind(
            "no client certificate",
            Versions::Tls13,
            unchanged,
            [FULL13[0], "client missing, chain verified"],
            [FULL13[1], "client missing"],
        ),
    ),
    authenticating(
        ClientAuth::OptionalAbsent,
        kind(
            "no client certificate",
            Versions::Tls12,
            unchanged,
            [FULL12, "client missing, chain verified"],
            [FULL12, "client missing"],
        ),
    ),
    second(authenticating(
        ClientAuth::Required,
        kind(
            "client of a session",
            Versions::Tls13,
            unchanged,
            [
                "begun; finished Resumed; ticket received; session stored; ticket received; \
                 session stored; closed",
                "from ticket",
            ],
            [
                "begun; finished Resumed; ticket made; ticket made; session stored; \
                 session stored; closed",
                "from storage",
            ],
        ),
    )),
    second(authenticating(
        ClientAuth::Required,
        kind(
            "known chains",
            Versions::Tls13,
            without_sessions,
            ["begun; finished Full; closed", "client sent, chain known"],
            ["begun; finished Full; closed", "client sent, chain known"],
        ),
    )),
    second(authenticating(
        ClientAuth::Required,
        kind(
            "known chains",
            Versions::Tls12,
            without_sessions,
            ["begun; finished Full; closed", "client sent, chain known"],
            ["begun; finished Full; closed", "client sent, chain known"],
        ),
    )),
    second(Kind {
        early_data: Some(b"early"),
        ..kind(
            "early data",
            Versions::Tls13,
            with_early_data,
            [
                "begun; finished Resumed; ticket received; session stored; ticket received; \
                 session stored; closed",
                "from ticket, early data accepted",
            ],
            [
                "begun; finished Resumed; ticket made; ticket made; session stored; \
                 session stored; closed",
                "from storage, early data accepted",
            ],
        )
    }),
    kind(
        "another group",
        Versions::Tls13,
        with_another_group,
        [
            "begun; finished FullWithHelloRetryRequest; ticket received; session stored; \
             ticket received; session stored; closed",
            "chain verified",
        ],
        [
            "begun; finished FullWithHelloRetryRequest; ticket made; ticket made; \
             session stored; session stored; closed",
            "",
        ],
    ),
    authenticating(
        ClientAuth::Required,
        kind(
            "raw public keys",
            Versions::Tls13,
            with_raw_keys,
            [FULL13[0], "client sent, chain verified"],
            [FULL13[1], "client sent, chain verified"],
        ),
    ),
];

fn with_another_group(_: &mut ClientConfig, server: &mut ServerConfig, provider: Provider) {
    let mut crypto = provider.this();
    let groups = &mut crypto.kx_groups;
    groups.retain(|group| group.name() == NamedGroup::secp384r1);
    let other = ServerConfig::builder_with_provider(crypto.into())
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(server.cert_resolver.clone());
    let alpn_protocols = std::mem::replace(server, other).alpn_protocols;
    server.alpn_protocols = alpn_protocols;
}

fn with_raw_keys(client: &mut ClientConfig, server: &mut ServerConfig, provider: Provider) {
    let identities = KEY_TYPE.identities();
    trust_server(client, &identities.server, provider);
    present_client(client, &identities.client, provider);
    let other = ServerConfig::builder_with_provider(provider.this().into())
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_client_cert_verifier(Arc::new(verifier(&identities.client, provider)))
        .with_cert_resolver(server.cert_resolver.clone());
    let alpn_protocols = std::mem::replace(server, other).alpn_protocols;
    server.alpn_protocols = alpn_protocols;
    present_server(server, &identities.server, provider);
}

impl Kind {
    fn pair(&self, provider: Provider) -> Pair {
        Pair::with(provider, self.versions, self.auth, |client, server| {
            (self.edit)(client, server, provider);
        })
    }

    fn run(&self, provider: Provider, apis: [Api; 2]) {
        let what = format!("{}, {:?}, {provider:?}, {apis:?}", self.name, self.versions);
        println!("{what}");
        let pair = self.pair(provider);
        if self.is_second {
            pair.connect(apis, None);
        }
        let events = pair.connect(apis, self.early_data);
        let expected = [self.client, self.server].into_iter().zip(apis);
        for (events, ([expected, facts], api)) in events.iter().zip(expected) {
            let end = api.usual_end().label();
            assert_eq!(lines(events), format!("{expected} {end}"), "{what}");
            assert_eq!(summary(finished(events)), facts, "{what}");
            let of = &events[0].of;
            assert_eq!(of.server_name.as_deref(), Some("server.example"));
        }
    }
}

#[test]
fn each_kind_of_handshake_has_its_events_and_facts() {
    for (kind, provider) in product(KINDS.iter(), PROVIDERS) {
        for api in RECORDS.into_iter().chain([Api::Kernel]) {
            kind.run(provider, [api; 2]);
        }
        kind.run(provider, [Api::Buffered, Api::Unbuffered]);
        kind.run(provider, [Api::Unbuffered, Api::Buffered]);
    }
}

#[test]
fn handshakes_over_quic_have_the_same_events() {
    for (kind, provider) in product(KINDS.iter(), PROVIDERS) {
        if kind.versions == Versions::Tls13 {
            kind.run(provider, [Api::Quic; 2]);
        }
    }
}

/// Records that belong to no connection would break a rule of [`Events`].
#[test]
fn one_observer_can_serve_both_sides() {
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
    let both = Events::new();
    let pair = pair.edit(
        |client| client.observer = Some(both.clone()),
        |server| server.observer = Some(both.clone()),
    );
    let [mut client, mut server] = pair.ends([Api::Buffered; 2]);
    handshake(&mut client, &mut server);
    drop((client, server));
    let connections = both.take();
    assert_eq!(connections.len(), 2);
    assert_ne!(connections[0][0].of.id, connections[1][0].of.id);
}
