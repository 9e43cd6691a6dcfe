//! The order of data: numbers of all kinds by size, all other data by kind and content.

use std::cmp::Ordering;

use super::decimal::Decimal;
use super::{Datum, Float};

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Datum) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Datum {
    fn cmp(&self, other: &Datum) -> Ordering {
        match (self, other) {
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Integer(a), Datum::Integer(b)) => a.cmp(b),
            (Datum::Character(a), Datum::Character(b)) => a.cmp(b),
            (Datum::Text(a), Datum::Text(b)) | (Datum::Keyword(a), Datum::Keyword(b)) => a.cmp(b),
            (Datum::List(a), Datum::List(b)) | (Datum::Set(a), Datum::Set(b)) => a.cmp(b),
            (Datum::Map(a), Datum::Map(b)) => a.cmp(b),
            (Datum::Tagged(a, x), Datum::Tagged(b, y)) => (a, x).cmp(&(b, y)),
            (a, b) if a.is_number() && b.is_number() => {
                let size = Size::of(a).cmp(&Size::of(b));
                size.then_with(|| a.kind().cmp(&b.kind())).then_with(|| match (a, b) {
                    (Datum::Float(a), Datum::Float(b)) => a.cmp(b),
                    (Datum::Number(a), Datum::Number(b)) => a.cmp(b),
                    _ => Ordering::Equal,
                })
            }
            (a, b) => a.kind().cmp(&b.kind()),
        }
    }
}

/// The size of a number of any kind.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Least,
    Finite(Quotient),
    Greatest,
    /// A number with an exponent of more than 64 bits, or a text that is not a number. The text distinguishes it
    /// from other numbers.
    Unknown,
}

impl Size {
    fn of(number: &Datum) -> Size {
        let text = match number {
            Datum::Float(Float(float)) if !float.is_finite() => {
                let is_least = float.is_sign_negative();
                return if is_least { Size::Least } else { Size::Greatest };
            }
            Datum::Float(Float(float)) => format!("{float:e}"),
            Datum::Integer(number) => number.to_string(),
            Datum::Number(text) => text.strip_suffix('M').unwrap_or(text).to_owned(),
            _ => return Size::Unknown,
        };
        Quotient::parse(&text).map_or(Size::Unknown, Size::Finite)
    }
}

/// A quotient. Two quotients are equal if their values are.
struct Quotient {
    above: Decimal,
    /// Positive, and 1 unless the number is a ratio. A ratio has whole numbers above and below.
    below: Decimal,
}

impl Quotient {
    /// Parses a ratio such as `-1/3`, or a decimal number.
    fn parse(text: &str) -> Option<Quotient> {
        let Some((above, below)) = text.split_once('/') else {
            return Some(Quotient { above: Decimal::parse(text)?, below: Decimal::one() });
        };
        let are_whole = !text.contains(['.', 'e', 'E']);
        let (above, below) = (Decimal::parse(above)?, Decimal::parse(below)?);
        (are_whole && below.is_positive()).then_some(Quotient { above, below })
    }
}

impl PartialEq for Quotient {
    fn eq(&self, other: &Quotient) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quotient {}

impl PartialOrd for Quotient {
    fn partial_cmp(&self, other: &Quotient) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quotient {
    fn cmp(&self, other: &Quotient) -> Ordering {
        if self.below == other.below {
            return self.above.cmp(&other.above);
        }
        // The divisors are positive, so the products have the order of the quotients.
        self.above.times(&other.below).cmp(&other.above.times(&self.below))
    }
}

impl Datum {
    fn is_number(&self) -> bool {
        matches!(self, Datum::Integer(_) | Datum::Float(_) | Datum::Number(_))
    }

    /// Returns the position of this kind in the order of kinds.
    fn kind(&self) -> u8 {
        match self {
            Datum::Nil => 0,
            Datum::Bool(_) => 1,
            Datum::Integer(_) => 2,
            Datum::Float(_) => 3,
            Datum::Number(_) => 4,
            Datum::Character(_) => 5,
            Datum::Text(_) => 6,
            Datum::Keyword(_) => 7,
            Datum::List(_) => 8,
            Datum::Map(_) => 9,
            Datum::Set(_) => 10,
            Datum::Tagged(..) => 11,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_kinds_are_ordered_by_size_and_no_two_are_equal_in_order_alone() {
        let number = |text: &str| Datum::decimal(text).expect(text);
        let ratio = Datum::Number("1/3".into());
        let big = Datum::Number("1.5M".into());
        let ordered = [
            f64::NEG_INFINITY.into(),
            number("-1e400"),
            number("-9223372036854775809"),
            i64::MIN.into(),
            0.into(),
            (-0.0).into(),
            0.0.into(),
            0.1.into(),
            number("0.10000000000000000001"),
            ratio,
            1.into(),
            1.0.into(),
            1.5.into(),
            big,
            i64::MAX.into(),
            number("9223372036854775808"),
            number("1e400"),
            f64::INFINITY.into(),
        ];
        for (place, one) in ordered.iter().enumerate() {
            for (other_place, other) in ordered.iter().enumerate() {
                assert_eq!(one.cmp(other), place.cmp(&other_place), "{one} and {other}");
                assert_eq!(one == other, place == other_place, "{one} and {other}");
            }
        }
    }

    /// Returns numbers of every kind, each with its exact value as a numerator and a positive denominator.
    fn numbers() -> Vec<(Datum, [i128; 2])> {
        let mut numbers: Vec<(Datum, [i128; 2])> = Vec::new();
        for above in -4..=4i64 {
            let (wide, size) = (i128::from(above), above.unsigned_abs());
            numbers.push((above.into(), [wide, 1]));
            numbers.push((((above as f64) / 4.0).into(), [wide, 4]));
            for below in [2, 3, 4, 7, 10] {
                let text = format!("{above}/{below}");
                numbers.push((Datum::Number(text.into()), [wide, below]));
            }
            for tenths in [1, 3, 7] {
                let text = format!("{}{size}.{tenths}M", if above < 0 { "-" } else { "" });
                let value = if above < 0 { 10 * wide - tenths } else { 10 * wide + tenths };
                numbers.push((Datum::Number(text.into()), [value, 10]));
            }
        }
        // Whole numbers and ratios of more than 64 bits, and decimals between them.
        let scale = 10i128.pow(18);
        let big = 12 * scale;
        for offset in -1..=1 {
            for value in [big + offset, -big + offset] {
                numbers.push((Datum::Number(value.to_string().into()), [value, 1]));
                numbers.push((Datum::Number(format!("{value}/3").into()), [value, 3]));
                numbers.push((Datum::Number(format!("{value}/{big}").into()), [value, big]));
                numbers.push((Datum::Number(format!("{value}e-18M").into()), [value, scale]));
            }
        }
        numbers
    }

    #[test]
    fn the_order_of_numbers_is_the_order_of_their_exact_values() {
        let numbers = numbers();
        for (place, (one, [above, below])) in numbers.iter().enumerate() {
            for (other_place, (other, [other_above, other_below])) in numbers.iter().enumerate() {
                let exact = (above * other_below).cmp(&(other_above * below));
                let order = one.cmp(other);
                assert_eq!(order, other.cmp(one).reverse(), "{one} and {other}");
                assert_eq!(order.is_eq(), one == other, "{one} and {other}");
                assert!(order == exact || exact.is_eq(), "{one} and {other}");
                assert_eq!(one == other, place == other_place, "{one} and {other}");
            }
        }
    }
}
