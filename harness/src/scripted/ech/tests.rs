//! Checks that the server rejects a client that breaks a rule. Otherwise, acceptance by this server
//! would prove nothing.

use rustls_upstream::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_128 as HPKE;
use rustls_upstream::crypto::hpke::{Hpke, HpkePublicKey, HpkeSealer};

use super::*;
use crate::wire::client_hello::{
    ALPN, COOKIE, EARLY_DATA, KEY_SHARE, PSK_KEY_EXCHANGE_MODES, SERVER_NAME, SESSION_TICKET,
    SUPPORTED_VERSIONS, host_name, offered_psks, protocols,
};
use crate::wire::{u8_vec, u16s};

const PUBLIC: &[u8] = b"public.example";
const SECRET: &[u8] = b"secret.example";

/// A client that encrypts any hello that it is given.
struct Client {
    key: EchKey,
    enc: Vec<u8>,
    sealer: Box<dyn HpkeSealer>,
}

/// The plaintext of the encrypted hello, and the hello in the clear.
#[derive(Clone)]
struct Hellos {
    inner: ClientHello,
    outer: ClientHello,
    extension: EchExtension,
    padding: Vec<u8>,
    /// Changes the ClientHelloOuter after it has been authenticated.
    tamper: fn(&mut ClientHello),
}

impl Client {
    fn new() -> Self {
        let key = EchKey::new(7, "public.example", (0x20, 1, 1))
            .with(|config| config.maximum_name_length = 20);
        let info = [&b"tls ech\0"[..], &key.config.encoded()].concat();
        let public_key = HpkePublicKey(key.config.public_key.clone());
        let (enc, sealer) = HPKE.setup_sealer(&info, &public_key).unwrap();
        Self {
            key,
            enc: enc.0,
            sealer,
        }
    }

    /// Returns hellos that follow all rules.
    fn hellos(&self) -> Hellos {
        let hello = ClientHello::new();
        let outer = hello.clone().with(SERVER_NAME, host_name(PUBLIC));
        let inner = hello.with(SERVER_NAME, host_name(SECRET));
        let inner = inner.with(ENCRYPTED_CLIENT_HELLO, vec![1]).edit(|hello| {
            hello.session_id.clear();
            hello.random = [2; 32];
        });
        Hellos {
            inner,
            outer,
            extension: EchExtension {
                suite: (1, 1),
                config_id: 7,
                enc: self.enc.clone(),
                payload: vec![],
            },
            padding: vec![0; 20 - SECRET.len()],
            tamper: |_| {},
        }
    }

    fn seal(&mut self, hellos: &Hellos) -> Vec<u8> {
        let mut encoded = hellos.inner.message().split_off(4);
        encoded.extend(&hellos.padding);
        encoded.resize(encoded.len().next_multiple_of(32), 0);
        let mut extension = hellos.extension.clone();
        extension.payload = vec![0; encoded.len() + 16];
        let body = extension.encoded();
        let place = |outer: &ClientHello, body| {
            // before pre_shared_key
            let mut outer = outer.clone();
            let at = outer.extensions.len();
            let psk = outer.extension(PRE_SHARED_KEY).is_some();
            outer
                .extensions
                .insert(at - usize::from(psk), (ENCRYPTED_CLIENT_HELLO, body));
            outer
        };
        let aad = place(&hellos.outer, body).message().split_off(4);
        extension.payload = self.sealer.seal(&aad, &encoded).unwrap();
        let mut outer = place(&hellos.outer, extension.encoded());
        (hellos.tamper)(&mut outer);
        outer.message()
    }
}

/// A change that a test makes to valid hellos.
type Change = fn(&mut Hellos);

/// Returns the server's result for a first ClientHello.
fn opened(change: impl FnOnce(&mut Hellos)) -> Result<Option<Opened>, Broken> {
    let mut client = Client::new();
    let mut hellos = client.hellos();
    change(&mut hellos);
    let message = client.seal(&hellos);
    Connection::default().open(&Ech::accepting(&client.key), &message)
}

fn broken(change: impl FnOnce(&mut Hellos)) -> &'static str {
    match opened(change) {
        Err(Broken(rule)) => rule,
        Ok(opened) => panic!("accepted: {opened:?}"),
    }
}

fn edit(hello: &mut ClientHello, edit: impl FnOnce(ClientHello) -> ClientHello) {
    *hello = edit(hello.clone());
}

/// Moves these types of `inner` to ech_outer_extensions.
fn compress(hellos: &mut Hellos, types: &[u16]) {
    let kept = &mut hellos.inner.extensions;
    kept.retain(|(typ, _)| !types.contains(typ));
    kept.push((ECH_OUTER_EXTENSIONS, u8_vec(&u16s(types))));
}

#[test]
fn valid_hellos_are_accepted() {
    let read = opened(|_| {}).unwrap().unwrap();
    assert_eq!(
        read.inner.extension(SERVER_NAME),
        Some(&host_name(SECRET)[..])
    );
    assert_eq!(read.inner.session_id, read.outer.session_id);
    assert_eq!(read.inner.random, [2; 32]);
    assert!(read.padding_len >= 6);

    let read = opened(|hellos| compress(hellos, &[SUPPORTED_VERSIONS, KEY_SHARE]));
    let read = read.unwrap().unwrap();
    let types = [SUPPORTED_VERSIONS, KEY_SHARE];
    assert_eq!(read.outer_extensions, types);
    for typ in types {
        assert_eq!(read.inner.extension(typ), read.outer.extension(typ));
    }
    assert_eq!(read.inner.extension(ECH_OUTER_EXTENSIONS), None);

    let psk = |hello: &mut ClientHello, binder| {
        let modes = u8_vec(&[1]);
        let mut psks = offered_psks(1, 1);
        psks.iter_mut()
            .for_each(|byte| *byte += u8::from(*byte == 7) * binder);
        if binder > 0 {
            psks[4] = b'T';
            psks[13] = 9;
        }
        edit(hello, |hello| {
            hello
                .and(EARLY_DATA, vec![])
                .and(PSK_KEY_EXCHANGE_MODES, modes)
                .and(PRE_SHARED_KEY, psks)
        });
    };
    let read = opened(|hellos| {
        psk(&mut hellos.inner, 0);
        psk(&mut hellos.outer, 1);
    });
    assert!(
        read.unwrap()
            .unwrap()
            .inner
            .extension(PRE_SHARED_KEY)
            .is_some()
    );
    // only one of them, or both the same
    assert!(broken(|hellos| psk(&mut hellos.outer, 1)).contains("early_data is in both"));
    let alone = broken(|hellos| {
        psk(&mut hellos.inner, 0);
        edit(&mut hellos.outer, |hello| hello.and(EARLY_DATA, vec![]));
    });
    assert!(alone.contains("pre_shared_key is in both"));
    let same = broken(|hellos| {
        psk(&mut hellos.inner, 0);
        psk(&mut hellos.outer, 0);
    });
    assert!(same.contains("are random"));
}

#[test]
fn unauthentic_payloads_are_not_opened() {
    let unread: [Change; 4] = [
        |hellos| hellos.tamper = |outer| outer.random[0] ^= 1,
        |hellos| hellos.tamper = |outer| outer.cipher_suites.push(0x1304),
        |hellos| hellos.extension.enc[0] ^= 1,
        |hellos| hellos.extension.config_id = 8,
    ];
    for change in unread {
        assert!(opened(change).unwrap().is_none());
    }
}

#[test]
fn hellos_that_break_a_rule_are_rejected() {
    let edits: [(&str, Change); 24] = [
        ("padding is of zeros", |hellos| hellos.padding[3] = 1),
        ("legacy_session_id is left out", |hellos| {
            hellos.inner.session_id = vec![5; 32]
        }),
        ("refers to existing extensions", |hellos| {
            compress(hellos, &[COOKIE])
        }),
        ("refers to existing extensions", |hellos| {
            compress(hellos, &[KEY_SHARE, KEY_SHARE])
        }),
        // in the order of ClientHelloInner, not of ClientHelloOuter
        ("refers to existing extensions", |hellos| {
            compress(hellos, &[KEY_SHARE, SUPPORTED_VERSIONS])
        }),
        ("does not refer to encrypted", |hellos| {
            compress(hellos, &[ENCRYPTED_CLIENT_HELLO])
        }),
        ("2 to 254 bytes", |hellos| compress(hellos, &[])),
        ("a single ech_outer_extensions", |hellos| {
            compress(hellos, &[KEY_SHARE]);
            hellos
                .inner
                .extensions
                .push((ECH_OUTER_EXTENSIONS, u8_vec(&u16s(&[13]))));
        }),
        ("no extension occurs twice", |hellos| {
            let share = hellos.inner.extension(KEY_SHARE).unwrap().to_vec();
            compress(hellos, &[KEY_SHARE]);
            hellos.inner.extensions.push((KEY_SHARE, share));
        }),
        ("no ech_outer_extensions in ClientHelloOuter", |hellos| {
            edit(&mut hellos.outer, |hello| {
                hello.and(ECH_OUTER_EXTENSIONS, vec![2, 0, 13])
            });
        }),
        ("has the inner variant", |hellos| {
            edit(&mut hellos.inner, |hello| {
                hello.with(ENCRYPTED_CLIENT_HELLO, vec![0])
            });
        }),
        ("has the inner variant", |hellos| {
            edit(&mut hellos.inner, |hello| {
                hello.with(ENCRYPTED_CLIENT_HELLO, vec![1, 0])
            });
        }),
        ("has the inner variant", |hellos| {
            edit(&mut hellos.inner, |hello| {
                hello.without(ENCRYPTED_CLIENT_HELLO)
            });
        }),
        ("no version before TLS 1.3", |hellos| {
            let versions = u8_vec(&u16s(&[0x0304, 0x0303]));
            edit(&mut hellos.inner, |hello| {
                hello.with(SUPPORTED_VERSIONS, versions)
            });
        }),
        ("TLS 1.3 is offered", |hellos| {
            edit(&mut hellos.outer, |hello| hello.without(SUPPORTED_VERSIONS));
        }),
        ("TLS 1.3 is offered", |hellos| {
            edit(&mut hellos.inner, |hello| hello.without(SUPPORTED_VERSIONS));
        }),
        ("no session of TLS 1.2", |hellos| {
            edit(&mut hellos.inner, |hello| {
                hello.with(SESSION_TICKET, vec![1])
            });
        }),
        ("ClientHelloOuter.random differs", |hellos| {
            hellos.inner.random = [1; 32]
        }),
        ("names public_name", |hellos| {
            edit(&mut hellos.outer, |hello| {
                hello.with(SERVER_NAME, host_name(SECRET))
            });
        }),
        ("padded to maximum_name_length", |hellos| {
            let mut len = hellos.inner.message().len() - 4;
            // a message that ends on a block boundary
            let mut names = Vec::new();
            while len % 32 != 0 {
                names.push(b'a');
                let hello = hellos.inner.clone().with(ALPN, protocols(&[&names]));
                len = hello.message().len() - 4;
            }
            edit(&mut hellos.inner, |hello| {
                hello.with(ALPN, protocols(&[&names]))
            });
            hellos.padding.clear();
        }),
        ("a ClientHello of TLS 1.3", |hellos| {
            hellos.inner.compression = vec![0, 1]
        }),
        ("is one of the ECHConfig's", |hellos| {
            hellos.extension.suite = (1, 3)
        }),
        ("once", |hellos| {
            edit(&mut hellos.outer, |hello| {
                hello.and(ENCRYPTED_CLIENT_HELLO, vec![1])
            });
        }),
        ("early_data is in both", |hellos| {
            edit(&mut hellos.inner, |hello| hello.and(EARLY_DATA, vec![]));
        }),
    ];
    for (expected, change) in edits {
        let rule = broken(change);
        assert!(rule.contains(expected), "{rule} instead of {expected}");
    }
}

#[test]
fn second_hellos_are_checked() {
    let second = |change: fn(&mut Hellos)| {
        let mut client = Client::new();
        let mut hellos = client.hellos();
        let ech = Ech::accepting(&client.key);
        let mut connection = Connection::default();
        connection.choose(&ech, &client.seal(&hellos));
        hellos.extension.enc.clear();
        for hello in [&mut hellos.inner, &mut hellos.outer] {
            edit(hello, |hello| hello.with(COOKIE, vec![0, 1, 7]));
        }
        change(&mut hellos);
        connection.open(&ech, &client.seal(&hellos)).map(drop)
    };
    assert_eq!(second(|_| {}), Ok(()));
    let edits: [(&str, Change); 6] = [
        ("cipher_suite and config_id", |hellos| {
            hellos.extension.config_id = 8
        }),
        ("enc is empty", |hellos| hellos.extension.enc = vec![1; 32]),
        ("the context of the first", |hellos| {
            hellos.tamper = |outer| outer.random[0] ^= 1
        }),
        ("second ClientHelloInner equals the first", |hellos| {
            hellos.inner.random[0] ^= 1
        }),
        ("second ClientHelloInner equals the first", |hellos| {
            edit(&mut hellos.inner, |hello| {
                hello.with(SERVER_NAME, host_name(b"other.example"))
            });
        }),
        ("second ClientHelloOuter equals the first", |hellos| {
            hellos.outer.random[0] ^= 1
        }),
    ];
    for (expected, change) in edits {
        let Err(Broken(rule)) = second(change) else {
            panic!("accepted instead of {expected}");
        };
        assert!(rule.contains(expected), "{rule} instead of {expected}");
    }
}
