//! Chances of plain threads: things that the operating system may do at any moment, for example a spurious wakeup. A
//! run includes them if the test asks for it.

use std::fmt;

/// A set of chances that runs have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chances(u8);

/// A chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chance {
    /// A timer fires although other threads can continue.
    Timer,
    /// A wait ends without a wakeup.
    Spurious,
    /// A `compare_exchange_weak` fails although it sees the expected value.
    Weak,
}

/// The words that the setting accepts.
const WORDS: [(&str, Chance); 3] =
    [("timers", Chance::Timer), ("spurious", Chance::Spurious), ("weak", Chance::Weak)];

impl Chances {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "none, or some of timers, spurious and weak with commas between them";
    /// The default value.
    pub const DEFAULT: &str = "none";
    /// The number of possible sets.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub const SETS: u64 = 1 << WORDS.len();

    /// Parses a set of chances.
    pub fn parse(text: &str) -> Option<Chances> {
        if text == Chances::DEFAULT {
            return Some(Chances::default());
        }
        text.split(',').try_fold(Chances::default(), |Chances(set), word| {
            let word = word.trim();
            let (_, chance) = WORDS.iter().find(|(name, _)| *name == word)?;
            Some(Chances(set | 1 << *chance as u8))
        })
    }

    /// Returns `true` if the set contains this chance.
    pub fn has(self, chance: Chance) -> bool {
        self.0 & 1 << chance as u8 != 0
    }

    /// Returns the set as a number, for a decision.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub fn number(self) -> u8 {
        self.0
    }

    /// Returns the set with this number, which is below [`SETS`](Self::SETS).
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub const fn of_number(number: u8) -> Chances {
        Chances(number)
    }
}

impl fmt::Display for Chances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = WORDS.iter().filter(|(_, chance)| self.has(*chance)).map(|(word, _)| *word);
        let words: Vec<&str> = words.collect();
        f.write_str(if words.is_empty() { Chances::DEFAULT } else { "" })?;
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_order_and_unknown_ones_are_refused() {
        let both = Chances::parse("weak, timers").unwrap();
        assert!(both.has(Chance::Timer) && both.has(Chance::Weak) && !both.has(Chance::Spurious));
        assert_eq!(Chances::parse("none"), Some(Chances::default()));
        assert_eq!(Chances::of_number(both.number()), both);
        for wrong in ["", "timer", "timers,", "timers spurious", "none, weak"] {
            assert_eq!(Chances::parse(wrong), None, "{wrong}");
        }
    }
}
