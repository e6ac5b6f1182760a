//! The requirements on ClientHelloOuter and ClientHelloInner, RFC 9849 §5 and §6.1.

use super::config::Config;
use super::reading::{Broken, EchExtension, Opened, is_inner, require};
use super::{ECH_OUTER_EXTENSIONS, ENCRYPTED_CLIENT_HELLO};
use crate::wire::Reader;
use crate::wire::client_hello::{
    COOKIE, ClientHello, EARLY_DATA, KEY_SHARE, PADDING, PRE_SHARED_KEY, PSK_KEY_EXCHANGE_MODES,
    SERVER_NAME, SESSION_TICKET, SUPPORTED_VERSIONS, host_name, read_u16s,
};

const TLS13: u16 = 0x0304;

/// Checks an `opened` ClientHello.
pub(super) fn check(opened: &Opened, config: &Config) -> Result<(), Broken> {
    let Opened { outer, inner, .. } = opened;
    check_alone(outer)?;
    check_alone(inner)?;
    check_inner(inner)?;
    require(
        outer.extension(SERVER_NAME) == Some(&host_name(&config.public_name)[..]),
        "§6.1: ClientHelloOuter names public_name",
    )?;
    require(
        outer.random != inner.random,
        "§6.1: ClientHelloOuter.random differs",
    )?;
    // rule 3 for ClientHelloOuter holds because the server copies legacy_session_id; the rest of
    // the body has no rule
    check_psk(outer, inner)?;
    require(
        opened.encoded.len().is_multiple_of(32),
        "§6.1.3: EncodedClientHelloInner has a length that is a multiple of 32",
    )?;
    let max = usize::from(config.maximum_name_length);
    let name = server_name(inner).map(|name| name.len());
    let least = name.map_or(max + 9, |len| max.saturating_sub(len));
    require(
        opened.padding_len >= least,
        "§6.1.3: the name is padded to maximum_name_length",
    )
}

/// Checks the rules for any ClientHello from a client that offers ECH (RFC 9846 §4.2).
fn check_alone(hello: &ClientHello) -> Result<(), Broken> {
    let mut types = hello.extension_types();
    require(
        !types.contains(&PRE_SHARED_KEY) || types.last() == Some(&PRE_SHARED_KEY),
        "RFC 9846 §4.3.11: pre_shared_key is the last extension",
    )?;
    let count = types.len();
    types.sort_unstable();
    types.dedup();
    require(
        types.len() == count,
        "RFC 9846 §4.3: no extension occurs twice",
    )?;
    require(versions(hello).contains(&TLS13), "§6.1: TLS 1.3 is offered")?;
    require(
        hello.legacy_version == 0x0303 && hello.compression == [0] && hello.trailing.is_empty(),
        "RFC 9846 §4.2.2: a ClientHello of TLS 1.3",
    )
}

fn check_inner(inner: &ClientHello) -> Result<(), Broken> {
    require(
        is_inner(inner.extension(ENCRYPTED_CLIENT_HELLO)),
        "§6.1: ClientHelloInner has the inner variant",
    )?;
    require(
        inner.extension(ECH_OUTER_EXTENSIONS).is_none(),
        "§5.1: no ech_outer_extensions in ClientHelloInner",
    )?;
    // RFC 8701: GREASE values are not versions
    let is_grease = |version: u16| version & 0x0f0f == 0x0a0a && version >> 8 == version & 0xff;
    let mut versions = versions(inner).into_iter();
    require(
        versions.all(|version| version >= TLS13 || is_grease(version)),
        "§6.1: ClientHelloInner offers no version before TLS 1.3",
    )?;
    require(
        inner.extension(SESSION_TICKET).is_none_or(<[u8]>::is_empty),
        "§6.1: ClientHelloInner offers no session of TLS 1.2",
    )
}

/// Checks the GREASE PSK, RFC 9849 §6.1.2.
fn check_psk(outer: &ClientHello, inner: &ClientHello) -> Result<(), Broken> {
    require(
        outer.extension(EARLY_DATA) == inner.extension(EARLY_DATA),
        "§6.1: early_data is in both or in none",
    )?;
    let (outer_psk, inner_psk) = match (
        outer.extension(PRE_SHARED_KEY),
        inner.extension(PRE_SHARED_KEY),
    ) {
        (Some(outer), Some(inner)) => (Psks::read(outer), Psks::read(inner)),
        (outer, inner) => {
            return require(
                outer.is_none() && inner.is_none(),
                "§6.1.2: pre_shared_key is in both or in none",
            );
        }
    };
    require(
        outer_psk.identities.len() == inner_psk.identities.len()
            && outer_psk.binders.len() == inner_psk.binders.len(),
        "§6.1.2: equal numbers of identities and binders",
    )?;
    let identities = outer_psk.identities.iter().zip(&inner_psk.identities);
    let binders = outer_psk.binders.iter().zip(&inner_psk.binders);
    let ids = identities
        .clone()
        .map(|(outer, inner)| (&outer.0, &inner.0));
    for (outer, inner) in ids.chain(binders) {
        require(
            outer.len() == inner.len(),
            "§6.1.2: identities and binders have equal lengths",
        )?;
        // short random values may be equal by chance
        let differ = outer != inner || outer.len() < 8;
        require(differ, "§6.1.2: identities and binders are random")?;
    }
    for ((_, outer), (_, inner)) in identities {
        require(outer != inner, "§6.1.2: obfuscated_ticket_age is random")?;
    }
    let modes = |hello: &ClientHello| hello.extension(PSK_KEY_EXCHANGE_MODES).map(<[u8]>::to_vec);
    require(
        modes(outer) == modes(inner),
        "§6.1: psk_key_exchange_modes is copied",
    )
}

/// OfferedPsks of RFC 9846 §4.3.11.
struct Psks {
    identities: Vec<(Vec<u8>, usize)>,
    binders: Vec<Vec<u8>>,
}

impl Psks {
    fn read(body: &[u8]) -> Self {
        let mut body = Reader(body);
        let read = Self {
            identities: body.list(2, |list| (list.vector(2).to_vec(), list.number(4))),
            binders: body.list(2, |list| list.vector(1).to_vec()),
        };
        assert!(body.is_empty(), "bytes after the binders");
        read
    }
}

/// Checks the extension of the ClientHello after an accepting HelloRetryRequest (RFC 9849 §7.1.1).
pub(super) fn check_second_extension(
    first: &EchExtension,
    second: &EchExtension,
) -> Result<(), Broken> {
    require(
        first.suite == second.suite && first.config_id == second.config_id,
        "§7.1.1: cipher_suite and config_id are unchanged",
    )?;
    require(second.enc.is_empty(), "§6.1.5: enc is empty")
}

/// Compares the ClientHellos sent after an accepting HelloRetryRequest with those sent before it.
pub(super) fn check_second(first: &Opened, second: &Opened) -> Result<(), Broken> {
    require(
        unchanging_parts(&first.inner, &[]) == unchanging_parts(&second.inner, &[]),
        "§6.1.5: the second ClientHelloInner equals the first except for the list in RFC 9846 §4.2.2",
    )?;
    // to any observer, this is an ordinary second ClientHello
    require(
        unchanging_parts(&first.outer, &[ENCRYPTED_CLIENT_HELLO])
            == unchanging_parts(&second.outer, &[ENCRYPTED_CLIENT_HELLO]),
        "RFC 9846 §4.2.2: the second ClientHelloOuter equals the first except for permitted changes",
    )?;
    require(
        second.inner.extension(EARLY_DATA).is_none(),
        "RFC 9846 §4.2.2: no early data after a HelloRetryRequest",
    )
}

/// Returns the parts that must not change after a HelloRetryRequest.
fn unchanging_parts(hello: &ClientHello, changing: &[u16]) -> ClientHello {
    let may_change = [KEY_SHARE, EARLY_DATA, COOKIE, PRE_SHARED_KEY, PADDING];
    hello.clone().edit(|hello| {
        let stays = |typ: &u16| !may_change.contains(typ) && !changing.contains(typ);
        hello.extensions.retain(|(typ, _)| stays(typ));
    })
}

/// Returns the offered versions.
fn versions(hello: &ClientHello) -> Vec<u16> {
    let body = hello.extension(SUPPORTED_VERSIONS);
    body.map_or_else(Vec::new, |body| read_u16s(Reader(body).vector(1)))
}

/// Returns the name in server_name.
fn server_name(hello: &ClientHello) -> Option<Vec<u8>> {
    let body = hello.extension(SERVER_NAME)?;
    let mut list = Reader(Reader(body).vector(2));
    assert_eq!(list.number(1), 0, "type of the name");
    Some(list.vector(2).to_vec())
}
