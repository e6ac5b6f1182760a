//! Tests of the choice of an ECHConfig from a list, and of its suite (RFC 9849 §4, §6.1).

use harness::peers::configs::PROVIDERS;
use harness::scripted::ech::{Config, EchKey, SUITES, config_list};
use harness::wire::client_hello::host_name;
use rustls::{EncryptedClientHelloError, Error};

use crate::ech::clients::{Mode, OURS, stacks};
use crate::ech::kit::{PUBLIC, Peers, SUITE};

/// A change that makes clients skip an ECHConfig.
type Change = fn(&mut Config);

/// Well-formed ECHConfigs that this client skips.
const SKIPPED: [(&str, Change); 7] = [
    ("an older version", |config| config.version = 0xfe0c),
    ("another version with unknown contents", |config| {
        config.version = 0xfe0e;
        config.trailing = vec![1, 2, 3];
        config.public_key.clear();
    }),
    ("an unknown KEM", |config| config.kem = 0x0021),
    ("an unknown KDF", |config| config.suites = vec![(4, 1)]),
    ("an unknown AEAD", |config| config.suites = vec![(1, 4)]),
    ("the export-only AEAD", |config| {
        config.suites = vec![(1, 0xffff)]
    }),
    ("a mandatory extension", |config| {
        config.extensions = vec![(0x1a1a, vec![]), (0x9a9a, vec![1])];
    }),
];

#[test]
fn the_first_compatible_config_is_used() {
    for provider in PROVIDERS {
        let peers = Peers::with_key(provider, EchKey::new(9, PUBLIC, SUITE));
        // the server lacks this key, so choosing this config would fail
        let other = EchKey::new(1, "other.example", SUITE);
        let mut lists = Vec::new();
        let mut all = Vec::new();
        for (name, change) in SKIPPED {
            let config = other.clone().with(change).config;
            let list = config_list(&[&config, &peers.key.config, &other.config]);
            lists.push((name, list));
            all.push(config);
        }
        all.extend([peers.key.config.clone(), other.config]);
        let all = config_list(&all.iter().collect::<Vec<_>>());
        lists.push(("all configs", all));
        for (name, list) in lists {
            println!("{name}");
            peers.accepted(&peers.setup_with(Mode::Real(list)), &peers.accepting());
        }
    }
}

#[test]
fn no_compatible_config_is_an_error() {
    let peers = Peers::new(PROVIDERS[0]);
    let mut lists = vec![("none", vec![0, 0])];
    for (name, change) in SKIPPED {
        let config = peers.key.clone().with(change).config;
        lists.push((name, config_list(&[&config, &config])));
    }
    for (name, list) in lists {
        let expected = Error::from(EncryptedClientHelloError::NoCompatibleConfig);
        for stack in stacks() {
            let error = peers.config_of(stack, list.clone()).err();
            assert_eq!(error, Some(format!("{expected:?}")), "{name} {stack:?}");
        }
    }
}

/// Unknown optional extensions are ignored. The config is still used.
#[test]
fn unknown_optional_extensions_are_ignored() {
    let key = EchKey::new(7, PUBLIC, SUITE).with(|config| {
        config.extensions = vec![(0x0000, vec![]), (0x1a1a, vec![7; 300]), (0x7fff, vec![1])];
    });
    let peers = Peers::with_key(PROVIDERS[0], key);
    peers.accepted(&peers.setup(), &peers.accepting());
}

/// HPKE is bound to the exact bytes of the config, including the case of its name.
#[test]
fn the_case_of_the_public_name_is_preserved() {
    let peers = Peers::with_key(PROVIDERS[0], EchKey::new(7, "PUBLIC.Example", SUITE));
    let name = host_name(b"PUBLIC.Example");
    for run in peers.accepted(&peers.setup(), &peers.accepting()) {
        let outer = &run.conversation.opened[0].outer;
        assert_eq!(outer.extension(0), Some(&name[..]));
    }
    for stack in stacks() {
        let run = peers.run(stack, &peers.setup(), &peers.rejecting());
        run.assert_status("Rejected");
        let error = run.conversation.outcome.error.unwrap();
        assert!(
            error.contains("ServerRejectedEncryptedClientHello"),
            "{error}"
        );
    }
}

/// The client chooses a suite that the config lists, which need not be the first one with the
/// config's KEM.
#[test]
fn a_suite_listed_in_the_config_is_used() {
    for suite in SUITES {
        let (kem, kdf, aead) = suite;
        let key = EchKey::new(7, PUBLIC, suite).with(|config| {
            config.suites = vec![(kdf, 0x7777), (0x7777, aead), (kdf, aead), (kdf, 0xffff)];
        });
        let peers = Peers::with_key(PROVIDERS[0], key);
        for run in peers.accepted(&peers.setup(), &peers.accepting()) {
            let extension = &run.conversation.opened[0].extension;
            assert_eq!(extension.suite, (kdf, aead), "{kem:x}");
        }
    }
}

#[test]
fn malformed_lists_are_refused() {
    let peers = Peers::new(PROVIDERS[0]);
    let list = peers.key.config.list();
    let changed = |change: Change| peers.key.clone().with(change).config.list();
    let invalid = Error::from(EncryptedClientHelloError::InvalidConfigList);
    let invalid = Some(format!("{invalid:?}"));
    let no_key = changed(|config| config.public_key.clear());
    let no_suites = changed(|config| config.suites.clear());
    let trailing = changed(|config| config.trailing.push(0));
    for (name, list, is_refused_upstream) in [
        ("nothing", vec![], true),
        ("half a length", vec![0], true),
        ("half a version", vec![0, 1, 0], true),
        ("a cut", list[..list.len() - 1].to_vec(), true),
        ("no key", no_key, true),
        ("no suites", no_suites, true),
        // RFC 9849 §4: nothing may follow the fields; upstream accepts further bytes
        ("bytes behind the list", [&list[..], &[0]].concat(), false),
        ("bytes behind the fields", trailing, false),
    ] {
        for stack in stacks() {
            let error = peers.config_of(stack, list.clone()).err();
            let is_refused = stack.is_ours() || is_refused_upstream;
            let expected = invalid.clone().filter(|_| is_refused);
            assert_eq!(error, expected, "{name} {stack:?}");
        }
    }
}

/// RFC 9849 §6.1.7: a config is ignored if its public name is not a host name or could be parsed as
/// an address. Upstream rejects the whole list or accepts the name.
#[test]
fn a_config_with_a_bad_public_name_is_skipped() {
    let peers = Peers::new(PROVIDERS[0]);
    let names = [
        "",
        "192.0.2.1",
        "0x7f000001",
        "a.0x1F",
        "a.0X",
        "a.1",
        ".a",
        "a.",
        "a..b",
        "a b",
        "\u{e9}.example",
        &"a".repeat(64),
    ];
    for name in names {
        let bad = EchKey::new(1, name, SUITE).config;
        for &stack in OURS {
            let error = peers.config_of(stack, bad.list()).err();
            let expected = Error::from(EncryptedClientHelloError::NoCompatibleConfig);
            assert_eq!(error, Some(format!("{expected:?}")), "{name}");
            let list = config_list(&[&bad, &peers.key.config]);
            let config = peers.config_of(stack, list).unwrap();
            let run = peers.run_with(&config, &peers.accepting());
            run.assert_accepted();
        }
    }
}

/// RFC 9849 §4.2: a type of extension may only occur once. A config that repeats one is not used.
#[test]
fn repeated_extensions_are_refused() {
    let peers = Peers::new(PROVIDERS[0]);
    let twice = peers.key.clone().with(|config| {
        config.extensions = vec![(1, vec![]), (2, vec![]), (1, vec![])];
    });
    for stack in stacks() {
        let made = peers.config_of(stack, twice.config.list());
        assert!(made.is_err(), "{stack:?}");
    }
}

/// An invalid public key causes an error when the connection is created, or earlier.
#[test]
fn invalid_keys_are_refused() {
    for suite in SUITES {
        let peers = Peers::with_key(PROVIDERS[0], EchKey::new(7, PUBLIC, suite));
        let valid = peers.key.config.public_key.clone();
        let mut off_curve = valid.clone();
        *off_curve.last_mut().unwrap() ^= 1;
        let (cut, longer) = (valid[1..].to_vec(), [&valid[..], &[0]].concat());
        let mut wrong = vec![vec![1], cut, longer, vec![0; valid.len()]];
        if valid.len() != 32 {
            wrong.push(off_curve);
        }
        for key in wrong {
            let bad = peers.key.clone().with(|config| config.public_key = key);
            for stack in stacks() {
                let made = peers.config_of(stack, bad.config.list());
                let connected = made.and_then(|config| config.connect());
                assert!(connected.is_err(), "{stack:?}");
            }
        }
    }
}

/// A suite's FIPS status concerns the suite alone. A configuration's status includes the
/// provider's.
#[test]
fn fips_status_requires_the_suite_and_the_provider() {
    use rustls::client::{EchGreaseConfig, EchMode};
    use rustls::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES;
    use rustls_upstream::client as upstream;
    use rustls_upstream::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES as THEIR_SUITES;

    assert_eq!(ALL_SUPPORTED_SUITES.len(), THEIR_SUITES.len());
    let mut approved = 0;
    for &suite in ALL_SUPPORTED_SUITES {
        let (key, _) = suite.generate_key_pair().unwrap();
        let mode = EchMode::from(EchGreaseConfig::new(suite, key));
        let id = format!("{:?}", suite.suite());
        let mut theirs = THEIR_SUITES.iter();
        let theirs = theirs.find(|suite| format!("{:?}", suite.suite()) == id);
        let (key, _) = theirs.unwrap().generate_key_pair().unwrap();
        let theirs = upstream::EchGreaseConfig::new(*theirs.unwrap(), key);
        assert_eq!(mode.fips(), upstream::EchMode::from(theirs).fips(), "{id}");
        approved += usize::from(mode.fips());
        for provider in PROVIDERS {
            let provider = provider.this();
            let is_fips = provider.fips() && mode.fips();
            let config = rustls::ClientConfig::builder_with_provider(provider.into())
                .with_ech(mode.clone())
                .unwrap()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            assert_eq!(config.fips(), is_fips, "{id}");
        }
    }
    assert!((1..ALL_SUPPORTED_SUITES.len()).contains(&approved));
}
