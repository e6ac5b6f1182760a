//! What holds for every message: it comes back as it was sent, and never panics when it is cut.

use super::*;

#[test]
fn a_message_ends_where_its_header_says() {
    let read = |bytes: &[u8]| HandshakeMessage::read(bytes).map(|message| message.typ);
    assert_eq!(read(&[20, 0, 0, 1, 9]), Ok(HandshakeType::Finished));
    assert_eq!(
        read(&[20, 0, 0, 2, 9]),
        Err(InvalidMessage::MessageTooShort)
    );
    assert_eq!(
        read(&[20, 0, 0, 1, 9, 9]),
        Err(InvalidMessage::TrailingData("HandshakeMessage"))
    );
}
