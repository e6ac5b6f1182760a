//! State that only server connections have.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::DnsName;

use crate::handshake::Context;

/// State of a server connection.
#[derive(Debug, Default)]
pub struct ServerConnectionData {
    /// The server name that the client requested.
    pub(crate) server_name: Option<DnsName<'static>>,
    /// The application's own data in sessions. Boxed because few connections have any.
    resumption_data: Option<Box<ResumptionData>>,
    /// True if a session is resumed, with or without application data.
    is_resumed: bool,
    pub(crate) early_data: EarlyDataDecision,
}

#[derive(Debug, Default)]
struct ResumptionData {
    /// The application's own data to store in this connection's sessions.
    to_send: Vec<u8>,
    /// The application's own data from the resumed session.
    received: Vec<u8>,
}

/// The server's decision about the client's early data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EarlyDataDecision {
    /// Early data has not been accepted, and the application has not rejected it.
    #[default]
    Undecided,
    /// The server has accepted early data.
    Accepted,
    /// The application has rejected early data.
    Rejected,
}

impl ServerConnectionData {
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server_name.as_ref().map(AsRef::as_ref)
    }

    /// Returns the application's own data to store in this connection's sessions.
    pub(crate) fn resumption_data(&self) -> &[u8] {
        match &self.resumption_data {
            Some(data) => &data.to_send,
            None => &[],
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn set_resumption_data(&mut self, data: &[u8]) {
        self.resumption_data.get_or_insert_default().to_send = data.into();
    }

    /// Returns the application's own data from the resumed session.
    #[cfg(feature = "std")]
    pub(crate) fn received_resumption_data(&self) -> Option<&[u8]> {
        let received = || Some(&self.resumption_data.as_ref()?.received[..]);
        self.is_resumed.then(|| received().unwrap_or_default())
    }

    pub(crate) fn set_received_resumption_data(&mut self, data: Vec<u8>) {
        self.is_resumed = true;
        if !data.is_empty() {
            self.resumption_data.get_or_insert_default().received = data;
        }
    }
}

/// The parts of a server's connection that its handlers may access.
pub(crate) type ServerContext<'a> = Context<'a, ServerConnectionData>;

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_session_without_data_differs_from_no_session() {
        let mut data = ServerConnectionData::default();
        data.set_resumption_data(b"sent");
        assert_eq!(data.received_resumption_data(), None);
        data.set_received_resumption_data(Vec::new());
        assert_eq!(data.received_resumption_data(), Some(&[][..]));
        data.set_received_resumption_data(b"received".to_vec());
        assert_eq!(data.received_resumption_data(), Some(&b"received"[..]));
        assert_eq!(data.resumption_data(), b"sent");
    }
}
