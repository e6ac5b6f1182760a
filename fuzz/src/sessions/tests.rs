use super::*;

#[test]
fn genuine_sessions_are_resumed() {
    for scene in scenes() {
        assert_eq!(answer(scene, &scene.session), Answer::Resumed);
        resumption(scene, &scene.value);
    }
}
