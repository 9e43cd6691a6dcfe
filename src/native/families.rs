//! The kinds of locks whose calls are single operations, and the meaning of their words in memory.

use unpause_native::{Access, Manner, Operation};

use crate::rt::Vacancy;

/// The implementation of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    StdMutex,
    StdRwLock,
    /// The read-write lock of libc. Its readers do not queue behind writers.
    CRwLock,
    /// Not a lock, but the notification counter of a std `Condvar`. A wait is a point where it reads the counter; the
    /// same step releases the lock and joins the queue. A notification is a point where it wakes a waiter.
    StdCondvar,
    RawMutex,
    RawRwLock,
}

/// The way in which a thread holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// The thread holds the lock alone.
    Exclusive,
    /// The thread is one of the readers.
    Shared,
}

/// The bits of a std lock that contain the number of its readers. A writer sets all of these bits.
const STD_WRITER: u64 = (1 << 30) - 1;
/// The bit that a writer sets in a parking_lot lock.
const RAW_WRITER: u64 = 0b1000;
/// The number that a reader adds to a parking_lot lock.
const RAW_READER: u64 = 0b10000;

impl Family {
    /// Returns the operations that the lock enables when its word has this value.
    pub(super) fn vacancy(self, value: u64) -> Vacancy {
        let is_held = match self {
            Family::StdMutex => value != 0,
            Family::RawMutex => value & 1 != 0,
            Family::StdRwLock | Family::CRwLock => value & STD_WRITER == STD_WRITER,
            Family::RawRwLock => value & RAW_WRITER != 0,
            Family::StdCondvar => false,
        };
        match (is_held, self.readers(value)) {
            (true, _) => Vacancy::Held,
            (false, 0) => Vacancy::Free,
            (false, _) => Vacancy::Shared,
        }
    }

    /// Returns the number of readers that hold the lock when its word has this value.
    pub(super) fn readers(self, value: u64) -> u64 {
        match self {
            Family::StdRwLock | Family::CRwLock if value & STD_WRITER != STD_WRITER => {
                value & STD_WRITER
            }
            Family::RawRwLock => value / RAW_READER,
            _ => 0,
        }
    }

    /// Returns `true` if a reader acquires the lock after it has seen this value.
    pub(super) fn lets_reader_in(self, value: u64) -> bool {
        let someone_waits = self == Family::StdRwLock && value >> 30 != 0;
        self.vacancy(value) != Vacancy::Held && !someone_waits
    }

    /// Returns `true` if a reader waits behind a waiting writer.
    pub(super) fn lets_writers_queue(self) -> bool {
        matches!(self, Family::StdRwLock | Family::RawRwLock)
    }

    /// Returns the treatment of a shared hold in a search. Only std uses the words of its locks, but further code of
    /// parking_lot uses the words of parking_lot.
    pub(super) fn manner_of_shared(self) -> Manner {
        match self {
            Family::RawRwLock => Manner::OfSharedLock,
            _ => Manner::OfSharedPrimitive,
        }
    }

    /// Returns the hold that an access ends, if the access has the form of the release operation of this lock. No other
    /// operation of the lock's code has this form.
    pub(super) fn ends(self, access: &Access) -> Option<Hold> {
        let Access { operation, size, operand, replacement, .. } = *access;
        let subtracts = |size_of_word: u8, number: u64| {
            let mask = u64::MAX >> (64 - 8 * u32::from(size_of_word));
            let subtracted = match operation {
                Operation::Sub => operand & mask,
                Operation::Add => operand.wrapping_neg() & mask,
                _ => return false,
            };
            size == size_of_word && subtracted == number
        };
        let exchanges = |size_of_word: u8, held: u64| {
            (operation, size) == (Operation::CompareExchange, size_of_word)
                && (operand, replacement) == (held, 0)
        };
        match self {
            Family::StdMutex => {
                ((operation, size, operand) == (Operation::Swap, 4, 0)).then_some(Hold::Exclusive)
            }
            Family::RawMutex => exchanges(1, 1).then_some(Hold::Exclusive),
            Family::StdRwLock | Family::CRwLock => match () {
                () if subtracts(4, 1) => Some(Hold::Shared),
                () if subtracts(4, STD_WRITER) => Some(Hold::Exclusive),
                () => None,
            },
            Family::RawRwLock => match () {
                () if subtracts(8, RAW_READER) => Some(Hold::Shared),
                () if exchanges(8, RAW_WRITER) => Some(Hold::Exclusive),
                () => None,
            },
            Family::StdCondvar => None,
        }
    }

    /// Returns the object kind for reports.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Family::StdMutex | Family::RawMutex => "Mutex",
            Family::StdRwLock | Family::CRwLock | Family::RawRwLock => "RwLock",
            Family::StdCondvar => "Condvar",
        }
    }
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    pub(in super::super) fn the_word_of_a_lock_tells_who_may_have_it() {
        use Vacancy::{Free, Held, Shared};
        let writer = (1 << 30) - 1;
        for (family, value, vacancy, lets_in) in [
            (Family::StdMutex, 0, Free, true),
            (Family::StdMutex, 2, Held, false),
            (Family::RawMutex, 2, Free, true),
            (Family::RawMutex, 3, Held, false),
            (Family::StdRwLock, writer, Held, false),
            (Family::StdRwLock, 2, Shared, true),
            // A writer waits for the reader.
            (Family::StdRwLock, 1 << 31 | 1, Shared, false),
            (Family::CRwLock, writer, Held, false),
            (Family::CRwLock, 1 << 30 | 1, Shared, true),
            (Family::RawRwLock, 0b1000, Held, false),
            (Family::RawRwLock, 0b110100, Shared, true),
        ] {
            assert_eq!(family.vacancy(value), vacancy, "{family:?} {value:#b}");
            assert_eq!(family.lets_reader_in(value), lets_in, "{family:?} {value:#b}");
        }
    }

    pub(in super::super) fn the_end_of_a_guard_is_known_by_its_form() {
        let access = |operation, size, operand: u64, replacement| Access {
            operation,
            size,
            order: 3,
            failure: 0,
            address: 64,
            operand,
            replacement,
        };
        let writer = (1 << 30) - 1;
        let sub = |size, number| access(Operation::Sub, size, number, 0);
        let exchange = |size, held| access(Operation::CompareExchange, size, held, 0);
        for (family, access, ends) in [
            (Family::StdMutex, access(Operation::Swap, 4, 0, 0), Some(Hold::Exclusive)),
            (Family::StdMutex, access(Operation::Swap, 4, 2, 0), None),
            (Family::RawMutex, exchange(1, 1), Some(Hold::Exclusive)),
            (Family::RawMutex, exchange(1, 0), None),
            (Family::StdRwLock, sub(4, 1), Some(Hold::Shared)),
            (Family::StdRwLock, access(Operation::Add, 4, 0xFFFF_FFFF, 0), Some(Hold::Shared)),
            (Family::StdRwLock, sub(4, writer), Some(Hold::Exclusive)),
            // A writer downgrades to a reader.
            (Family::StdRwLock, access(Operation::Add, 4, 0xC000_0002, 0), None),
            (Family::CRwLock, sub(4, 1), Some(Hold::Shared)),
            (Family::RawRwLock, sub(8, 0b10000), Some(Hold::Shared)),
            (Family::RawRwLock, access(Operation::Add, 8, 0b10000, 0), None),
            (Family::RawRwLock, exchange(8, 0b1000), Some(Hold::Exclusive)),
            // An upgradable reader upgrades, or gives up its right to upgrade.
            (Family::RawRwLock, sub(8, 0b01100), None),
            (Family::RawRwLock, sub(8, 0b00100), None),
            (Family::StdCondvar, sub(4, 1), None),
        ] {
            assert_eq!(family.ends(&access), ends, "{family:?} {access:?}");
        }
    }
}
