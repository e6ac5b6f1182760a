//! The two halves of a connection: what goes where when it is split, what each half hands over to
//! the other, and both at work on threads of their own.

mod closing;
mod failing;
mod handed_over;
mod in_place;
mod kit;
mod splitting;
mod threads;
