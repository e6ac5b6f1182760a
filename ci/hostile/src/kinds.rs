//! The kinds of hostile peers. Each is a row of a table with a function that sends its next step.

use Role::{Client, Server};
use harness::peers::configs::Versions;
use harness::peers::roles::Role;
use harness::wire::client_hello::{
    ALPN, ClientHello, EARLY_DATA, KEY_SHARE, PRE_SHARED_KEY, PSK_KEY_EXCHANGE_MODES,
    SIGNATURE_ALGORITHMS, SUPPORTED_GROUPS, key_shares,
};
use harness::wire::{Noise, message, record, u8_vec, u16_vec, u16s};

use crate::Result;
use crate::attacker::Tools;

/// A kind of hostile peer.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The side that it attacks.
    pub(crate) victim: Role,
    pub(crate) versions: Versions,
    /// The extent of its honesty.
    pub(crate) until: Until,
    /// True if it reads the victim's output.
    pub(crate) reads: bool,
    /// True if it disconnects at the end of its steps and reconnects.
    pub(crate) leaves: bool,
    /// The bytes in its certificate chain after the first certificate.
    pub(crate) chain_len: usize,
    /// The bytes of each certificate after the first.
    pub(crate) certificate_len: usize,
    /// True if its certificates are compressed.
    pub(crate) compresses: bool,
    /// False if it stops before the end of its CertificateVerify.
    pub(crate) signs: bool,
    /// The bytes of a step: `None` after the last one.
    pub(crate) next: fn(&mut Tools, usize) -> Result<Option<Vec<u8>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    Nothing,
    /// Until the handshake is complete.
    Handshake,
    /// Until then; afterwards it makes its own records under the handshake's keys.
    Keys,
}

impl Kind {
    /// A client that never completes the handshake.
    const fn raw(
        name: &'static str,
        next: fn(&mut Tools, usize) -> Result<Option<Vec<u8>>>,
    ) -> Self {
        Self {
            name,
            victim: Server,
            versions: Versions::Both,
            until: Until::Nothing,
            reads: true,
            leaves: false,
            chain_len: 0,
            certificate_len: 4000,
            compresses: false,
            signs: true,
            next,
        }
    }

    /// A peer that attacks `victim` after the handshake.
    const fn connected(
        name: &'static str,
        victim: Role,
        next: fn(&mut Tools, usize) -> Result<Option<Vec<u8>>>,
    ) -> Self {
        Self {
            victim,
            until: Until::Keys,
            ..Self::raw(name, next)
        }
    }

    /// A peer that sends a long chain in the handshake.
    const fn chain(name: &'static str, victim: Role, chain_len: usize) -> Self {
        Self {
            victim,
            until: Until::Handshake,
            chain_len,
            ..Self::raw(name, |_, _| Ok(None))
        }
    }

    /// A client that presents a known certificate followed by `count` short ones, and never signs
    /// with its key.
    const fn unsigned(name: &'static str, count: usize, certificate_len: usize) -> Self {
        Self {
            certificate_len,
            signs: false,
            ..Self::chain(name, Server, count * certificate_len)
        }
    }

    /// The same peer, whose certificates are compressed.
    const fn compressed(self) -> Self {
        Self {
            compresses: true,
            ..self
        }
    }

    /// The same peer, which signs.
    const fn signed(self) -> Self {
        Self {
            signs: true,
            ..self
        }
    }

    /// The same peer with TLS 1.2.
    const fn of_tls12(self) -> Self {
        Self {
            versions: Versions::Tls12,
            ..self
        }
    }

    /// The same peer, whose honest connection makes the records.
    const fn keeps_connection(self) -> Self {
        Self {
            until: Until::Handshake,
            ..self
        }
    }

    const fn never_reads(self) -> Self {
        Self {
            reads: false,
            ..self
        }
    }

    const fn leaves(self) -> Self {
        Self {
            leaves: true,
            ..self
        }
    }
}

/// All kinds.
pub(crate) static KINDS: [Kind; 50] = [
    Kind::raw("silent", |_, _| Ok(None)),
    Kind::raw("half a ClientHello", |tools, step| {
        once(step, || {
            let hello = tools.hello()?;
            Ok(hello[..hello.len() / 2].to_vec())
        })
    }),
    Kind::raw("ClientHello only", |tools, step| {
        once(step, || tools.hello())
    }),
    Kind::raw("64 kB ClientHello without its last byte", |_, step| {
        long_hello(step)
    }),
    Kind::raw("one byte at a time", |tools, _| tools.next_byte().map(Some)),
    Kind::raw("ClientHello in 1-byte records", |tools, step| {
        if step == 0 {
            tools.keep_hello()?;
        }
        Ok(tools.kept_byte().map(|byte| record(HANDSHAKE, &[byte])))
    }),
    Kind::raw("empty records before ClientHello", |_, _| {
        Ok(Some(record(HANDSHAKE, &[])))
    }),
    Kind::raw("warnings before ClientHello", |_, _| {
        Ok(Some(record(ALERT, &USER_CANCELED)))
    }),
    Kind::raw("endless change_cipher_spec", |tools, step| {
        Ok(Some(match step {
            0 => tools.hello()?,
            _ => record(CHANGE_CIPHER_SPEC, &[1]),
        }))
    }),
    Kind::raw("200 unknown tickets", |_, step| {
        once(step, || Ok(records(&with_tickets(ClientHello::new(), 200))))
    })
    .leaves(),
    Kind::raw("undecryptable encrypted ClientHello", |_, step| {
        once(step, || Ok(records(&with_ech(ClientHello::new()))))
    })
    .leaves(),
    Kind::raw("15 000 extensions", |_, step| {
        let extensions = (0..15_000).map(|number| (0x1000 + number, vec![]));
        long(step, |hello| hello.extensions.extend(extensions))
    })
    .leaves(),
    Kind::raw("30 000 cipher suites", |_, step| {
        long(step, |hello| {
            hello.cipher_suites.extend(0xd000 - 30_000..0xd000)
        })
    })
    .leaves(),
    Kind::raw("12 000 key shares", |_, step| {
        let shares: Vec<_> = (0x2000..0x2000 + 12_000)
            .map(|group| (group, &[1][..]))
            .collect();
        long_extension(step, KEY_SHARE, key_shares(&shares))
    })
    .leaves(),
    Kind::raw("30 000 groups", |_, step| {
        let groups: Vec<_> = (0x2000..0x2000 + 30_000).collect();
        long_extension(step, SUPPORTED_GROUPS, u16_vec(&u16s(&groups)))
    })
    .leaves(),
    Kind::raw("30 000 signature schemes", |_, step| {
        let schemes: Vec<_> = (0x2000..0x2000 + 30_000).collect();
        long_extension(step, SIGNATURE_ALGORITHMS, u16_vec(&u16s(&schemes)))
    })
    .leaves(),
    Kind::raw("30 000 protocols", |_, step| {
        long_extension(step, ALPN, u16_vec(&u8_vec(b"x").repeat(30_000)))
    })
    .leaves(),
    Kind::raw("1 500 tickets of 1 byte", |_, step| {
        let body = [
            u16_vec(&[&u16_vec(b"x")[..], &[0; 4]].concat().repeat(1500)),
            u16_vec(&u8_vec(&[7; 32]).repeat(1500)),
        ];
        let modes = |hello: ClientHello| hello.with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
        once(step, || {
            Ok(records(
                &modes(ClientHello::new()).and(PRE_SHARED_KEY, body.concat()),
            ))
        })
    })
    .leaves(),
    Kind::raw("rejected early data", |_, step| {
        Ok(Some(match step {
            0 => {
                let hello = ClientHello::new().with(EARLY_DATA, vec![]);
                records(&with_tickets(hello, 1))
            }
            _ => record(APPLICATION_DATA, &[0x5a; 16_000]),
        }))
    }),
    Kind::raw("repeated handshakes", |_, _| Ok(None))
        .keeps_connection()
        .leaves(),
    Kind::raw("repeated TLS 1.2 handshakes", |_, _| Ok(None))
        .keeps_connection()
        .leaves()
        .of_tls12(),
    Kind::chain("certificates of 60 kB", Server, 60_000).leaves(),
    Kind::chain("certificates of 1 MB", Server, 1_000_000).leaves(),
    Kind::unsigned("200 certificates of 1 byte", 200, 1),
    Kind::unsigned("200 certificates of 1 byte, TLS 1.2", 200, 1).of_tls12(),
    Kind::unsigned("200 certificates of 1 byte, compressed", 200, 1).compressed(),
    Kind::unsigned("3 certificates of 4 kB, compressed", 3, 4000).compressed(),
    Kind::unsigned("10 000 certificates of 1 byte", 10_000, 1),
    Kind::unsigned("10 000 certificates of 1 byte, TLS 1.2", 10_000, 1).of_tls12(),
    Kind::unsigned("10 000 certificates of 1 byte, compressed", 10_000, 1).compressed(),
    Kind::unsigned("2 000 certificates of 20 bytes", 2000, 20),
    Kind::unsigned("2 000 certificates of 20 bytes, TLS 1.2", 2000, 20).of_tls12(),
    Kind::unsigned("300 certificates of 200 bytes, compressed", 300, 200).compressed(),
    Kind::unsigned("14 certificates of 4 kB, compressed", 14, 4000).compressed(),
    Kind::unsigned("10 000 certificates of 1 byte, signed", 10_000, 1).signed(),
    Kind::connected("record without its last byte", Server, |tools, step| {
        once(step, || {
            let mut record = tools
                .sealed(APPLICATION_DATA, &[0; 1 << 14])
                .unwrap_or_default();
            record.pop();
            Ok(record)
        })
    }),
    Kind::connected("empty records", Server, |tools, _| {
        Ok(tools.sealed(APPLICATION_DATA, &[]))
    }),
    Kind::connected("records of padding only", Server, |tools, _| {
        Ok(tools.sealed(0, &padded(&[])))
    }),
    Kind::connected("1-byte records with padding", Server, |tools, _| {
        Ok(tools.sealed(0, &padded(b"x")))
    }),
    Kind::connected("1-byte records", Server, |tools, _| {
        Ok(tools.sealed(APPLICATION_DATA, b"x"))
    }),
    Kind::connected("warnings", Server, |tools, _| {
        Ok(tools.sealed(ALERT, &USER_CANCELED))
    }),
    Kind::connected("KeyUpdates", Server, |tools, _| {
        tools.key_update(b"").map(Some)
    })
    .keeps_connection(),
    Kind::connected(
        "KeyUpdates with data, answers unread",
        Server,
        |tools, _| tools.key_update(b"x").map(Some),
    )
    .keeps_connection()
    .never_reads(),
    Kind::connected("sends requests, never reads", Server, |tools, _| {
        Ok(tools.sealed(APPLICATION_DATA, &[0; 1 << 14]))
    })
    .never_reads(),
    Kind::connected("TLS 1.2 renegotiation", Server, |tools, _| {
        Ok(tools.sealed(HANDSHAKE, &ClientHello::tls12().message()))
    })
    .of_tls12(),
    Kind::connected("tickets of 1 kB", Client, |tools, _| tickets(tools, 1000)),
    Kind::connected("tickets of 60 kB", Client, |tools, _| {
        tickets(tools, 60_000)
    }),
    Kind::connected("KeyUpdates, to a client", Client, |tools, _| {
        tools.key_update(b"").map(Some)
    })
    .keeps_connection(),
    Kind::connected("TLS 1.2 HelloRequests", Client, |tools, _| {
        Ok(tools.sealed(HANDSHAKE, &message(0, &[])))
    })
    .of_tls12(),
    Kind::chain("certificates of 1 MB, to a client", Client, 1_000_000),
];

fn once(step: usize, bytes: impl FnOnce() -> Result<Vec<u8>>) -> Result<Option<Vec<u8>>> {
    if step == 0 {
        bytes().map(Some)
    } else {
        Ok(None)
    }
}

/// The longest possible handshake message, in the longest possible records, without its last byte.
fn long_hello(step: usize) -> Result<Option<Vec<u8>>> {
    let protocols = u8_vec(&[b'a'; 250]).repeat(255);
    let hello = ClientHello::new().with(ALPN, u16_vec(&protocols)).message();
    let hello = &hello[..hello.len() - 1];
    let mut fragments = hello.chunks(1 << 14);
    Ok(fragments
        .nth(step)
        .map(|fragment| record(HANDSHAKE, fragment)))
}

/// A ClientHello made long by `edit`.
fn long(step: usize, edit: impl FnOnce(&mut ClientHello)) -> Result<Option<Vec<u8>>> {
    once(step, || Ok(records(&ClientHello::new().edit(edit))))
}

/// A ClientHello with `body` as an extension.
fn long_extension(step: usize, typ: u16, body: Vec<u8>) -> Result<Option<Vec<u8>>> {
    once(step, || Ok(records(&ClientHello::new().with(typ, body))))
}

/// Splits the ClientHello into as many records as needed.
fn records(hello: &ClientHello) -> Vec<u8> {
    let message = hello.message();
    let fragments = message.chunks(1 << 14);
    fragments
        .flat_map(|fragment| record(HANDSHAKE, fragment))
        .collect()
}

/// Adds `tickets` tickets that no server made, with wrong binders.
fn with_tickets(hello: ClientHello, tickets: usize) -> ClientHello {
    let identity = [&u16_vec(&noise(180))[..], &[0; 4]].concat();
    let binder = u8_vec(&[7; 32]);
    let body = [
        u16_vec(&identity.repeat(tickets)),
        u16_vec(&binder.repeat(tickets)),
    ];
    hello
        .with(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
        .and(PRE_SHARED_KEY, body.concat())
}

/// RFC 9849 §5: an outer hello, whose payload cannot be decrypted.
fn with_ech(hello: ClientHello) -> ClientHello {
    let (enc, payload) = (u16_vec(&noise(32)), u16_vec(&noise(15_000)));
    let body = [&[0, 0, 1, 0, 1, 42][..], &enc, &payload].concat();
    hello.with(ENCRYPTED_CLIENT_HELLO, body)
}

/// RFC 9846 §5.4: the content, its type and as much padding as fits, except for one byte.
fn padded(content: &[u8]) -> Vec<u8> {
    let mut inner = content.to_vec();
    inner.push(APPLICATION_DATA);
    inner.resize(1 << 14, 0);
    inner
}

/// RFC 9846 §4.7.1: a ticket of `len` bytes, in as many records as needed.
fn tickets(tools: &mut Tools, len: usize) -> Result<Option<Vec<u8>>> {
    let (lifetime, age_add) = (7200_u32.to_be_bytes(), [0; 4]);
    let parts = [
        &lifetime[..],
        &age_add,
        &u8_vec(&[1]),
        &u16_vec(&vec![0x5a; len]),
        &u16_vec(&[]),
    ];
    let message = message(NEW_SESSION_TICKET, &parts.concat());
    let fragments = message.chunks(1 << 14);
    let records = fragments.map(|fragment| tools.sealed(HANDSHAKE, fragment));
    Ok(records
        .collect::<Option<Vec<_>>>()
        .map(|records| records.concat()))
}

fn noise(len: usize) -> Vec<u8> {
    let mut noise = Noise::new(1);
    (0..len).map(|_| noise.next() as u8).collect()
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const NEW_SESSION_TICKET: u8 = 4;
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

/// RFC 9846 §6.1: a warning.
const USER_CANCELED: [u8; 2] = [1, 90];
