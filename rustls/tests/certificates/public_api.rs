//! Names of certificate compression and raw public keys match upstream's: one text compiles against
//! both crates.

#![allow(dead_code, reason = "compiled, not run")]

use std::fmt::Debug;
use std::sync::Arc;

macro_rules! public_api_of {
    ($name:ident, $tls:ident) => {
        mod $name {
            use $tls::CertificateCompressionAlgorithm;
            use $tls::client::{AlwaysResolvesClientRawPublicKeys, ClientConfig};
            use $tls::compress::*;
            use $tls::server::{AlwaysResolvesServerRawPublicKeys, ServerConfig};
            use $tls::sign::CertifiedKey;

            use super::*;

            fn plain<T: Debug + Send + Sync>() {}

            fn types() {
                plain::<CompressionCache>();
                plain::<CompressionCacheInner>();
                plain::<CompressionFailed>();
                plain::<CompressionLevel>();
                plain::<DecompressionFailed>();
                plain::<AlwaysResolvesClientRawPublicKeys>();
                plain::<AlwaysResolvesServerRawPublicKeys>();
                fn copied<T: Copy + Eq>() {}
                copied::<CompressionLevel>();
                fn cloned<T: Clone>() {}
                cloned::<AlwaysResolvesClientRawPublicKeys>();
                cloned::<AlwaysResolvesServerRawPublicKeys>();
            }

            const COMPRESSORS: [&dyn CertCompressor; 2] = [BROTLI_COMPRESSOR, ZLIB_COMPRESSOR];
            const DECOMPRESSORS: [&dyn CertDecompressor; 2] =
                [BROTLI_DECOMPRESSOR, ZLIB_DECOMPRESSOR];

            #[derive(Debug)]
            struct Everything;

            impl CertCompressor for Everything {
                fn compress(
                    &self,
                    input: Vec<u8>,
                    level: CompressionLevel,
                ) -> Result<Vec<u8>, CompressionFailed> {
                    match level {
                        CompressionLevel::Interactive => Ok(input),
                        CompressionLevel::Amortized => Err(CompressionFailed),
                    }
                }

                fn algorithm(&self) -> CertificateCompressionAlgorithm {
                    CertificateCompressionAlgorithm::Zstd
                }
            }

            impl CertDecompressor for Everything {
                fn decompress(&self, _: &[u8], _: &mut [u8]) -> Result<(), DecompressionFailed> {
                    Err(DecompressionFailed)
                }

                fn algorithm(&self) -> CertificateCompressionAlgorithm {
                    CertificateCompressionAlgorithm::Zstd
                }
            }

            fn configurations(
                client: &mut ClientConfig,
                server: &mut ServerConfig,
                key: Arc<CertifiedKey>,
            ) -> bool {
                client.cert_compressors = default_cert_compressors().to_vec();
                client.cert_compressors.push(&Everything);
                client.cert_decompressors = default_cert_decompressors().to_vec();
                client.cert_decompressors.push(&Everything);
                client.cert_compression_cache = Arc::new(CompressionCache::default());
                server.cert_compressors = client.cert_compressors.clone();
                server.cert_decompressors = client.cert_decompressors.clone();
                server.cert_compression_cache = Arc::new(CompressionCache::new(10));
                client.client_auth_cert_resolver =
                    Arc::new(AlwaysResolvesClientRawPublicKeys::new(key.clone()));
                server.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
                match &*server.cert_compression_cache {
                    CompressionCache::Disabled => false,
                    CompressionCache::Enabled(CompressionCacheInner { .. }) => true,
                }
            }
        }
    };
}

public_api_of!(this, rustls);
public_api_of!(upstream, rustls_upstream);
