//! The memory of record buffers, and each thread's pool of unused buffers.
//!
//! A connection needs a buffer only for received records, unread plaintext and unsent output, and a
//! thread works on few connections at a time. So a few buffers can serve many connections, stay in
//! the cache, and are cheap to take and return. Without feature `std` there is no thread-local
//! storage for a pool, so each buffer is allocated and freed.
//!
//! A pool keeps at most [`BUDGET`] bytes, and a few buffers of each length. Beyond the budget, it
//! frees the least recently used buffers. Buffers beyond the number for their length are freed.
//!
//! Buffers are zeroed when they are allocated. Afterwards they may hold bytes of the connections
//! that used them. The pool remembers the last of these connections, which gets its buffers back
//! unchanged. Another connection gets them with those bytes marked as stale. [`Memory::expose`]
//! clears stale bytes before the connection's transport or cipher can see them.

use alloc::alloc::handle_alloc_error;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ops::{Deref, DerefMut};

use super::{HEADER_LEN, MAX_TLS13_PAYLOAD_LEN};
use crate::copy::copy;

#[cfg(all(test, feature = "std"))]
mod tests;

/// The room for a TLS 1.3 record of maximum length and the next header. Records of this library's
/// TLS 1.2 suites are no longer than that.
pub(super) const RECORD_LEN: usize = 2 * HEADER_LEN + MAX_TLS13_PAYLOAD_LEN;

/// The lengths of pooled buffers: from a few short records to 64 KiB of application data with
/// record overhead. Longer buffers are not pooled.
const LENS: [usize; 9] = [
    1 << 8,
    1 << 10,
    1 << 11,
    1 << 12,
    1 << 13,
    12 * 1024,
    RECORD_LEN,
    2 * RECORD_LEN,
    MAX_POOLED_LEN,
];

/// The maximum length of a pooled buffer.
pub(super) const MAX_POOLED_LEN: usize = 72 * 1024;

/// The maximum number of bytes in a thread's pool.
#[cfg(feature = "std")]
const BUDGET: usize = 160 * 1024;

/// The identity of a connection, by which the pool recognises its buffers. All buffers of one
/// connection have the same owner.
///
/// The default identifies no connection: each of its buffers counts as another connection's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    #[cfg(feature = "std")]
    id: u64,
}

impl Owner {
    /// Creates an owner that is unique in the process. Without `std` there is no pool, and all
    /// owners are the same.
    pub fn new() -> Self {
        Self {
            #[cfg(feature = "std")]
            id: threads::next_id(),
        }
    }
}

/// The error returned if a buffer's memory cannot be allocated, or would be too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// A buffer, with the ranges that may hold bytes of its current and of former owners.
///
/// ```text
///   0               exposed          stale            len
///   │ own bytes     │ others' bytes  │ zeros          │
/// ```
#[derive(Default)]
pub(super) struct Memory {
    bytes: Box<[u8]>,
    exposed: u32,
    stale: u32,
}

impl Memory {
    /// Allocates `len` zeros. The pool keeps them later only if it has buffers of this length.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfMemory`] if memory runs out.
    fn new(len: usize) -> Result<Self, OutOfMemory> {
        #[cfg(test)]
        limit::count(len)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| OutOfMemory)?;
        bytes.resize(len, 0);
        Ok(Self::from(bytes))
    }

    /// Clears stale bytes among the first `end`. Call this before anything outside the record layer
    /// gets those bytes.
    #[inline]
    pub(super) fn expose(&mut self, end: usize) {
        if end > self.exposed as usize {
            self.clear_stale(end);
        }
    }

    #[cold]
    fn clear_stale(&mut self, end: usize) {
        let exposed = self.exposed as usize;
        let stale = Ord::min(self.stale as usize, end);
        if exposed < stale {
            self.bytes[exposed..stale].fill(0);
        }
        self.exposed = u32::try_from(end).unwrap_or(u32::MAX);
    }

    /// Copies `bytes` to `at`, directly after the bytes in use.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        self.expose(at);
        copy(bytes, &mut self.bytes[at..end]);
        let exposed = u32::try_from(end).unwrap_or(u32::MAX);
        self.exposed = Ord::max(self.exposed, exposed);
    }

    /// Marks all bytes that the previous owner may have left as stale.
    #[cfg(feature = "std")]
    fn change_owner(&mut self) {
        self.stale = Ord::max(self.stale, self.exposed);
        self.exposed = 0;
    }
}

impl From<Vec<u8>> for Memory {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into_boxed_slice(),
            exposed: 0,
            stale: 0,
        }
    }
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Returns a buffer of [`fitting_len`] bytes. If memory runs out, usually aborts the process, as
/// other allocations do.
pub(super) fn take(len: usize, owner: Owner) -> Memory {
    try_take(len, owner).unwrap_or_else(|_| abort(len))
}

/// Handles a failure to allocate `len` bytes as other allocations do: usually aborts the process.
#[cold]
pub(super) fn abort(len: usize) -> ! {
    let bytes = Layout::array::<u8>(len).unwrap_or(Layout::new::<usize>());
    handle_alloc_error(bytes)
}

/// Like [`take`], but returns an error if memory runs out.
///
/// # Errors
///
/// Returns [`OutOfMemory`] if memory runs out.
#[inline]
pub(super) fn try_take(len: usize, owner: Owner) -> Result<Memory, OutOfMemory> {
    #[cfg(feature = "std")]
    if let Some(memory) = threads::take_newest(len, owner) {
        return Ok(memory);
    }
    try_take_other(len, owner)
}

/// Implements the slow path of [`try_take`]: takes another pooled buffer of the right length, or
/// allocates one.
#[cold]
fn try_take_other(len: usize, owner: Owner) -> Result<Memory, OutOfMemory> {
    #[cfg(feature = "std")]
    if let Some(memory) = threads::take_other(len, owner) {
        return Ok(memory);
    }
    #[cfg(not(feature = "std"))]
    let _ = owner;
    Memory::new(fitting_len(len))
}

/// Like [`try_take`], but allocates about `len` bytes if only the longest pooled length fits, and
/// would be much too long.
///
/// # Errors
///
/// Returns [`OutOfMemory`] if memory runs out.
pub(super) fn try_take_close(len: usize, owner: Owner) -> Result<Memory, OutOfMemory> {
    if fitting_len(len) == MAX_POOLED_LEN && len < MAX_POOLED_LEN / 5 * 4 {
        // longer than half the maximum, so that `put_back` recognises it
        Memory::new(Ord::max(len, MAX_POOLED_LEN / 2 + 1))
    } else {
        try_take(len, owner)
    }
}

/// Returns a buffer to the pool, which may free it.
#[inline]
pub(super) fn put_back(memory: Memory, owner: Owner) {
    #[cfg(feature = "std")]
    threads::put_back(memory, owner);
    #[cfg(not(feature = "std"))]
    let _ = (memory, owner);
}

/// Returns the length of the buffer that [`take`] returns for `len` bytes: the shortest of [`LENS`]
/// that fits, or `len`.
#[inline]
pub(super) fn fitting_len(len: usize) -> usize {
    class(len).map_or(len, |class| LENS[class])
}

/// Returns the index of the shortest of [`LENS`] that fits `len` bytes.
#[inline]
fn class(len: usize) -> Option<usize> {
    // most data is in records of maximum length
    const RECORD: usize = 6;
    if len > LENS[RECORD - 1] && len <= LENS[RECORD] {
        return Some(RECORD);
    }
    LENS.into_iter().position(|class| class >= len)
}

#[cfg(feature = "std")]
mod threads {
    use core::cell::{Cell, RefCell};
    use core::mem::ManuallyDrop;

    use super::{BUDGET, LENS, MAX_POOLED_LEN, Memory, Owner, class, fitting_len};

    /// The owner of pooled buffers that belong to no connection. It is not equal to any [`Owner`].
    const NOBODY: u64 = u64::MAX;

    #[cfg(target_has_atomic = "64")]
    pub(super) fn next_id() -> u64 {
        use core::sync::atomic::{AtomicU64, Ordering};

        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[cfg(not(target_has_atomic = "64"))]
    pub(super) fn next_id() -> u64 {
        use std::sync::{Mutex, PoisonError};

        static LAST: Mutex<u64> = Mutex::new(0);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        *last
    }

    /// The maximum number of buffers of each length in a pool, not counting the newest: enough for
    /// both directions of a connection, and of a second connection to which data is forwarded, but
    /// fewer for buffers longer than a record.
    const SLOTS: [usize; LENS.len()] = [4, 4, 4, 4, 4, 4, 4, 2, 1];

    /// The largest of [`SLOTS`].
    const MOST_SLOTS: usize = 4;

    /// A buffer, with its last owner and the [`Others::clock`] when it was added.
    struct Slot {
        memory: Option<Memory>,
        owner: u64,
        given: u32,
    }

    /// Buffers of one length, the least recently used first.
    struct Stack {
        slots: [Slot; MOST_SLOTS],
        used: usize,
    }

    impl Stack {
        const EMPTY: Self = Self {
            slots: [const {
                Slot {
                    memory: None,
                    owner: NOBODY,
                    given: 0,
                }
            }; MOST_SLOTS],
            used: 0,
        };

        /// Removes the buffer at `index`.
        fn remove(&mut self, index: usize) -> Option<Memory> {
            let memory = self.slots[index].memory.take();
            self.used -= 1;
            if index != self.used {
                self.slots[index..=self.used].rotate_left(1);
            }
            memory
        }
    }

    /// Usually the buffer that was returned last, which is most likely still in the cache.
    ///
    /// On common platforms it has no destructor, because access to a thread-local that has one
    /// first checks whether the destructor is registered. [`Others`] has a destructor, which frees
    /// this buffer too.
    struct Newest {
        memory: Cell<ManuallyDrop<Option<Memory>>>,
        /// The length of `memory`; zero if there is none.
        len: Cell<usize>,
        owner: Cell<u64>,
        /// The total length of the buffers in [`Others`], or [`WITHOUT_OTHERS`] while they do not
        /// exist: before the thread's first buffer, and while its thread-local variables are being
        /// destroyed.
        held: Cell<usize>,
    }

    /// The value of [`Newest::held`] while [`Others`] do not exist. It exceeds the budget, so
    /// [`put_back`] takes its slow path, which creates them unless the thread is ending.
    const WITHOUT_OTHERS: usize = usize::MAX / 2;

    impl Newest {
        #[inline]
        fn take(&self) -> Option<Memory> {
            self.len.set(0);
            ManuallyDrop::into_inner(self.memory.replace(ManuallyDrop::new(None)))
        }

        /// Makes `memory` the newest buffer. The slot must be empty.
        #[inline]
        fn set(&self, memory: Memory, owner: u64) {
            self.len.set(memory.len());
            self.owner.set(owner);
            self.memory.set(ManuallyDrop::new(Some(memory)));
        }
    }

    // On the platforms listed here, thread-locals without a destructor outlive those with one, so
    // `Others` can free the newest buffer. On other platforms the order varies.
    #[cfg(not(any(
        all(target_os = "linux", any(target_env = "gnu", target_env = "musl")),
        all(target_os = "windows", target_env = "msvc", target_vendor = "pc"),
        target_os = "freebsd",
        target_vendor = "apple",
    )))]
    impl Drop for Newest {
        fn drop(&mut self) {
            drop(self.take());
        }
    }

    /// The buffers of a thread's pool, apart from the newest.
    struct Others {
        stacks: [Stack; LENS.len()],
        /// True if a second buffer of this length was allocated although another owner's buffer was
        /// free.
        has_second: [bool; LENS.len()],
        /// The number of buffers added so far: the clock for finding the least recently used one.
        clock: u32,
    }

    impl Others {
        /// Moves the newest buffer to the others (see [`Self::keep`]), and then takes one of length
        /// `LENS[class]`: one of `owner` if possible, or one of another connection. Returns `None`
        /// if there is none, or if a second one should be allocated for `owner`.
        fn take(&mut self, newest: &Newest, class: usize, owner: u64) -> Option<Memory> {
            if let Some(memory) = newest.take() {
                self.keep(newest, memory, newest.owner.get(), 0);
            }
            let stack = &mut self.stacks[class];
            let own = |slot: &Slot| slot.owner == owner;
            let (index, is_own) = match stack.slots[..stack.used].iter().rposition(own) {
                Some(index) => (index, true),
                None if stack.used == 0 => return None,
                None => (0, false),
            };
            // give each of two alternating connections its own buffer
            let may_have_second = newest.held.get() + LENS[class] <= BUDGET;
            if !is_own && stack.used == 1 && may_have_second && !self.has_second[class] {
                self.has_second[class] = true;
                return None;
            }
            newest.held.set(newest.held.get() - LENS[class]);
            let mut memory = stack.remove(index)?;
            if !is_own {
                memory.change_owner();
            }
            Some(memory)
        }

        /// Makes `memory` the newest, and moves the previous newest to the others, where it may be
        /// freed (see [`Self::keep`]). If both have the same length and there are enough others of
        /// that length, frees `memory` instead. Buffers allocated in a burst are then freed from
        /// last to first, so that the allocator can return their memory to the system.
        fn put_back(&mut self, newest: &Newest, memory: Memory, owner: u64) {
            let len = memory.len();
            let Some(older) = newest.take() else {
                self.free_until(newest, BUDGET - len);
                return newest.set(memory, owner);
            };
            let is_full = |class: usize| self.stacks[class].used == SLOTS[class];
            if older.len() == len && class(len).is_some_and(is_full) {
                newest.set(older, newest.owner.get());
            } else {
                self.keep(newest, older, newest.owner.get(), len);
                // `keep` makes room only if it keeps the older buffer
                self.free_until(newest, BUDGET - len);
                newest.set(memory, owner);
            }
        }

        /// Adds `memory`, or frees it if there are enough of its length or it exceeds the budget.
        /// Before adding it, frees the least recently used buffers until all of them fit into
        /// [`BUDGET`] together with the newest, which has `beside` bytes.
        // inlining halves the time, because the arguments stay in registers
        #[inline(always)]
        fn keep(&mut self, newest: &Newest, memory: Memory, owner: u64, beside: usize) {
            let (len, budget) = (memory.len(), BUDGET - beside);
            let Some(class) = class(len).filter(|_| len <= budget) else {
                return;
            };
            // frees them from last to first, as in `put_back`
            if self.stacks[class].used == SLOTS[class] {
                return;
            }
            self.free_until(newest, budget - len);
            newest.held.set(newest.held.get() + len);
            self.clock = self.clock.wrapping_add(1);
            let stack = &mut self.stacks[class];
            stack.slots[stack.used] = Slot {
                memory: Some(memory),
                owner,
                given: self.clock,
            };
            stack.used += 1;
        }

        /// Frees the least recently used buffers until at most `most` bytes are left.
        #[inline]
        fn free_until(&mut self, newest: &Newest, most: usize) {
            if newest.held.get() > most {
                self.free_down_to(newest, most);
            }
        }

        #[cold]
        fn free_down_to(&mut self, newest: &Newest, most: usize) {
            while newest.held.get() > most {
                let now = self.clock;
                let oldest = (0..LENS.len())
                    .filter(|class| self.stacks[*class].used != 0)
                    .max_by_key(|class| now.wrapping_sub(self.stacks[*class].slots[0].given));
                let Some(oldest) = oldest else { return };
                self.free_oldest(newest, oldest);
            }
        }

        #[cold]
        fn free_oldest(&mut self, newest: &Newest, class: usize) {
            newest.held.set(newest.held.get() - LENS[class]);
            self.has_second[class] = false;
            drop(self.stacks[class].remove(0));
        }
    }

    impl Drop for Others {
        fn drop(&mut self) {
            let _ = NEWEST.try_with(|newest| {
                newest.held.set(WITHOUT_OTHERS);
                drop(newest.take());
            });
        }
    }

    std::thread_local! {
        static NEWEST: Newest = const {
            Newest {
                memory: Cell::new(ManuallyDrop::new(None)),
                len: Cell::new(0),
                owner: Cell::new(NOBODY),
                held: Cell::new(WITHOUT_OTHERS),
            }
        };

        static OTHERS: RefCell<Others> = const {
            RefCell::new(Others {
                stacks: [const { Stack::EMPTY }; LENS.len()],
                has_second: [false; LENS.len()],
                clock: 0,
            })
        };
    }

    /// Calls `work` with the whole pool. Returns `None` while the thread's thread-local variables
    /// are being destroyed.
    fn with_pool<T>(work: impl FnOnce(&mut Others, &Newest) -> T) -> Option<T> {
        let result = OTHERS.try_with(|others| {
            NEWEST.try_with(|newest| {
                if newest.held.get() == WITHOUT_OTHERS {
                    newest.held.set(0);
                }
                work(&mut others.borrow_mut(), newest)
            })
        });
        result.ok()?.ok()
    }

    /// Returns the number of bytes in this thread's pool.
    #[cfg(test)]
    pub(super) fn pooled_len() -> usize {
        with_pool(|_, newest| newest.len.get() + newest.held.get()).unwrap_or(0)
    }

    /// Takes the newest buffer, if it was this owner's and has the right length for `len` bytes.
    #[inline]
    pub(super) fn take_newest(len: usize, owner: Owner) -> Option<Memory> {
        let newest = NEWEST.try_with(|newest| {
            if newest.len.get() == fitting_len(len) && newest.owner.get() == owner.id {
                newest.take()
            } else {
                None
            }
        });
        newest.ok()?
    }

    #[inline]
    pub(super) fn take_other(len: usize, owner: Owner) -> Option<Memory> {
        let class = class(len)?;
        with_pool(|others, newest| others.take(newest, class, owner.id))?
    }

    /// Returns `memory` to the pool, which may free it, or other buffers to make room for it.
    #[inline]
    pub(super) fn put_back(memory: Memory, owner: Owner) {
        let len = memory.len();
        // all shorter buffers are from the pool
        if len > MAX_POOLED_LEN / 2 && len != MAX_POOLED_LEN {
            return;
        }
        // the default owner must not find its own buffers
        let owner = if owner.id == 0 { NOBODY } else { owner.id };
        let has_room = |newest: &Newest| newest.len.get() == 0 && newest.held.get() + len <= BUDGET;
        if NEWEST.try_with(has_room) == Ok(true) {
            let _ = NEWEST.try_with(|newest| newest.set(memory, owner));
        } else {
            give_beside(memory, owner);
        }
    }

    /// Implements the slow path of [`put_back`], in which other buffers must be considered.
    #[cold]
    fn give_beside(memory: Memory, owner: u64) {
        with_pool(|others, newest| others.put_back(newest, memory, owner));
    }
}

/// Lets a test limit the memory that can be allocated.
#[cfg(test)]
pub(super) mod limit {
    use core::cell::Cell;

    use super::OutOfMemory;

    std::thread_local! {
        static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Lets the thread allocate `left` more bytes. [`usize::MAX`] means no limit.
    pub(crate) fn set(left: usize) {
        LEFT.set(left);
    }

    /// Returns the number of bytes that the thread may still allocate.
    pub(crate) fn left() -> usize {
        LEFT.get()
    }

    pub(super) fn count(len: usize) -> Result<(), OutOfMemory> {
        match LEFT.get() {
            usize::MAX => {}
            left => LEFT.set(left.checked_sub(len).ok_or(OutOfMemory)?),
        }
        Ok(())
    }
}
