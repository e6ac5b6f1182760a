//! All accessors have the same values as upstream's after a ClientHello is rejected.

use harness::comparison::{Judge, Section};
use harness::peers::configs::{ClientAuth, PROVIDERS, Versions, product3};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::peers::servers::Settings;
use harness::wire::client_hello::*;
use harness::wire::old_clients::old_clients;
use harness::wire::*;
use harness::{table, wire};

const VERSIONS: [Versions; 3] = [Versions::Tls12, Versions::Tls13, Versions::Both];

/// Returns the descriptions of ClientHellos with one mistake, and the hellos.
fn refused_hellos() -> Vec<(&'static str, ClientHello)> {
    let mut hellos = Vec::new();
    for hello in [ClientHello::new(), ClientHello::tls12()] {
        let with = |typ, body| hello.clone().with(typ, body);
        let without = |typ| hello.clone().without(typ);
        let edited = |edit: fn(&mut ClientHello)| hello.clone().edit(edit);
        let modes = with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
        let two = key_shares(&[(X25519, &x25519_share()), (X25519, &x25519_share())]);
        hellos.extend(table! {
            "no common protocol": with(ALPN, protocols(&[b"x"]));
            "no common suite": edited(|hello| hello.cipher_suites = vec![0x1309, 0xc0ff]);
            "no common group": with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X448])));
            "no common scheme": with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0809])));
            "share of zeros": with(KEY_SHARE, key_shares(&[(X25519, &[0; 32])]));
            "two shares": with(KEY_SHARE, two);
            "no schemes": without(SIGNATURE_ALGORITHMS);
            "no groups": without(SUPPORTED_GROUPS);
            "no share": without(KEY_SHARE);
            "no versions": without(SUPPORTED_VERSIONS);
            "version 1.1": with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0302])));
            "version 1.2": with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0303])));
            "old version": edited(|hello| hello.legacy_version = 0x0302);
            "deflate": edited(|hello| hello.compression = vec![1]);
            "null and deflate": edited(|hello| hello.compression = vec![0, 1]);
            "wrong name": with(SERVER_NAME, host_name(b"a b"));
            "too few binders": modes.and(PRE_SHARED_KEY, offered_psks(2, 1));
            "no modes": hello.clone().and(PRE_SHARED_KEY, offered_psks(1, 1));
            "server's type": with(SERVER_CERTIFICATE_TYPE, u8_vec(&[2]));
            "client's type": with(CLIENT_CERTIFICATE_TYPE, u8_vec(&[2]));
            "compressed points": with(EC_POINT_FORMATS, u8_vec(&[1]));
            "trailing data": edited(|hello| hello.trailing = vec![0]);
        });
    }
    hellos.extend(old_clients());
    hellos
}

#[test]
fn accessors_after_a_rejection_match_upstream() {
    let auth = [ClientAuth::None, ClientAuth::Required];
    let hellos = refused_hellos();
    let mut refused = 0;
    let judge = Judge::new(Section::Any);
    for (provider, versions, auth) in product3(PROVIDERS, VERSIONS, auth) {
        let settings = Settings {
            versions,
            auth,
            ..Settings::tls12(provider)
        };
        for (what, hello) in &hellos {
            let mut ours = ThisBuffered::server(settings.ours());
            let mut theirs = UpstreamBuffered::server(settings.theirs());
            macro_rules! outcome {
                ($server:expr) => {{
                    let error = $server.receive(&hello.record()).err();
                    let alert = wire::records(&$server.take_output()).pop();
                    let alert = alert.filter(|it| it.typ == ALERT).map(|it| it.payload[1]);
                    let alert = alert.map_or("none".to_owned(), |alert| alert.to_string());
                    (
                        error.unwrap_or("none".to_owned()),
                        alert,
                        $server.accessors(),
                    )
                }};
            }
            let (error, alert, accessors) = outcome!(ours);
            let (their_error, their_alert, their_accessors) = outcome!(theirs);
            refused += usize::from(error != "none");
            let case = format!("ClientHello: {what} to {versions:?}");
            let ours = format!("{error} / {alert}");
            let theirs = format!("{their_error} / {their_alert}");
            // upstream may have sent its ServerHello, and then encrypts the alert
            let is_known = error == their_error && [&alert, "none"].contains(&&*their_alert)
                // docs/differences.md: a server without client authentication ignores the client's
                // types, and the alert differs
                || their_error.contains("IncorrectCertificateType")
                || judge.explains(&ours, &theirs, &case);
            let agree = error != their_error || accessors == their_accessors;
            if !is_known || !agree {
                let difference = format!("{ours}: {accessors}, but {theirs}: {their_accessors}");
                judge.differ(difference, &case);
            }
        }
    }
    judge.conclude(&[]);
    assert!(refused > 300, "{refused}");
}
