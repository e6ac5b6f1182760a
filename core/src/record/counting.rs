//! Counts the records of one direction. The sender and the receiver match on their protection for
//! each record anyway, so counting is one more kind of protection, around the real one. It costs
//! nothing while no records are counted.

/// Implements counting for `$owner`, a sender or a receiver. Its field `protection` has the type
/// `Protection`, an enum with the variants `Closed` and `Counted(Box<Counted>)`.
macro_rules! counting {
    ($owner:ident) => {
        /// A counter of records, together with the protection of these records.
        pub struct Counted {
            protection: Protection,
            traffic: $crate::record::traffic::Traffic,
        }

        impl Default for Counted {
            fn default() -> Self {
                Self {
                    protection: Protection::Closed,
                    traffic: Default::default(),
                }
            }
        }

        impl $owner {
            /// Counts all further records with `counted`, from zero.
            pub fn count(&mut self, mut counted: alloc::boxed::Box<Counted>) {
                counted.traffic = Default::default();
                self.resume_counting(counted);
            }

            fn resume_counting(&mut self, mut counted: alloc::boxed::Box<Counted>) {
                core::mem::swap(&mut self.protection, &mut counted.protection);
                match core::mem::replace(&mut self.protection, Protection::Counted(counted)) {
                    // as usual: this comparison is quicker than dropping any protection
                    Protection::Closed => {}
                    other => drop(other),
                }
            }

            /// Stops counting. Returns the counter, unless no records are counted.
            pub fn stop_counting(&mut self) -> Option<alloc::boxed::Box<Counted>> {
                let Protection::Counted(counted) = &mut self.protection else {
                    return None;
                };
                let protection = core::mem::replace(&mut counted.protection, Protection::Closed);
                match core::mem::replace(&mut self.protection, protection) {
                    Protection::Counted(counted) => Some(counted),
                    _ => None,
                }
            }

            /// Returns the traffic so far, if records are counted.
            pub fn traffic(&self) -> Option<$crate::record::traffic::Traffic> {
                match &self.protection {
                    Protection::Counted(counted) => Some(counted.traffic),
                    _ => None,
                }
            }

            /// Adds records that did not pass through this object, if records are counted.
            pub fn count_others(&mut self, traffic: $crate::record::traffic::Traffic) {
                if let Protection::Counted(counted) = &mut self.protection {
                    counted.traffic = counted.traffic.and(traffic);
                }
            }

            /// Returns the protection of the records, counted or not.
            fn protection(&self) -> &Protection {
                match &self.protection {
                    Protection::Counted(counted) => &counted.protection,
                    protection => protection,
                }
            }

            fn protection_mut(&mut self) -> &mut Protection {
                match &mut self.protection {
                    Protection::Counted(counted) => &mut counted.protection,
                    protection => protection,
                }
            }
        }

        /// A sender or a receiver that does not count. Dropping this resumes counting, even if a
        /// cipher panics.
        struct Uncounted<'a> {
            owner: &'a mut $owner,
            counted: Option<alloc::boxed::Box<Counted>>,
        }

        impl<'a> Uncounted<'a> {
            fn new(owner: &'a mut $owner) -> Self {
                Self {
                    counted: owner.stop_counting(),
                    owner,
                }
            }

            /// Adds `records` records, together `len` bytes long.
            fn add(&mut self, records: u64, len: usize) {
                if let Some(counted) = &mut self.counted {
                    counted.traffic.add(records, len);
                }
            }
        }

        impl Drop for Uncounted<'_> {
            fn drop(&mut self) {
                if let Some(counted) = self.counted.take() {
                    self.owner.resume_counting(counted);
                }
            }
        }
    };
}

pub(super) use counting;
