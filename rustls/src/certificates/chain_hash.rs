//! Hashes of chains, for maps keyed by chain.

use core::hash::{BuildHasher, Hasher};

use super::peer_chain::PeerChain;

/// The number of bytes hashed, from the end of the end-entity certificate or raw public key. They
/// usually belong to a signature or key, so they differ between most peers.
pub(super) const HASHED: usize = 8;

/// Hashes the kind of `chain`, all lengths, and the end of the first certificate.
///
/// `state` is keyed, so that peers cannot choose the hashes of their certificates. Different chains
/// may have the same hash, so compare them.
pub(super) fn hash_chain(state: &impl BuildHasher, chain: &PeerChain) -> u64 {
    let form = chain.der().fold(0_u64, |form, certificate| {
        // rotate by 16 bits, so that typical lengths do not overlap
        form.rotate_left(16) ^ certificate.len() as u64
    });
    hash(state, chain, form, 0)
}

/// Hashes `salt`, the kind of `chain`, and the length and the end of the first certificate. All
/// chains of one end entity have the same hash.
pub(super) fn hash_end_entity(state: &impl BuildHasher, chain: &PeerChain, salt: u64) -> u64 {
    let len = chain.der().next().map_or(0, <[u8]>::len);
    hash(state, chain, len as u64, salt)
}

fn hash(state: &impl BuildHasher, chain: &PeerChain, form: u64, salt: u64) -> u64 {
    let first = chain.der().next().unwrap_or_default();
    let mut hashed = [0; 8 + 8 + HASHED];
    let (start, rest) = hashed.split_at_mut(8);
    let (middle, end) = rest.split_at_mut(8);
    start.copy_from_slice(&salt.to_ne_bytes());
    middle.copy_from_slice(&(form << 1 ^ chain.kind() as u64).to_ne_bytes());
    for (to, from) in end.iter_mut().zip(first.iter().rev()) {
        *to = *from;
    }
    // one call, because each has a fixed cost
    let mut hasher = state.build_hasher();
    hasher.write(&hashed);
    hasher.finish()
}

/// Passes on a key that is already a hash.
#[derive(Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Not called: a key is one `u64`.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use super::*;
    use crate::certificates::ChainKind;

    const X509: ChainKind = ChainKind::X509;

    fn chain(kind: ChainKind, certificates: &[&[u8]]) -> PeerChain {
        PeerChain::copy(kind, certificates.iter().copied())
    }

    #[test]
    fn the_hash_of_a_chain_depends_on_key_kind_and_boundaries() {
        let state = RandomState::new();
        let hash = |kind, content: &[&[u8]]| hash_chain(&state, &chain(kind, content));
        let abc = hash(X509, &[b"a", b"bc"]);
        assert_eq!(abc, hash(X509, &[b"a", b"bc"]));
        for other in [
            &[&b"ab"[..], b"c"][..],
            &[b"abc"],
            &[b"a", b"bc", b""],
            &[b"b", b"bc"],
            &[],
        ] {
            assert_ne!(abc, hash(X509, other), "{other:?}");
        }
        assert_ne!(abc, hash(ChainKind::RawPublicKey, &[b"a", b"bc"]));
        // every length counts, not only the last
        let first = |len| hash(X509, &[&[7; 10][..len], b"bc"]);
        assert_ne!(first(9), first(10));
        // the hash is keyed, so it cannot be predicted
        let other_key = RandomState::new();
        assert_ne!(abc, hash_chain(&other_key, &chain(X509, &[b"a", b"bc"])));
    }

    #[test]
    fn a_hash_is_not_hashed_again() {
        let mut hasher = Hashed::default();
        hasher.write_u64(1 << 63 | 7);
        assert_eq!(hasher.finish(), 1 << 63 | 7);
    }

    #[test]
    fn the_hash_of_an_end_entity_depends_only_on_it_and_the_salt() {
        let state = RandomState::new();
        let hash =
            |kind, content: &[&[u8]], salt| hash_end_entity(&state, &chain(kind, content), salt);
        let ab = hash(X509, &[b"ab", b"c"], 0);
        for equal in [&[&b"ab"[..]][..], &[b"ab", b"longer"], &[b"ab", b"c", b"d"]] {
            assert_eq!(ab, hash(X509, equal, 0), "{equal:?}");
        }
        for other in [&[&b"aB"[..], b"c"][..], &[b"abc"], &[b"a", b"bc"], &[]] {
            assert_ne!(ab, hash(X509, other, 0), "{other:?}");
        }
        assert_ne!(ab, hash(ChainKind::RawPublicKey, &[b"ab", b"c"], 0));
        assert_ne!(ab, hash(X509, &[b"ab", b"c"], 1));
        let sevens = hash(X509, &[&[7; HASHED]], 0);
        for position in 0..HASHED {
            let mut other = [7; HASHED];
            other[position] = 8;
            assert_ne!(sevens, hash(X509, &[&other], 0), "{position}");
        }
    }
}
