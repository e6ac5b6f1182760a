use super::*;

fn accepted(client: Result<Option<AcceptedClient>, Stop>) -> Option<bool> {
    client.ok().map(|client| client.is_some())
}

/// Another pass may choose another session, whose client was not verified yet.
#[test]
fn an_answer_about_a_client_is_of_one_session() {
    let ready = || -> BoxFuture<_> { Box::pin(async { None }) };
    let pending = || -> BoxFuture<_> { Box::pin(core::future::pending()) };
    let at_once = || panic!("asked at once");
    let mut answers = Answers::new(Asking::MayWait);
    assert_eq!(accepted(answers.client(0, pending, at_once)), None);
    answers.add(Answer::Client(0, Some(AcceptedClient { acceptance: None })));
    assert_eq!(accepted(answers.client(0, ready, at_once)), Some(true));
    assert_eq!(accepted(answers.client(1, ready, at_once)), Some(false));
    assert_eq!(accepted(answers.client(1, pending, at_once)), None);
}

/// A session from a ticket must not pass for one from the storage, which allows early data.
#[test]
fn an_answer_about_a_session_is_of_one_lookup() {
    let pending = || -> Option<BoxFuture<_>> { Some(Box::pin(core::future::pending())) };
    let at_once = || panic!("asked at once");
    let lookups = [Lookup::Decrypt, Lookup::Get, Lookup::Take];
    for first in lookups {
        let mut answers = Answers::new(Asking::MayWait);
        let found = answers.session(0, first, pending, at_once);
        let Err(Stop::Waits(_)) = found else {
            panic!("it takes time");
        };
        answers.add(Answer::Session(first, Some(b"session".to_vec().into())));
        // another one, without waiting
        let found = answers.session(1, first, || None, || Some(b"another".to_vec().into()));
        assert!(found.is_ok_and(|found| found.is_some()));
        for lookup in lookups {
            for index in [0, 1] {
                let Ok(found) = answers.session(index, lookup, pending, at_once) else {
                    panic!("asked again");
                };
                assert_eq!(found.is_some(), lookup == first, "{first:?}, {lookup:?}");
            }
        }
    }
}

#[test]
fn each_pass_decides_at_the_same_time() {
    let at = |secs| {
        Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(
            secs,
        )))
    };
    let mut answers = Answers::new(Asking::MayWait);
    assert_eq!(answers.now(|| at(1)), at(1));
    assert_eq!(answers.now(|| at(2)), at(1));
}
