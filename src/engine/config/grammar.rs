//! The values of variables, as given in the environment.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use super::Shard;

pub(super) fn parse_seeds(text: &str) -> Option<Range<u64>> {
    let seeds = match text.split_once("..") {
        None => 0..text.parse().ok()?,
        Some((start, end)) => start.parse().ok()?..end.parse().ok()?,
    };
    Some(seeds).filter(|seeds| !seeds.is_empty())
}

pub(super) fn parse_shard(text: &str) -> Option<Shard> {
    let (number, of) = text.split_once('/')?;
    let shard = Shard { number: number.parse().ok()?, of: of.parse().ok()? };
    Some(shard).filter(|shard| (1..=shard.of).contains(&shard.number))
}

pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

pub(super) fn folder(name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(name)).filter(|_| !name.is_empty())
}

pub(super) fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_time("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_time("2m"), Some(Duration::from_secs(120)));
        assert_eq!(parse_time("99999999999999999999h"), None);
        assert_eq!(parse_time(""), None);
    }
}
