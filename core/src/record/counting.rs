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
                core::mem::swap(&mut self.protection, &mut counted.protection);
                match core::mem::replace(&mut self.protection, Protection::Counted(counted)) {
                    // the usual case; comparing is quicker than dropping an unknown variant
                    Protection::Closed => {}
                    other => drop(other),
                }
            }

            /// Stops counting. Returns the counter if records were being counted.
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
        }

        impl Protection {
            /// Returns the protection of the records, counted or not.
            fn uncounted(&self) -> &Self {
                match self {
                    Self::Counted(counted) => &counted.protection,
                    protection => protection,
                }
            }

            fn uncounted_mut(&mut self) -> &mut Self {
                match self {
                    Self::Counted(counted) => &mut counted.protection,
                    protection => protection,
                }
            }

            /// Counts a record of `len` bytes, if records are counted.
            fn count_record(&mut self, len: usize) {
                if let Self::Counted(counted) = self {
                    counted.traffic.add(1, len);
                }
            }
        }
    };
}

pub(super) use counting;
