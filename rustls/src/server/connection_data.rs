//! State that only connections of servers have.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::DnsName;

/// State of a server's connection.
#[derive(Debug, Default)]
pub struct ServerConnectionData {
    /// The name that the client asked for.
    pub(crate) server_name: Option<DnsName<'static>>,
    /// What the application has sessions say; few connections have any.
    resumption_data: Option<Box<ResumptionData>>,
    pub(crate) early_data: EarlyData,
}

#[derive(Debug, Default)]
struct ResumptionData {
    /// For the sessions of this connection.
    to_send: Vec<u8>,
    /// Of the resumed session.
    received: Option<Vec<u8>>,
}

/// What becomes of the client's early data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EarlyData {
    /// None was offered and accepted yet.
    #[default]
    Undecided,
    /// The client was told that it is accepted.
    Accepted,
    /// The application wants none.
    Rejected,
}

impl ServerConnectionData {
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server_name.as_ref().map(AsRef::as_ref)
    }

    /// What the sessions of this connection are to say.
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

    /// What the resumed session says.
    #[cfg(feature = "std")]
    pub(crate) fn received_resumption_data(&self) -> Option<&[u8]> {
        self.resumption_data.as_ref()?.received.as_deref()
    }

    pub(crate) fn set_received_resumption_data(&mut self, data: &[u8]) {
        self.resumption_data.get_or_insert_default().received = Some(data.into());
    }
}
