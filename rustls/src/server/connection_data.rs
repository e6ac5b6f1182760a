//! State that only connections of servers have.

use pki_types::DnsName;

/// State of a server's connection.
#[derive(Debug, Default)]
pub struct ServerConnectionData {
    /// The name that the client asked for.
    pub(crate) server_name: Option<DnsName<'static>>,
}

impl ServerConnectionData {
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server_name.as_ref().map(AsRef::as_ref)
    }
}
