//! Applications' wrappers around reloading verifiers.

use harness::verifiers::hooked::{Hook, Hooked};

use crate::kit::{Authority, Dir, setups};
use crate::trust::{connect, of_clients, of_servers, refused, roots};

/// Does nothing, so that the wrapper only forwards the methods of rustls 0.23.
#[derive(Debug)]
struct Nothing;

impl Hook for Nothing {
    fn called(&self, _: &'static str) -> bool {
        false
    }
}

/// A client refuses a wrapper around a reloading verifier, because its sessions could not be told
/// apart. Wrapping each inner verifier works.
#[test]
fn a_client_refuses_a_wrapper_around_a_reloading_verifier() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Dir::new();
        let server = setup.server_of(&identity);
        let inner = of_servers(&dir, setup.provider, &[&a]).build().unwrap();
        let outer = Hooked::new(inner, Nothing);
        let client = setup.client_config(outer, identity.certified(setup.provider));
        refused(setup, &client, &server, "current_verifier");

        let verifier = of_servers(&dir, setup.provider, &[&a])
            .wrapped_in(|inner| Hooked::new(inner, Nothing))
            .build()
            .unwrap();
        let client = setup.client_config(verifier.clone(), identity.certified(setup.provider));
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        roots(&dir, &[&a, &b]);
        verifier.reload().unwrap();
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
    }
}

/// A server's wrapper always uses the active verifier.
#[test]
fn a_server_s_wrapper_follows_reloads() {
    let (a, b) = (Authority::new("a"), Authority::new("b"));
    let identity = a.issue();
    for setup in setups() {
        let dir = Dir::new();
        let inner = of_clients(&dir, setup.provider, &[&a]).build().unwrap();
        let outer = Hooked::new(inner.clone(), Nothing);
        let server = setup.server_config(outer, a.issue().certified(setup.provider));
        let client = setup.client_of(&a, &identity);
        assert_eq!(connect(setup, &client, &server), Ok(false), "{setup:?}");
        assert_eq!(connect(setup, &client, &server), Ok(true), "{setup:?}");
        roots(&dir, &[&b]);
        inner.reload().unwrap();
        refused(setup, &client, &server, "UnknownIssuer");
    }
}
