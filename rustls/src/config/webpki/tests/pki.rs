//! The test certificates, shared with the integration tests.

pub(crate) use harness::pki::*;
