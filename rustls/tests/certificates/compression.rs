//! Certificate compression between this crate and upstream: each algorithm in both directions, and
//! the cache of compressed messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::configs::{Provider, product};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, exchange, handshake, talk_and_close};
use rustls::CertificateCompressionAlgorithm as Algorithm;
use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, CertDecompressor, CompressionCache,
    CompressionFailed, CompressionLevel, DecompressionFailed, ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR,
};

use crate::certificates::kit::{Kind, Setup, this, upstream};

/// Counts the calls of another compressor or decompressor.
#[derive(Debug)]
pub(crate) struct Counting<T: 'static + ?Sized> {
    inner: &'static T,
    interactive: AtomicUsize,
    amortized: AtomicUsize,
}

impl<T: ?Sized> Counting<T> {
    pub(crate) fn new(inner: &'static T) -> &'static Self {
        Box::leak(Box::new(Self {
            inner,
            interactive: AtomicUsize::new(0),
            amortized: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn count(&self) -> usize {
        self.interactive.load(Ordering::Relaxed) + self.amortized.load(Ordering::Relaxed)
    }
}

impl CertCompressor for Counting<dyn CertCompressor> {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        let counter = match level {
            CompressionLevel::Interactive => &self.interactive,
            CompressionLevel::Amortized => &self.amortized,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.inner.compress(input, level)
    }

    fn algorithm(&self) -> Algorithm {
        self.inner.algorithm()
    }
}

impl CertDecompressor for Counting<dyn CertDecompressor> {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        self.interactive.fetch_add(1, Ordering::Relaxed);
        self.inner.decompress(input, output)
    }

    fn algorithm(&self) -> Algorithm {
        self.inner.algorithm()
    }
}

/// Each crate decompresses what the other compressed, in both APIs, with each algorithm, for chains
/// and raw public keys.
#[test]
fn each_algorithm_works_in_both_directions() {
    use rustls_upstream::compress as theirs;

    let algorithms = [
        (
            BROTLI_COMPRESSOR,
            BROTLI_DECOMPRESSOR,
            theirs::BROTLI_COMPRESSOR,
        ),
        (ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR, theirs::ZLIB_COMPRESSOR),
    ];
    for (setup, (compressor, decompressor, theirs)) in product(Setup::of_all_kinds(), algorithms) {
        let counters = || (Counting::new(compressor), Counting::new(decompressor));
        let our_client = |(sent, received): Counters| {
            let mut client = this::client_config(setup);
            client.cert_compressors = vec![sent];
            client.cert_decompressors = vec![received];
            client
        };
        let our_server = |(sent, received): Counters| {
            let mut server = this::server_config(setup);
            server.cert_compressors = vec![sent];
            server.cert_decompressors = vec![received];
            server
        };
        let connect = |client: &mut dyn Endpoint, server: &mut dyn Endpoint| {
            handshake(client, server);
            talk_and_close(client, server);
        };
        let counts = |(sent, received): Counters| (sent.count(), received.count());
        let of_client = usize::from(setup.client.is_some());
        let both = (1 + of_client, 1 + of_client);

        // two ends of this crate, both counted
        let (buffered, unbuffered) = (counters(), counters());
        let mut client = this::client(our_client(buffered));
        connect(&mut client, &mut this::server(our_server(buffered)));
        assert_eq!(counts(buffered), both, "{setup:?}");
        let mut client = ThisUnbuffered::client(our_client(unbuffered));
        let mut server = ThisUnbuffered::server(our_server(unbuffered));
        connect(&mut client, &mut server);
        assert_eq!(counts(unbuffered), both, "{setup:?}, unbuffered");

        let (client, server) = (counters(), counters());
        let mut their_server = upstream::server_config(setup);
        their_server.cert_compressors = vec![theirs];
        let mut their_server = upstream::server(their_server);
        connect(&mut this::client(our_client(client)), &mut their_server);
        let of_ours = counts(client);
        assert_eq!(of_ours, (of_client, 1), "{setup:?}, upstream's server");

        let mut their_client = upstream::client_config(setup);
        their_client.cert_compressors = vec![theirs];
        let mut their_client = upstream::client(their_client);
        connect(&mut their_client, &mut this::server(our_server(server)));
        let of_ours = counts(server);
        assert_eq!(of_ours, (1, of_client), "{setup:?}, upstream's client");
    }
}

/// A compressor and a decompressor whose calls are counted.
type Counters = (
    &'static Counting<dyn CertCompressor>,
    &'static Counting<dyn CertDecompressor>,
);

/// The sender uses the first of its algorithms that the receiver offers, or none if they share
/// none.
#[test]
fn the_senders_preference_determines_the_algorithm() {
    let setup = Setup::new(Provider::AwsLc);
    type Decompressors = Vec<&'static dyn CertDecompressor>;
    let lists: [(Decompressors, _); 5] = [
        (vec![], [0, 0]),
        (vec![BROTLI_DECOMPRESSOR], [1, 0]),
        (vec![ZLIB_DECOMPRESSOR], [0, 1]),
        (vec![ZLIB_DECOMPRESSOR, BROTLI_DECOMPRESSOR], [1, 0]),
        (vec![BROTLI_DECOMPRESSOR, ZLIB_DECOMPRESSOR], [1, 0]),
    ];
    for (offered, due) in lists {
        let [brotli, zlib] = [BROTLI_COMPRESSOR, ZLIB_COMPRESSOR].map(Counting::new);
        let mut client = this::client_config(setup);
        client.cert_decompressors = offered;
        let mut server = this::server_config(setup);
        server.cert_compressors = vec![brotli, zlib];
        handshake(&mut this::client(client), &mut this::server(server));
        assert_eq!([brotli, zlib].map(Counting::count), due);
    }
}

/// Two decompressors of one algorithm result in one offer, and the first is used. Upstream's server
/// would reject an offer that names it twice.
#[test]
fn duplicate_algorithms_are_offered_once() {
    let setup = Setup::new(Provider::AwsLc);
    let [first, second] = [(); 2].map(|()| Counting::new(ZLIB_DECOMPRESSOR));
    let mut client = this::client_config(setup);
    client.cert_decompressors = vec![first, second];
    let mut client = this::client(client);
    handshake(&mut client, &mut upstream::server_of(setup));
    assert_eq!((first.count(), second.count()), (1, 0));
}

/// Configures more algorithms than an extension can hold.
#[test]
fn too_many_algorithms_do_not_prevent_a_handshake() {
    #[derive(Debug)]
    struct Numbered(u16);
    impl CertDecompressor for Numbered {
        fn decompress(&self, _: &[u8], _: &mut [u8]) -> Result<(), DecompressionFailed> {
            unreachable!("never used to compress")
        }

        fn algorithm(&self) -> Algorithm {
            self.0.into()
        }
    }

    let setup = Setup::new(Provider::AwsLc).with(Kind::X509, Some(Kind::X509));
    let many: Vec<&'static dyn CertDecompressor> = (0x4000..0x4200)
        .map(|number| &*Box::leak(Box::new(Numbered(number))) as _)
        .collect();
    let mut client = this::client_config(setup);
    client.cert_decompressors = many.clone();
    let mut server = this::server_config(setup);
    server.cert_decompressors = many;
    handshake(&mut this::client(client), &mut this::server(server));
}

#[derive(Debug)]
struct Unable(bool);

impl CertCompressor for Unable {
    fn compress(
        &self,
        _input: Vec<u8>,
        _level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        self.0.then(Vec::new).ok_or(CompressionFailed)
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm::Zlib
    }
}

/// The chain is sent uncompressed when the compressor fails or returns nothing.
#[test]
fn a_failed_compression_sends_the_chain_uncompressed() {
    for says_nothing in [false, true] {
        let setup = Setup::new(Provider::AwsLc).with(Kind::X509, Some(Kind::X509));
        let unable = Box::leak(Box::new(Unable(says_nothing)));
        let mut client = this::client_config(setup);
        client.cert_compressors = vec![unable];
        let mut server = this::server_config(setup);
        server.cert_compressors = vec![unable];
        handshake(&mut this::client(client), &mut this::server(server));
    }
}

/// Returns the numbers of quick and thorough compressions of a server after some connections.
fn compressions(cache: CompressionCache, connections: usize) -> (usize, usize) {
    let setup = Setup::new(Provider::AwsLc);
    let counting = Counting::new(BROTLI_COMPRESSOR);
    let mut server = this::server_config(setup);
    server.cert_compressors = vec![counting];
    server.cert_compression_cache = Arc::new(cache);
    let server = Arc::new(server);
    for _ in 0..connections {
        let mut client = this::client_of(setup);
        handshake(&mut client, &mut this::server(server.clone()));
    }
    (
        counting.interactive.load(Ordering::Relaxed),
        counting.amortized.load(Ordering::Relaxed),
    )
}

#[test]
fn a_chain_is_compressed_once() {
    assert_eq!(compressions(CompressionCache::default(), 5), (1, 0));
    assert_eq!(compressions(CompressionCache::new(1), 5), (1, 0));
    // and compressed thoroughly once, when that is worthwhile
    assert_eq!(compressions(CompressionCache::new(1), 120), (1, 1));
    assert_eq!(compressions(CompressionCache::new(0), 5), (5, 0));
    assert_eq!(compressions(CompressionCache::Disabled, 5), (5, 0));
}

/// The OCSP response, the certificate and the algorithm determine the message, and therefore the
/// cache entry.
#[test]
fn each_different_message_has_its_own_cache_entry() {
    let setup = Setup::new(Provider::AwsLc);
    let [brotli, zlib] = [BROTLI_COMPRESSOR, ZLIB_COMPRESSOR].map(Counting::new);
    let cache = Arc::new(CompressionCache::new(3));
    let identity = &setup.key_type.identities().server;
    let connect = |ocsp: &[u8], compressor: &'static Counting<dyn CertCompressor>, raw: bool| {
        let setup = setup.with(if raw { Kind::Raw } else { Kind::X509 }, None);
        let mut server = this::server_config(setup);
        if !raw {
            let (chain, provider) = (identity.chain.clone(), Provider::AwsLc.this());
            let key = rustls::sign::CertifiedKey::from_der(chain, identity.key(), &provider);
            let mut key = key.unwrap();
            key.ocsp = (!ocsp.is_empty()).then(|| ocsp.to_vec());
            server.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key));
        }
        server.cert_compressors = vec![compressor];
        server.cert_compression_cache = cache.clone();
        let mut client = this::client_of(setup);
        exchange(&mut client, &mut this::server(server)).unwrap();
        let is_raw = client.peer_certificates()[0] != identity.chain[0].to_vec();
        assert_eq!(is_raw, raw);
        (brotli.count(), zlib.count())
    };
    for (ocsp, compressor, raw, counts) in [
        (&b""[..], brotli, false, (1, 0)),
        (b"response", brotli, false, (2, 0)),
        (b"", zlib, false, (2, 1)),
        // all three are cached
        (b"", brotli, false, (2, 1)),
        (b"", zlib, false, (2, 1)),
        (b"response", brotli, false, (2, 1)),
        // a fourth one evicts the least recently used one, which is the first
        (b"", brotli, true, (3, 1)),
        (b"", zlib, false, (3, 1)),
        (b"response", brotli, false, (3, 1)),
        (b"", brotli, false, (4, 1)),
    ] {
        assert_eq!(connect(ocsp, compressor, raw), counts, "{ocsp:?} {raw}");
    }
}
