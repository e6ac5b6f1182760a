//! Certificate compression between this crate and upstream: each algorithm in both directions, and
//! the cache of compressed messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::configs::{PROVIDERS, Provider, SERVER_NAME};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, exchange, handshake, talk_and_close};
use pki_types::ServerName;
use rustls::CertificateCompressionAlgorithm as Algorithm;
use rustls::client::UnbufferedClientConnection;
use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, CertDecompressor, CompressionCache,
    CompressionFailed, CompressionLevel, DecompressionFailed, ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR,
};
use rustls::server::UnbufferedServerConnection;

use crate::kit::{KINDS, Kind, Setup, this, upstream};

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

fn setups() -> impl Iterator<Item = Setup> {
    let kinds = KINDS.into_iter().flat_map(|server| {
        [None, Some(Kind::X509), Some(Kind::Raw)].map(|client| (server, client))
    });
    PROVIDERS.into_iter().flat_map(move |provider| {
        kinds.clone().map(move |(server, client)| Setup {
            server,
            client,
            ..Setup::new(provider)
        })
    })
}

fn name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).unwrap()
}

/// Each crate decompresses what the other compressed, in both APIs, with each algorithm, for chains
/// and raw public keys.
#[test]
fn each_algorithm_goes_both_ways() {
    for setup in setups() {
        for (compressor, decompressor, theirs) in [
            (
                BROTLI_COMPRESSOR,
                BROTLI_DECOMPRESSOR,
                rustls_upstream::compress::BROTLI_COMPRESSOR,
            ),
            (
                ZLIB_COMPRESSOR,
                ZLIB_DECOMPRESSOR,
                rustls_upstream::compress::ZLIB_COMPRESSOR,
            ),
        ] {
            let compressed = usize::from(setup.client.is_some());
            for unbuffered in [false, true] {
                // two ends of this crate, both counted
                let (sent, received) = (Counting::new(compressor), Counting::new(decompressor));
                let mut client = this::client_config(setup);
                client.cert_compressors = vec![sent];
                client.cert_decompressors = vec![received];
                let mut server = this::server_config(setup);
                server.cert_compressors = vec![sent];
                server.cert_decompressors = vec![received];
                let (client, server) = (Arc::new(client), Arc::new(server));
                let mut pair: (Box<dyn Endpoint>, Box<dyn Endpoint>) = if unbuffered {
                    let client = UnbufferedClientConnection::new(client, name()).unwrap();
                    let server = UnbufferedServerConnection::new(server).unwrap();
                    (
                        Box::new(ThisUnbuffered::new(client)),
                        Box::new(ThisUnbuffered::new(server)),
                    )
                } else {
                    (
                        Box::new(this::client(client)),
                        Box::new(this::server(server)),
                    )
                };
                handshake(&mut *pair.0, &mut *pair.1);
                talk_and_close(&mut *pair.0, &mut *pair.1);
                assert_eq!(sent.count(), 1 + compressed, "{setup:?}");
                assert_eq!(received.count(), 1 + compressed, "{setup:?}");
            }

            // our client with upstream's server
            let (sent, received) = (Counting::new(compressor), Counting::new(decompressor));
            let mut client = this::client_config(setup);
            client.cert_compressors = vec![sent];
            client.cert_decompressors = vec![received];
            let mut server = upstream::server_config(setup);
            server.cert_compressors = vec![theirs];
            let (mut client, mut server) = (this::client(client), upstream::server(server));
            handshake(&mut client, &mut server);
            talk_and_close(&mut client, &mut server);
            assert_eq!(
                (sent.count(), received.count()),
                (compressed, 1),
                "{setup:?}"
            );

            // upstream's client with our server
            let (sent, received) = (Counting::new(compressor), Counting::new(decompressor));
            let mut client = upstream::client_config(setup);
            client.cert_compressors = vec![theirs];
            let mut server = this::server_config(setup);
            server.cert_compressors = vec![sent];
            server.cert_decompressors = vec![received];
            let (mut client, mut server) = (upstream::client(client), this::server(server));
            handshake(&mut client, &mut server);
            talk_and_close(&mut client, &mut server);
            assert_eq!(
                (sent.count(), received.count()),
                (1, compressed),
                "{setup:?}"
            );
        }
    }
}

/// The sender uses the first of its algorithms that the receiver offers, or none if they share
/// none.
#[test]
fn the_senders_preference_decides() {
    let setup = Setup::new(Provider::AwsLc);
    type Decompressors = Vec<&'static dyn CertDecompressor>;
    let lists: [(Decompressors, Option<bool>); 5] = [
        (vec![], None),
        (vec![BROTLI_DECOMPRESSOR], Some(true)),
        (vec![ZLIB_DECOMPRESSOR], Some(false)),
        (vec![ZLIB_DECOMPRESSOR, BROTLI_DECOMPRESSOR], Some(true)),
        (vec![BROTLI_DECOMPRESSOR, ZLIB_DECOMPRESSOR], Some(true)),
    ];
    for (offered, is_brotli) in lists {
        let (brotli, zlib) = (
            Counting::new(BROTLI_COMPRESSOR),
            Counting::new(ZLIB_COMPRESSOR),
        );
        let mut client = this::client_config(setup);
        client.cert_decompressors = offered;
        let mut server = this::server_config(setup);
        server.cert_compressors = vec![brotli, zlib];
        handshake(&mut this::client(client), &mut this::server(server));
        let used = [brotli, zlib].map(Counting::count);
        let expected = match is_brotli {
            None => [0, 0],
            Some(true) => [1, 0],
            Some(false) => [0, 1],
        };
        assert_eq!(used, expected);
    }
}

/// Two decompressors of one algorithm make one offer, and the first is used. Upstream's server
/// would reject an offer that names it twice.
#[test]
fn an_algorithm_is_offered_once() {
    let setup = Setup::new(Provider::AwsLc);
    let (first, second) = (
        Counting::new(ZLIB_DECOMPRESSOR),
        Counting::new(ZLIB_DECOMPRESSOR),
    );
    let mut client = this::client_config(setup);
    client.cert_decompressors = vec![first, second];
    let mut client = this::client(client);
    handshake(
        &mut client,
        &mut upstream::server(upstream::server_config(setup)),
    );
    assert_eq!((first.count(), second.count()), (1, 0));
}

/// More algorithms than an extension can hold.
#[test]
fn a_long_list_is_cut() {
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

    let setup = Setup {
        client: Some(Kind::X509),
        ..Setup::new(Provider::AwsLc)
    };
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
        if self.0 {
            Ok(Vec::new())
        } else {
            Err(CompressionFailed)
        }
    }

    fn algorithm(&self) -> Algorithm {
        Algorithm::Zlib
    }
}

/// The chain is sent uncompressed when the compressor fails or returns nothing.
#[test]
fn a_failed_compression_sends_the_chain_uncompressed() {
    for says_nothing in [false, true] {
        let setup = Setup {
            client: Some(Kind::X509),
            ..Setup::new(Provider::AwsLc)
        };
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
        let mut client = this::client(this::client_config(setup));
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
    // and compressed thoroughly once, when that pays off
    assert_eq!(compressions(CompressionCache::new(1), 120), (1, 1));
    assert_eq!(compressions(CompressionCache::new(0), 5), (5, 0));
    assert_eq!(compressions(CompressionCache::Disabled, 5), (5, 0));
}

/// The OCSP response, certificate and algorithm determine the message, and so the cache entry.
#[test]
fn another_message_is_another_entry() {
    let setup = Setup::new(Provider::AwsLc);
    let (brotli, zlib) = (
        Counting::new(BROTLI_COMPRESSOR),
        Counting::new(ZLIB_COMPRESSOR),
    );
    let cache = Arc::new(CompressionCache::new(3));
    let identity = &setup.key_type.identities().server;
    let connect = |ocsp: &[u8], compressor: &'static Counting<dyn CertCompressor>, raw: bool| {
        let setup = Setup {
            server: if raw { Kind::Raw } else { Kind::X509 },
            ..setup
        };
        let mut server = this::server_config(setup);
        if !raw {
            let mut key = rustls::sign::CertifiedKey::from_der(
                identity.chain.clone(),
                identity.key(),
                &Provider::AwsLc.this(),
            )
            .unwrap();
            key.ocsp = (!ocsp.is_empty()).then(|| ocsp.to_vec());
            server.cert_resolver = Arc::new(rustls::sign::SingleCertAndKey::from(key));
        }
        server.cert_compressors = vec![compressor];
        server.cert_compression_cache = cache.clone();
        let mut client = this::client(this::client_config(setup));
        exchange(&mut client, &mut this::server(server)).unwrap();
        let is_raw = client.peer_certificates()[0] != identity.chain[0].to_vec();
        assert_eq!(is_raw, raw);
        (brotli.count(), zlib.count())
    };
    assert_eq!(connect(b"", brotli, false), (1, 0));
    assert_eq!(connect(b"response", brotli, false), (2, 0));
    assert_eq!(connect(b"", zlib, false), (2, 1));
    // all three are cached
    assert_eq!(connect(b"", brotli, false), (2, 1));
    assert_eq!(connect(b"", zlib, false), (2, 1));
    assert_eq!(connect(b"response", brotli, false), (2, 1));
    // a fourth evicts the least recently used, which is the first
    assert_eq!(connect(b"", brotli, true), (3, 1));
    assert_eq!(connect(b"", zlib, false), (3, 1));
    assert_eq!(connect(b"response", brotli, false), (3, 1));
    assert_eq!(connect(b"", brotli, false), (4, 1));
}
