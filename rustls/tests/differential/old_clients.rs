//! Hellos of clients without TLS 1.2 and 1.3, sent to servers of each version: unchanged, without
//! any one extension, and with signature_algorithms.

use harness::comparison::Judge;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product3};
use harness::peers::roles::{self, Implementation, Role};
use harness::wire::client_hello::{ClientHello, SIGNATURE_ALGORITHMS};
use harness::wire::old_clients::{old_clients, ssl2_hello};
use harness::wire::{u16_vec, u16s};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

pub(crate) fn compare(judge: &Judge) {
    let versions = [Versions::Tls12, Versions::Tls13, Versions::Both];
    for (provider, versions, (client, hello)) in product3(PROVIDERS, versions, old_clients()) {
        let compare = |what: &str, hello: &ClientHello| {
            let case = format!("ClientHello of {client} {what} to {versions:?}");
            compare_at(judge, provider, versions, &case, &hello.record());
        };
        compare("as it is", &hello);
        for typ in hello.extension_types() {
            compare(&format!("without {typ}"), &hello.clone().without(typ));
        }
        let schemes = u16_vec(&u16s(&[0x0403, 0x0401]));
        compare("with schemes", &hello.and(SIGNATURE_ALGORITHMS, schemes));
    }
    for (provider, versions, ()) in product3(PROVIDERS, versions, [()]) {
        let case = format!("ClientHello of SSL 2.0 to {versions:?}");
        compare_at(judge, provider, versions, &case, &ssl2_hello());
    }
}

fn compare_at(judge: &Judge, provider: Provider, versions: Versions, case: &str, hello: &[u8]) {
    let this = || roles::this::Config::new(Role::Server, versions, provider.this(), KEY_TYPE);
    let upstream =
        || roles::upstream::Config::new(Role::Server, versions, provider.upstream(), KEY_TYPE);
    let apis = [Implementation::Buffered, Implementation::Unbuffered];
    let theirs = judge.feed(case, |which| which.end(this, upstream), &apis, [hello; 2]);
    assert!(theirs.error.is_some(), "{case}");
}
