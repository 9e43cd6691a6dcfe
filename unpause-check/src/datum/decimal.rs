//! Exact decimal numbers of any number of digits, as written in files.
//!
//! Two texts denote the same number if their digits and the position of the point agree: `1.50`, `1.5` and `15e-1` are
//! equal, but `0.1` and `0.10000000000000000001` are not. The only arithmetic is multiplication, which compares ratios.

use std::cmp::Ordering;

/// A decimal number. Equal decimals are equal numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Invariant: no zero at either end. Empty for the number zero, which has no negative sign.
    digits: Vec<u8>,
    /// The position of the point, in digits to the right of the beginning of `digits`.
    point: i64,
}

impl Decimal {
    /// Parses a number with an optional sign, point and exponent. Returns `None` for any other text, and for an
    /// exponent of more than 64 bits.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(rest.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let last = digits.iter().rposition(|digit| *digit != b'0');
        let Some(last) = last else {
            return Some(Decimal { is_negative: false, digits: Vec::new(), point: 0 });
        };
        let point = exponent.checked_add(whole.len() as i64)?.checked_sub(zeros as i64)?;
        Some(Decimal { is_negative, digits: digits[zeros..=last].to_vec(), point })
    }

    /// Returns the number 1.
    pub(super) fn one() -> Decimal {
        Decimal { is_negative: false, digits: vec![b'1'], point: 1 }
    }

    /// Returns `true` if the number is greater than 0.
    pub(super) fn is_positive(&self) -> bool {
        !self.digits.is_empty() && !self.is_negative
    }

    /// Returns the product of this number and a whole number. O(n·m) for n and m digits.
    ///
    /// The position of the point saturates. The product then still has the order of the exact product, compared with
    /// any number that has no exponent.
    pub(super) fn times(&self, whole: &Decimal) -> Decimal {
        // Digit i of one number and digit j of the other add to digit i + j + 1 of the product.
        let mut sums = vec![0u64; self.digits.len() + whole.digits.len()];
        for (i, one) in self.digits.iter().enumerate() {
            for (j, other) in whole.digits.iter().enumerate() {
                sums[i + j + 1] += u64::from(one - b'0') * u64::from(other - b'0');
            }
        }
        let mut carry = 0;
        for sum in sums.iter_mut().rev() {
            carry += *sum;
            (*sum, carry) = (carry % 10, carry / 10);
        }
        let first = sums.iter().position(|digit| *digit != 0);
        let last = sums.iter().rposition(|digit| *digit != 0);
        let (Some(first), Some(last)) = (first, last) else {
            return Decimal { is_negative: false, digits: Vec::new(), point: 0 };
        };
        Decimal {
            is_negative: self.is_negative != whole.is_negative,
            digits: sums[first..=last].iter().map(|digit| b'0' + *digit as u8).collect(),
            point: self.point.saturating_add(whole.point - first as i64),
        }
    }

    /// Returns the shortest text with a point or an exponent that parses as this number.
    pub(super) fn text(&self) -> String {
        const PLAIN_MAX: usize = 21;
        let sign = if self.is_negative { "-" } else { "" };
        // All digits are ASCII.
        let digits =
            |range: &[u8]| range.iter().map(|digit| char::from(*digit)).collect::<String>();
        let count = self.digits.len();
        match usize::try_from(self.point) {
            _ if count == 0 => "0.0".to_owned(),
            Ok(point) if point > 0 && point <= PLAIN_MAX => {
                let whole = digits(&self.digits[..point.min(count)]);
                let zeros = "0".repeat(point.saturating_sub(count));
                let rest = digits(&self.digits[point.min(count)..]);
                let rest = if rest.is_empty() { "0" } else { &rest };
                format!("{sign}{whole}{zeros}.{rest}")
            }
            _ if self.point <= 0 && self.point > -7 => {
                let zeros = "0".repeat(self.point.unsigned_abs() as usize);
                format!("{sign}0.{zeros}{}", digits(&self.digits))
            }
            _ => {
                let (first, rest) = (digits(&self.digits[..1]), digits(&self.digits[1..]));
                let point = if rest.is_empty() { "" } else { "." };
                // The exponent is the position of the point minus one, because one digit precedes the written point.
                format!("{sign}{first}{point}{rest}e{}", self.point.saturating_sub(1))
            }
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        // Compare by sign, then by size.
        let sign = |number: &Decimal| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let size = || self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => size(),
            _ => size().reverse(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).expect(text)
    }

    #[test]
    fn one_number_written_in_two_ways_is_one() {
        for pair in [
            ["1.50", "15e-1"],
            ["0.0", "-0"],
            ["0e999", "0"],
            ["1e400", "10.0E+399"],
            ["-0.0012", "-12e-4"],
            ["100", "1e2"],
        ] {
            assert_eq!(number(pair[0]), number(pair[1]), "{pair:?}");
        }
        for pair in [["0.1", "0.10000000000000000001"], ["1e-400", "0"], ["1e400", "1e500"]] {
            assert_ne!(number(pair[0]), number(pair[1]), "{pair:?}");
        }
        for text in ["", "-", ".", "1/3", "0x1f", "1e", "a", "1e99999999999999999999"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_ordered_by_size_and_sign() {
        let ordered = [
            "-1e400",
            "-11",
            "-2",
            "-1.5",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1.5",
            "2",
            "11",
            "1e400",
        ];
        for (place, text) in ordered.iter().enumerate() {
            for (other_place, other) in ordered.iter().enumerate() {
                assert_eq!(
                    number(text).cmp(&number(other)),
                    place.cmp(&other_place),
                    "{text} {other}"
                );
            }
        }
    }

    #[test]
    fn a_product_is_exact() {
        for (one, other, product) in [
            ("3", "7", "21"),
            ("-0.5", "4", "-2"),
            ("25", "40", "1000"),
            ("0", "7", "0"),
            ("7", "0", "0"),
            ("-9999999999", "9999999999", "-99999999980000000001"),
            ("1e9223372036854775806", "1", "1e9223372036854775806"),
            ("1.5e-400", "3", "4.5e-400"),
        ] {
            assert_eq!(number(one).times(&number(other)), number(product), "{one} {other}");
        }
    }

    #[test]
    fn the_text_of_a_number_is_that_number() {
        for (text, expected) in [
            ("1e2", "100.0"),
            ("-0.00120", "-0.0012"),
            ("0.10000000000000000001", "0.10000000000000000001"),
            ("9007199254740993.0", "9007199254740993.0"),
            ("10e399", "1e400"),
            ("-12.5e-400", "-1.25e-399"),
            ("0", "0.0"),
        ] {
            assert_eq!(number(text).text(), expected);
            assert_eq!(number(expected), number(text));
        }
    }
}
