//! The test certificates, shared with the integration tests.

pub(crate) use harness::peers::pki::*;
