//! State that only connections of clients have.

/// State of a client's connection.
#[derive(Debug, Default)]
pub struct ClientConnectionData {
    /// How many session tickets the server has sent.
    pub(crate) tickets_received: u32,
    /// The server has accepted early data.
    pub(crate) early_data_accepted: bool,
}
