//! Cases: the certificates that a peer presents, the judge's trust, and the time.
//!
//! `rustls/src/config/webpki/tests` checks that verdicts are correct. These tests compare verdicts.

use std::sync::LazyLock;

use harness::peers::pki::{
    Issuer, SERVER, crl, intermediate, key, leaf, leaf_of, now, raw_public_key, root,
};
use pki_types::{CertificateDer, CertificateRevocationListDer, ServerName};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, GeneralSubtree,
    IsCa, KeyPair, NameConstraints, SanType, SerialNumber, date_time_ymd,
};

/// The judge's roots or raw key, its revocation lists, and its policy on them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trust {
    /// Empty if the judge accepts a single raw public key, [`Self::raw_key`].
    pub(crate) roots: Vec<CertificateDer<'static>>,
    pub(crate) raw_key: Vec<u8>,
    pub(crate) crls: Vec<CertificateRevocationListDer<'static>>,
    pub(crate) only_check_end_entity: bool,
    pub(crate) allow_unknown_status: bool,
    pub(crate) enforce_expiration: bool,
    /// The server name that a client requires.
    pub(crate) server_name: ServerName<'static>,
}

/// The credential that a peer presents.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    pub(crate) is_raw: bool,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// The private key in PKCS#8.
    pub(crate) key: Vec<u8>,
}

/// A peer that a judge must accept or reject.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) trust: Trust,
    /// Seconds since 1970.
    pub(crate) now: u64,
    /// An acceptable credential of the same peer, with the same key, name and issuer as
    /// `presented`.
    pub(crate) good: Credential,
    pub(crate) presented: Credential,
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// The authorities and keys of all cases.
struct World {
    root: Issuer,
    upper: Issuer,
    lower: Issuer,
    peer: KeyPair,
    other: KeyPair,
}

const LEAF_SERIAL: u8 = 11;
const LOWER_SERIAL: u8 = 22;

impl World {
    fn new() -> Self {
        let root = root("Root", nothing);
        let upper = intermediate("Upper", &root, nothing);
        let lower = intermediate("Lower", &upper, |params| {
            params.serial_number = Some(SerialNumber::from(u64::from(LOWER_SERIAL)));
        });
        Self {
            root,
            upper,
            lower,
            peer: key(),
            other: key(),
        }
    }

    /// Returns the peer's certificate under `issuer`.
    fn leaf(
        &self,
        issuer: &Issuer,
        change: impl FnOnce(&mut CertificateParams),
    ) -> CertificateDer<'static> {
        leaf_of(&self.peer, issuer, |params| {
            params.serial_number = Some(SerialNumber::from(u64::from(LEAF_SERIAL)));
            change(params);
        })
    }

    fn credential(&self, leaf: CertificateDer<'static>, intermediates: &[&Issuer]) -> Credential {
        let intermediates = intermediates.iter().map(|issuer| issuer.der().clone());
        Credential {
            is_raw: false,
            chain: [leaf].into_iter().chain(intermediates).collect(),
            key: self.peer.serialize_der(),
        }
    }

    /// Creates a peer with a valid certificate.
    fn good(&self, name: &str) -> Case {
        let good = self.credential(self.leaf(&self.lower, nothing), &[&self.lower, &self.upper]);
        Case {
            name: name.to_owned(),
            trust: Trust {
                roots: vec![self.root.der().clone()],
                raw_key: Vec::new(),
                crls: Vec::new(),
                only_check_end_entity: false,
                allow_unknown_status: false,
                enforce_expiration: false,
                server_name: SERVER.try_into().unwrap(),
            },
            now: now().as_secs(),
            good: good.clone(),
            presented: good,
        }
    }

    /// Creates a peer whose chain differs from the valid one by `change`.
    fn presenting(
        &self,
        name: &str,
        change: impl FnOnce(&mut Vec<CertificateDer<'static>>),
    ) -> Case {
        self.good(name)
            .with(|case| change(&mut case.presented.chain))
    }

    /// Creates the case of a valid peer and a judge that trusts only `root`.
    fn trusting(&self, name: &str, root: CertificateDer<'static>) -> Case {
        self.good(name).with(|case| case.trust.roots = vec![root])
    }

    /// Creates a peer whose certificate differs from the valid one by `change`.
    fn changed(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Case {
        self.good(name)
            .with(|case| case.presented.chain[0] = self.leaf(&self.lower, change))
    }

    /// Creates a peer whose issuer differs from `lower` by `change`.
    fn below(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Case {
        let issuer = intermediate("Lower", &self.upper, change);
        let chain = self.credential(self.leaf(&issuer, nothing), &[&issuer, &self.upper]);
        self.good(name).with(|case| case.presented = chain)
    }

    /// Creates a chain under `issuers`, the lowest first.
    fn under(&self, name: &str, issuers: &[&Issuer]) -> Case {
        let chain = self.credential(self.leaf(issuers[0], nothing), issuers);
        self.good(name).with(|case| case.presented = chain)
    }

    /// Returns empty revocation lists of all issuers.
    fn lists(&self) -> Vec<CertificateRevocationListDer<'static>> {
        [&self.root, &self.upper, &self.lower]
            .map(|issuer| crl(issuer, &[], nothing))
            .to_vec()
    }

    fn raw(&self, key: &KeyPair) -> Credential {
        Credential {
            is_raw: true,
            chain: vec![raw_public_key(key)],
            key: key.serialize_der(),
        }
    }
}

fn nothing<T>(_: &mut T) {}

/// Returns `cert` with an additional byte.
fn longer(cert: &[u8]) -> CertificateDer<'static> {
    [cert, &[0]].concat().into()
}

/// Returns all cases, created once.
pub(crate) fn all() -> &'static [Case] {
    static ALL: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let world = World::new();
        [
            good_chains(&world),
            dates(&world),
            names(&world),
            purposes(&world),
            paths(&world),
            constraints(&world),
            revoked(&world),
            unknown_status(&world),
            malformed(&world),
            damaged(&world),
            other_keys(&world),
            raw_keys(&world),
        ]
        .concat()
    });
    &ALL
}

/// Returns the case of this name.
pub(crate) fn named(name: &str) -> &'static Case {
    let found = all().iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no case {name}"))
}

fn good_chains(world: &World) -> Vec<Case> {
    let with = |name: &str, more: &[CertificateDer<'static>]| {
        world.presenting(name, |chain| chain.extend_from_slice(more))
    };
    let stranger = root("Stranger", nothing);
    vec![
        world.good("good"),
        world.presenting("reversed order", |chain| chain[1..].reverse()),
        with("with its root", &[world.root.der().clone()]),
        with("with a stranger", &[stranger.der().clone()]),
        world.presenting("everything twice", |chain| chain.extend(chain.clone())),
        world.under("directly below the root", &[&world.root]),
        world.trusting("trust in the intermediate", world.lower.der().clone()),
    ]
}

fn dates(world: &World) -> Vec<Case> {
    let date = |year| date_time_ymd(year, 1, 1);
    let expires = |case: &mut Case| {
        // no issuer expires with it; a root's expiry is ignored
        let lasting = world.leaf(&world.root, |params| {
            params.not_before = date(2010);
            params.not_after = date(2040);
        });
        case.good = world.credential(lasting, &[]);
    };
    let end = 1_893_456_000; // 2030
    let start = 1_577_836_800; // 2020
    let from = |year| move |params: &mut CertificateParams| params.not_before = date(year);
    let until = |year| move |params: &mut CertificateParams| params.not_after = date(year);
    let at = |name: &str, time| world.good(name).with(|case| case.now = time);
    vec![
        world.changed("expired", until(2022)),
        world.changed("not yet valid", from(2025)),
        world.changed("valid backwards", |params| {
            from(2024)(params);
            until(2022)(params);
        }),
        world.below("expired issuer", until(2022)),
        at("last second", end),
        at("one second late", end + 1).with(expires),
        at("first second", start),
        at("one second early", start - 1).with(expires),
        at("1970", 1),
        at("in millions of years", u64::from(u32::MAX) << 16),
    ]
}

#[rustfmt::skip] // a table
fn names(world: &World) -> Vec<Case> {
    let of = |names: &'static [&str]| {
        move |params: &mut CertificateParams| {
            let names = names.iter().map(|name| match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName((*name).try_into().unwrap()),
            });
            params.subject_alt_names = names.collect();
        }
    };
    let requires = |name: &'static [&str; 1]| {
        move |case: &mut Case| {
            case.trust.server_name = name[0].try_into().unwrap();
            case.good.chain[0] = world.leaf(&world.lower, of(name));
        }
    };
    let wildcard = |name: &str| world.changed(name, of(&["*.example"]));
    let addresses = of(&["192.0.2.1", "2001:db8::1"]);
    vec![
        world.changed("another name", of(&["other.example"])),
        world.changed("no name", of(&[])),
        world.changed("one of many names", of(&["other.example", "192.0.2.1", SERVER])),
        wildcard("wildcard"),
        wildcard("wildcard over two labels").with(requires(&["a.server.example"])),
        world.changed("address", addresses).with(requires(&["2001:db8::1"])),
        world.good("another required name").with(requires(&["other.example"])),
        world.good("a required address").with(requires(&["192.0.2.1"])),
    ]
}

fn purposes(world: &World) -> Vec<Case> {
    use ExtendedKeyUsagePurpose::{ClientAuth, CodeSigning, ServerAuth};
    let to = |purposes: &'static [ExtendedKeyUsagePurpose]| {
        move |params: &mut CertificateParams| params.extended_key_usages = purposes.to_vec()
    };
    let nothing = CustomExtension::from_oid_content(&[2, 5, 29, 37], vec![0x30, 0]);
    vec![
        world.changed("for servers", to(&[ServerAuth])),
        world.changed("for clients", to(&[ClientAuth])),
        world.changed("for code", to(&[CodeSigning])),
        world.changed("for anything", to(&[])),
        world.changed("for nothing", |params| {
            params.extended_key_usages.clear();
            params.custom_extensions = vec![nothing];
        }),
        world.below("issuer of clients", to(&[ClientAuth])),
        world.below("issuer of servers", to(&[ServerAuth])),
    ]
}

#[rustfmt::skip] // a table
fn paths(world: &World) -> Vec<Case> {
    let namesake = root("Root", nothing);
    let stranger = root("Stranger", nothing);
    let upper_of_namesake = intermediate("Upper", &namesake, nothing);
    let lower_of_namesake = intermediate("Lower", &upper_of_namesake, nothing);
    let namesakes = [&lower_of_namesake, &upper_of_namesake];
    let many: Vec<_> = (0..20).map(|_| root("Same", nothing)).collect();
    let params = CertificateParams::new([SERVER.to_owned()]).unwrap();
    let key = KeyPair::try_from(world.peer.serialize_der()).unwrap();
    let self_signed = Issuer::self_signed(params, key).unwrap();
    vec![
        world.presenting("missing intermediates", |chain| chain.truncate(1)),
        world.presenting("a gap", |chain| _ = chain.remove(1)),
        world.under("unknown issuer", &[&stranger]),
        world.under("namesakes of all issuers", &namesakes),
        // a chain that other judges trust
        world.trusting("known to others", stranger.der().clone()).with(|case| {
            case.good = world.credential(world.leaf(&stranger, nothing), &[]);
        }),
        world.trusting("known to others as namesakes", namesake.der().clone()).with(|case| {
            case.good = world.credential(world.leaf(namesakes[0], nothing), &namesakes);
        }),
        world.presenting("self-signed", |chain| *chain = vec![self_signed.der().clone()]),
        world.good("a trusted certificate itself").with(|case| {
            case.trust.roots = vec![case.good.chain[0].clone()];
        }),
        world.under("too many signatures", &[&many[0]]).with(|case| {
            let others = many[1..].iter().map(|issuer| issuer.der().clone());
            case.presented.chain.splice(1.., others);
            let roots = &case.presented.chain[2..];
            case.trust.roots.extend_from_slice(roots);
        }),
    ]
}

fn constraints(world: &World) -> Vec<Case> {
    let childless = intermediate("Childless", &world.root, |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    });
    let child = intermediate("Child", &childless, nothing);
    let constrained = |what: &str, permitted: &[&str], excluded: &[&str]| {
        let subtree = |name: &&str| GeneralSubtree::DnsName((*name).into());
        let constraints = NameConstraints {
            permitted_subtrees: permitted.iter().map(subtree).collect(),
            excluded_subtrees: excluded.iter().map(subtree).collect(),
        };
        world.below(what, |params| params.name_constraints = Some(constraints))
    };
    let extended = |what: &str, is_critical| {
        let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        extension.set_criticality(is_critical);
        world.changed(what, |params| params.custom_extensions = vec![extension])
    };
    vec![
        world.changed("an authority itself", |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }),
        world.below("issuer without authority", |params| {
            params.is_ca = IsCa::ExplicitNoCa;
        }),
        world.under("path too long", &[&child, &childless]),
        constrained("names of others permitted", &["elsewhere.example"], &[]),
        constrained("its name excluded", &[], &[SERVER]),
        constrained("its name permitted", &["example"], &[]),
        extended("unknown critical extension", true),
        extended("unknown extension", false),
    ]
}

fn revoked(world: &World) -> Vec<Case> {
    let with_lists = |name: &str, change: &dyn Fn(&mut Vec<_>)| {
        world.good(name).with(|case| {
            case.trust.crls = world.lists();
            change(&mut case.trust.crls);
            // a certificate that the lists do not name
            case.good.chain[0] = world.leaf(&world.lower, |params| {
                params.serial_number = Some(SerialNumber::from(12u64));
            });
        })
    };
    let revokes_leaf =
        |lists: &mut Vec<_>| lists[2] = crl(&world.lower, &[3, LEAF_SERIAL], nothing);
    let revokes_issuer =
        |lists: &mut Vec<_>| lists[1] = crl(&world.upper, &[LOWER_SERIAL], nothing);
    let namesake = root("Lower", nothing);
    vec![
        with_lists("lists that revoke nothing", &|_| ()),
        with_lists("revoked", &revokes_leaf),
        with_lists("revoked issuer", &revokes_issuer),
        with_lists("revoked issuer, not looked at", &revokes_issuer)
            .with(|case| case.trust.only_check_end_entity = true),
        with_lists("another's number revoked", &|lists| {
            lists[0] = crl(&world.root, &[LEAF_SERIAL], nothing);
        }),
        with_lists("revoked by an old list too", &|lists| {
            lists.push(crl(&world.lower, &[LEAF_SERIAL], nothing));
        }),
        with_lists("list of a namesake", &|lists| {
            lists[2] = crl(&namesake, &[LEAF_SERIAL], nothing);
        }),
    ]
}

fn unknown_status(world: &World) -> Vec<Case> {
    let next_update = 1_704_067_200; // 2024
    let listed = |case: &mut Case| case.trust.crls = world.lists();
    let lists = |name: &str| world.good(name).with(listed);
    let unlisted = |name: &str| lists(name).with(|case| case.trust.crls.truncate(2));
    let at = |name: &str, time| lists(name).with(|case| case.now = time);
    let only_end_entity = |case: &mut Case| case.trust.only_check_end_entity = true;
    let enforced = |case: &mut Case| case.trust.enforce_expiration = true;
    vec![
        unlisted("unknown status"),
        unlisted("unknown status allowed").with(|case| case.trust.allow_unknown_status = true),
        unlisted("unknown status of the end entity").with(only_end_entity),
        at("expired list", next_update),
        at("expired list refused", next_update).with(enforced),
        at("list that has not expired", next_update - 1).with(enforced),
    ]
}

#[rustfmt::skip] // a table
fn malformed(world: &World) -> Vec<Case> {
    let long = |len: usize| {
        let extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![0; len]);
        world.leaf(&world.lower, |params| params.custom_extensions = vec![extension])
    };
    let shorter = |cert: &[u8]| cert[..cert.len() - 1].to_vec().into();
    let no_der = || vec![0xff; 100].into();
    vec![
        world.presenting("no certificate", |chain| chain.clear()),
        world.presenting("empty certificate", |chain| chain[0] = Vec::new().into()),
        world.presenting("empty intermediate", |chain| chain[1] = Vec::new().into()),
        world.presenting("no DER", |chain| chain[0] = no_der()),
        world.presenting("no DER behind it", |chain| chain.push(no_der())),
        world.presenting("one byte behind it", |chain| chain[0] = longer(&chain[0])),
        world.presenting("one byte behind its issuer", |chain| chain[1] = longer(&chain[1])),
        world.presenting("one byte less", |chain| chain[0] = shorter(&chain[0])),
        world.presenting("long", |chain| chain[0] = long(10_000)),
        world.presenting("nearly too long", |chain| {
            chain[0] = long(60_000);
            chain.truncate(3);
        }),
        world.presenting("too long", |chain| chain[0] = long(70_000)),
        world.presenting("a hundred intermediates", |chain| {
            let issuer = chain[1].clone();
            chain.extend((0..100).map(|_| issuer.clone()));
        }),
    ]
}

/// Returns cases with certificates in which single bits are flipped.
fn damaged(world: &World) -> Vec<Case> {
    let good = world.good("");
    let mut cases = Vec::new();
    for number in 0..2 {
        let len = good.presented.chain[number].len();
        for at in (0..len).step_by(len / 6) {
            cases.push(good.clone().with(|case| {
                case.name = format!("certificate {number} damaged at byte {at}");
                let mut bytes = case.presented.chain[number].to_vec();
                bytes[at] ^= 1;
                case.presented.chain[number] = bytes.into();
            }));
        }
    }
    cases
}

#[rustfmt::skip] // a table
fn other_keys(world: &World) -> Vec<Case> {
    let of_other = leaf_of(&world.other, &world.lower, nothing);
    let of_nobody = leaf(&world.lower, nothing);
    let key = world.other.serialize_der();
    vec![
        // a chain that is accepted with its owner's key
        world.good("another's key").with(|case| case.presented.key = key),
        world.presenting("another's certificate", |chain| chain[0] = of_other),
        world.presenting("another's certificate behind it", |chain| chain.push(of_nobody)),
    ]
}

#[rustfmt::skip] // a table
fn raw_keys(world: &World) -> Vec<Case> {
    let raw = |name: &str| {
        world.good(name).with(|case| {
            case.good = world.raw(&world.peer);
            case.presented = world.raw(&world.peer);
            case.trust.roots = Vec::new();
            case.trust.raw_key = case.good.chain[0].to_vec();
        })
    };
    let presenting = |name: &str, change: &dyn Fn(&mut Credential)| {
        raw(name).with(|case| change(&mut case.presented))
    };
    let peers = || vec![raw_public_key(&world.peer)];
    vec![
        raw("raw key"),
        presenting("another raw key", &|it| *it = world.raw(&world.other)),
        presenting("raw key of another's", &|it| it.key = world.other.serialize_der()),
        presenting("two raw keys", &|it| it.chain.push(raw_public_key(&world.other))),
        presenting("no raw key", &|it| it.chain.clear()),
        presenting("raw key and a byte", &|it| it.chain[0] = longer(&it.chain[0])),
        presenting("a certificate for a raw key", &|it| *it = world.good("").presented),
        presenting("a certificate as a raw key", &|it| {
            *it = world.good("").presented;
            it.is_raw = true;
            it.chain.truncate(1);
        }),
        world.presenting("a raw key as a certificate", |chain| *chain = peers()),
        world.good("a raw key for a certificate").with(|case| {
            case.presented = world.raw(&world.peer);
        }),
    ]
}
