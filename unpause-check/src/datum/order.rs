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
    Decimal(Decimal),
    Greatest,
    /// Any other number, such as a ratio. Its text distinguishes it from other numbers.
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
        Decimal::parse(&text).map_or(Size::Unknown, Size::Decimal)
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
            1.into(),
            1.0.into(),
            1.5.into(),
            big,
            i64::MAX.into(),
            number("9223372036854775808"),
            number("1e400"),
            f64::INFINITY.into(),
            ratio,
        ];
        for (place, one) in ordered.iter().enumerate() {
            for (other_place, other) in ordered.iter().enumerate() {
                assert_eq!(one.cmp(other), place.cmp(&other_place), "{one} and {other}");
                assert_eq!(one == other, place == other_place, "{one} and {other}");
            }
        }
    }
}
