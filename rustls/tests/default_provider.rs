//! Tests the process-wide default crypto provider. This program has a single test because the
//! default belongs to the process.

#![cfg(all(feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]

use std::any::Any;
use std::panic::catch_unwind;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, Error, ServerConfig};

#[test]
fn the_default_provider_follows_the_features_or_is_installed() {
    assert!(CryptoProvider::get_default().is_none());

    if cfg!(feature = "custom-provider") {
        let theirs = catch_unwind(|| drop(rustls_upstream::ClientConfig::builder())).unwrap_err();
        let theirs = text(&*theirs);
        for panic in [
            catch_unwind(|| drop(ClientConfig::builder())).unwrap_err(),
            catch_unwind(|| drop(ServerConfig::builder())).unwrap_err(),
            catch_unwind(|| drop(WebPkiServerVerifier::builder(roots()))).unwrap_err(),
        ] {
            assert_eq!(text(&*panic), theirs);
        }
        let expected = Error::General(theirs.trim().to_owned());
        assert_eq!(ClientConfig::try_builder().unwrap_err(), expected);
        assert_eq!(ServerConfig::try_builder().unwrap_err(), expected);
        assert!(CryptoProvider::get_default().is_none());
        provider().install_default().unwrap();
    }

    assert!(ClientConfig::try_builder().is_ok());
    assert!(ServerConfig::try_builder().is_ok());
    let from_builder = ClientConfig::builder().crypto_provider().clone();
    let default = CryptoProvider::get_default().unwrap();
    assert!(Arc::ptr_eq(&from_builder, default));
    // 0.23 panics if two libraries are enabled
    assert_eq!(format!("{default:?}"), format!("{:?}", provider()));
    assert!(Arc::ptr_eq(
        ServerConfig::builder().crypto_provider(),
        default
    ));
    assert!(WebPkiServerVerifier::builder(roots()).build().is_err());

    // a provider can be installed only once
    let refused = provider().install_default().unwrap_err();
    assert!(!Arc::ptr_eq(&refused, default));
    assert!(Arc::ptr_eq(CryptoProvider::get_default().unwrap(), default));
}

/// Returns the text of a panic.
fn text(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    let formatted = panic.downcast_ref::<String>().map(String::as_str);
    literal.or(formatted).unwrap()
}

fn roots() -> Arc<rustls::RootCertStore> {
    Arc::new(rustls::RootCertStore::empty())
}

/// Returns the provider that the enabled libraries select.
fn provider() -> CryptoProvider {
    #[cfg(all(feature = "aws_lc_rs", feature = "ring"))]
    return rustls::crypto::fastest::default_provider();
    #[cfg(not(feature = "ring"))]
    return rustls::crypto::aws_lc_rs::default_provider();
    #[cfg(not(feature = "aws_lc_rs"))]
    return rustls::crypto::ring::default_provider();
}
