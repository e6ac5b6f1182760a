//! Certificates for the tests, those that tests from outside have.

pub(crate) use harness::pki::*;
