use super::*;

#[test]
fn genuine_messages_are_accepted() {
    for conversation in conversations() {
        for side in ROLES {
            for (position, message) in conversation.messages(side).iter().enumerate() {
                let (message, rest) = (message.clone(), position + 1);
                let trial = Trial::new(conversation, side, position, message, rest);
                for (receiver, piece_len) in
                    [(Receiver::Buffered, 7), (Receiver::Unbuffered, usize::MAX)]
                {
                    let outcome = trial.outcome(receiver, piece_len);
                    assert_eq!(outcome.error, None);
                    assert!(outcome.peer_has_closed && !outcome.is_handshaking);
                    trial.check_accepted(&outcome);
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "completed without Finished")]
fn completion_without_finished_is_detected() {
    let conversation = &conversations()[0];
    let next = &conversation.messages(Role::Server)[0];
    let message = framed(Kind::Message(FINISHED), next, &[]);
    let trial = Trial::new(conversation, Role::Server, 0, message, usize::MAX);
    let mut outcome = trial.outcome(Receiver::Buffered, 1);
    outcome.is_handshaking = false;
    trial.check_accepted(&outcome);
}
