//! Certificate cases: the certificates that a peer presents, the judge's trust, and the time.
//!
//! `rustls/src/config/webpki/tests` checks that verdicts are correct. These tests compare verdicts.

use std::sync::LazyLock;

use harness::peers::pki::{
    Issuer, SERVER, at, crl, intermediate, key, leaf, leaf_of, now, raw_public_key, root,
};
use pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, GeneralSubtree,
    IsCa, KeyPair, NameConstraints, SanType, SerialNumber, date_time_ymd,
};

/// The trust settings of the judge.
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

/// A peer before a judge.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) trust: Trust,
    pub(crate) now: UnixTime,
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

    /// The peer's certificate under `issuer`.
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

    /// A peer with a valid certificate.
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
            now: now(),
            good: good.clone(),
            presented: good,
        }
    }

    /// A peer whose certificate differs from the valid one by `change`.
    fn changed(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Case {
        self.good(name)
            .with(|case| case.presented.chain[0] = self.leaf(&self.lower, change))
    }

    /// A peer whose issuer differs from `lower` by `change`.
    fn below(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Case {
        let issuer = intermediate("Lower", &self.upper, change);
        let chain = self.credential(self.leaf(&issuer, nothing), &[&issuer, &self.upper]);
        self.good(name).with(|case| case.presented = chain)
    }

    /// A chain under `issuers`, the lowest first.
    fn under(&self, name: &str, issuers: &[&Issuer]) -> Case {
        let chain = self.credential(self.leaf(issuers[0], nothing), issuers);
        self.good(name).with(|case| case.presented = chain)
    }

    /// Empty revocation lists of all issuers.
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

/// All cases, created once.
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

/// The case of this name.
pub(crate) fn named(name: &str) -> &'static Case {
    let found = all().iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no case {name}"))
}

fn good_chains(world: &World) -> Vec<Case> {
    let with = |name: &str, more: &[CertificateDer<'static>]| {
        let chain = |case: &mut Case| case.presented.chain.extend_from_slice(more);
        world.good(name).with(chain)
    };
    let stranger = root("Stranger", nothing);
    vec![
        world.good("good"),
        world.good("reversed order").with(|case| {
            case.presented.chain[1..].reverse();
        }),
        with("with its root", &[world.root.der().clone()]),
        with("with a stranger", &[stranger.der().clone()]),
        world.good("everything twice").with(|case| {
            let again = case.presented.chain.clone();
            case.presented.chain.extend(again);
        }),
        world.under("directly below the root", &[&world.root]),
        world.good("trust in the intermediate").with(|case| {
            case.trust.roots = vec![world.lower.der().clone()];
        }),
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
    let at = |name: &str, time| world.good(name).with(|case| case.now = at(time));
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
        at("1970", 0),
        at("in millions of years", u64::from(u32::MAX) << 16),
    ]
}

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
    let asks = |name: &'static [&str; 1]| {
        move |case: &mut Case| {
            case.trust.server_name = name[0].try_into().unwrap();
            case.good.chain[0] = world.leaf(&world.lower, of(name));
        }
    };
    let wildcard = |name: &str| world.changed(name, of(&["*.example"]));
    vec![
        world.changed("another name", of(&["other.example"])),
        world.changed("no name", of(&[])),
        world.changed(
            "one of many names",
            of(&["other.example", "192.0.2.1", SERVER]),
        ),
        wildcard("wildcard"),
        wildcard("wildcard over two labels").with(asks(&["a.server.example"])),
        world
            .changed("address", of(&["192.0.2.1", "2001:db8::1"]))
            .with(asks(&["2001:db8::1"])),
        world
            .good("asked for another")
            .with(asks(&["other.example"])),
        world
            .good("asked for an address")
            .with(asks(&["192.0.2.1"])),
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

fn paths(world: &World) -> Vec<Case> {
    let namesake = root("Root", nothing);
    let stranger = root("Stranger", nothing);
    let upper_of_namesake = intermediate("Upper", &namesake, nothing);
    let lower_of_namesake = intermediate("Lower", &upper_of_namesake, nothing);
    let many: Vec<_> = (0..20).map(|_| root("Same", nothing)).collect();
    let self_signed = Issuer::self_signed(
        CertificateParams::new([SERVER.to_owned()]).unwrap(),
        KeyPair::try_from(world.peer.serialize_der()).unwrap(),
    )
    .unwrap();
    vec![
        world.good("missing intermediates").with(|case| {
            case.presented.chain.truncate(1);
        }),
        world.good("a gap").with(|case| {
            case.presented.chain.remove(1);
        }),
        world.under("unknown issuer", &[&stranger]),
        world.under(
            "namesakes of all issuers",
            &[&lower_of_namesake, &upper_of_namesake],
        ),
        // a chain that other judges trust
        world.good("known to others").with(|case| {
            case.trust.roots = vec![stranger.der().clone()];
            case.good = world.credential(world.leaf(&stranger, nothing), &[]);
        }),
        world.good("known to others as namesakes").with(|case| {
            case.trust.roots = vec![namesake.der().clone()];
            case.good = world.credential(
                world.leaf(&lower_of_namesake, nothing),
                &[&lower_of_namesake, &upper_of_namesake],
            );
        }),
        world.good("self-signed").with(|case| {
            case.presented.chain = vec![self_signed.der().clone()];
        }),
        world.good("a trusted certificate itself").with(|case| {
            case.trust.roots = vec![case.good.chain[0].clone()];
        }),
        world
            .under("too many signatures", &[&many[0]])
            .with(|case| {
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
    let lists = |name: &str| {
        world
            .good(name)
            .with(|case| case.trust.crls = world.lists())
    };
    let unlisted = |name: &str| lists(name).with(|case| case.trust.crls.truncate(2));
    let at = |name: &str, time| lists(name).with(|case| case.now = at(time));
    vec![
        unlisted("unknown status"),
        unlisted("unknown status allowed").with(|case| case.trust.allow_unknown_status = true),
        unlisted("unknown status of the end entity")
            .with(|case| case.trust.only_check_end_entity = true),
        at("expired list", next_update),
        at("expired list refused", next_update).with(|case| case.trust.enforce_expiration = true),
        at("list that has not expired", next_update - 1)
            .with(|case| case.trust.enforce_expiration = true),
    ]
}

fn malformed(world: &World) -> Vec<Case> {
    let shows = |name: &str, change: &dyn Fn(&mut Vec<CertificateDer<'static>>)| {
        let mut case = world.good(name);
        change(&mut case.presented.chain);
        case
    };
    let long = |len: usize| {
        let extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![0; len]);
        world.leaf(&world.lower, |params| {
            params.custom_extensions = vec![extension]
        })
    };
    let longer = |cert: &[u8]| [cert, &[0]].concat().into();
    vec![
        shows("no certificate", &|chain| chain.clear()),
        shows("empty certificate", &|chain| chain[0] = Vec::new().into()),
        shows("empty intermediate", &|chain| chain[1] = Vec::new().into()),
        shows("no DER", &|chain| chain[0] = vec![0xff; 100].into()),
        shows("no DER behind it", &|chain| {
            chain.push(vec![0xff; 100].into());
        }),
        shows("one byte behind it", &|chain| chain[0] = longer(&chain[0])),
        shows("one byte behind its issuer", &|chain| {
            chain[1] = longer(&chain[1]);
        }),
        shows("one byte less", &|chain| {
            chain[0] = chain[0][..chain[0].len() - 1].to_vec().into();
        }),
        shows("long", &|chain| chain[0] = long(10_000)),
        shows("nearly too long", &|chain| {
            chain[0] = long(60_000);
            chain.truncate(3);
        }),
        shows("too long", &|chain| chain[0] = long(70_000)),
        shows("a hundred intermediates", &|chain| {
            let issuer = chain[1].clone();
            chain.extend((0..100).map(|_| issuer.clone()));
        }),
    ]
}

/// Flips bits here and there.
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

fn other_keys(world: &World) -> Vec<Case> {
    let of_other = leaf_of(&world.other, &world.lower, nothing);
    let of_nobody = leaf(&world.lower, nothing);
    vec![
        // a chain that is accepted with its owner's key
        world.good("another's key").with(|case| {
            case.presented.key = world.other.serialize_der();
        }),
        world.good("another's certificate").with(|case| {
            case.presented.chain[0] = of_other;
        }),
        world.good("another's certificate behind it").with(|case| {
            case.presented.chain.push(of_nobody);
        }),
    ]
}

fn raw_keys(world: &World) -> Vec<Case> {
    let raw = |name: &str| {
        world.good(name).with(|case| {
            case.good = world.raw(&world.peer);
            case.presented = world.raw(&world.peer);
            case.trust.roots = Vec::new();
            case.trust.raw_key = case.good.chain[0].to_vec();
        })
    };
    vec![
        raw("raw key"),
        raw("another raw key").with(|case| case.presented = world.raw(&world.other)),
        raw("raw key of another's").with(|case| case.presented.key = world.other.serialize_der()),
        raw("two raw keys").with(|case| {
            case.presented.chain.push(raw_public_key(&world.other));
        }),
        raw("no raw key").with(|case| case.presented.chain.clear()),
        raw("raw key and a byte").with(|case| {
            case.presented.chain[0] = [&case.presented.chain[0], &[0][..]].concat().into();
        }),
        raw("a certificate for a raw key").with(|case| {
            case.presented = world.good("").presented;
        }),
        raw("a certificate as a raw key").with(|case| {
            case.presented = Credential {
                is_raw: true,
                ..world.good("").presented
            };
            case.presented.chain.truncate(1);
        }),
        world.good("a raw key as a certificate").with(|case| {
            case.presented.chain = vec![raw_public_key(&world.peer)];
        }),
        world.good("a raw key for a certificate").with(|case| {
            case.presented = world.raw(&world.peer);
        }),
    ]
}
