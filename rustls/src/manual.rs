// The chapters are Markdown files in `rustls/manual`, which code hosts render too. Each chapter
// ends with the link targets for that. In rustdoc, `links.md` precedes each chapter with other
// targets: if a link is defined twice, Markdown takes the first definition. Below each chapter,
// rustdoc also links to the items that it names.
#![doc = include_str!("manual/links.md")]
#![doc = include_str!("../manual/README.md")]

macro_rules! chapters {
    ($($name:ident: $items:literal,)*) => {$(
        #[doc = include_str!("manual/links.md")]
        #[doc = include_str!(concat!("../manual/", stringify!($name), ".md"))]
        #[doc = $items]
        pub mod $name {}
    )*};
}

// its program is tested in `tokio`
#[doc = include_str!("manual/links.md")]
#[cfg_attr(not(doctest), doc = include_str!("../manual/tokio_streams.md"))]
pub mod tokio_streams {}

chapters! {
    capacity: "\nAPI: [`RevocationList`].",
    certificates: "\n\
        API: [`PeerChains`], [`ClientConfig::verified_chains`], [`VerifiedChains::disabled`], \
        [`ServerCertVerifier::rules`], [`CommonState::peer_identity`].",
    choosing_an_api: "\n\
        API: [`Stream`], [`StreamOwned`], [`ClientConnection`], [`ServerConnection`], \
        [`ConnectionCommon::process_new_packets_into`], [`split`], [`unbuffered`], [`quic`], \
        [`UnbufferedConnectionCommon::process_tls_records`], [`ConnectionState`], \
        [`UnbufferedConnectionCommon::peek_record`], [`WriteTraffic::encrypt_to_vec`], \
        [`UnbufferedConnectionCommon::write_traffic`], [`Receiver::sender_wants_write`].",
    choosing_by_client_hello: "\n\
        API: [`ResolvesServerCert`], [`ResolvesServerCertUsingSni`], [`Acceptor`].",
    debugging: "",
    early_data: "\n\
        API: [`ClientConfig::enable_early_data`], [`ServerConfig::max_early_data_size`], \
        [`ServerConfig::session_storage`].",
    encrypted_client_hello: "\n\
        API: [`PeerIncompatible::ServerRejectedEncryptedClientHello`], [`EchConfig::for_retry`], \
        [`EchMode::Grease`].",
    features: "\n\
        API: [`TimeProvider`], [`ClientConfig::builder_with_provider`], \
        [`ClientConfig::require_ems`], [`ServerConfig::fips`].",
    idle_connections: "\n\
        API: [`ConnectionCommon::set_buffer_limit`], [`CommonState::is_handshaking`], \
        [`CommonState::wants_write`], [`Writer::room_left`].",
    in_place: "\n\
        API: [`ConnectionCommon::send_in_place`], [`ConnectionCommon::encrypt_in_place`], \
        [`WriteTraffic::encrypt_in_place`], [`Sender::encrypt_in_place`], \
        [`ReadTraffic::next_record`], [`Reader::into_first_chunk`], [`Receiver::open_in_place`], \
        [`ConnectionCommon::process_new_packets_into`], [`Reader::write_to`], [`relay::forward`], \
        [`Writer::write_received`], [`Writer::read_from`], [`AppDataRecord::payload_range`].",
    kernel_tls: "\n\
        API: [`UnbufferedClientConnection::dangerous_into_kernel_connection`], \
        [`KernelConnection`], [`KernelConnection::handle_new_session_ticket`], \
        [`KernelConnection::update_rx_secret`], [`KernelConnection::update_tx_secret`], \
        [`CipherSuiteCommon::confidentiality_limit`].",
    moving_from_0_23: "\nAPI: [`ClientCertVerifier::rules`].",
    observers: "\nAPI: [`Observer`], [`CommonState::set_observer_context`].",
    operations: "\n\
        API: [`Signer`], [`ServerCertVerifier`], [`ClientCertVerifier`], [`ResolvesServerCert`], \
        [`ResolvesClientCert`], [`StoresServerSessions`], [`ProducesTickets`], [`Offload`], \
        [`CommonState::set_async`], [`IoState::is_waiting`], \
        [`ConnectionCommon::poll_operation`], [`ConnectionState::WaitingForOperation`], \
        [`UnbufferedConnectionCommon::poll_operation`], [`CommonState::is_waiting`], \
        [`quic::ConnectionCommon::poll_operation`].",
    sessions: "\n\
        API: [`ServerConfig::session_storage`], [`ServerConfig::ticketer`], [`Ticketer`], \
        [`ServerConfig::send_tls13_tickets`], [`ClientConfig::resumption`], \
        [`Ticketer::for_fleet`], [`StoresServerSessions`], [`CommonState::handshake_kind`].",
    throughput: "\n\
        API: [`ConnectionCommon::read_tls_for`], [`ConnectionCommon::process_new_packets_into`], \
        [`CryptoProvider::cipher_suites`], [`ServerConfig::ignore_client_order`], \
        [`ClientConnection::into_split`], [`Ticketer::for_fleet`].",
    when_not_to_use: "\nAPI: [`ClientCertVerifier::rules`].",
    writing_a_provider: "\nAPI: [`CryptoProvider`], [`crypto::blocks`], [`MessageEncrypter`].",
}
