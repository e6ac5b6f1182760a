//! Tests of the two halves of a connection: how its state is divided, what each half hands over to
//! the other, and their use on separate threads.

mod closing;
mod failing;
mod handed_over;
mod in_place;
pub(crate) mod kit;
mod opening_into;
mod splitting;
mod threads;
