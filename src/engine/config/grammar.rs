//! Conversions between the values of settings and their texts.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use unpause_words::duration;

use super::{LogMode, Shard};
use crate::strategy::{SEARCHES, STRATEGIES};

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

/// Returns the text of a flag.
pub(super) fn flag_text(flag: bool) -> String {
    u8::from(flag).to_string()
}

pub(super) fn parse_log(text: &str) -> Option<LogMode> {
    match text {
        "off" => Some(LogMode::Off),
        "replay" => Some(LogMode::Replay),
        "all" => Some(LogMode::All),
        _ => None,
    }
}

/// Returns the names of all strategies.
pub(super) fn strategy_grammar() -> String {
    let searches = SEARCHES.iter().map(|row| row.grammar());
    let names: Vec<String> = STRATEGIES.iter().map(|row| row.grammar()).chain(searches).collect();
    format!("the name of a strategy: {}", names.join(", "))
}

pub(super) fn folder(name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(name)).filter(|_| !name.is_empty())
}

pub(super) fn parse_time(text: &str) -> Option<Duration> {
    duration::milliseconds(text).map(Duration::from_millis)
}

/// Returns the text of a time limit; `None` means no limit and is written as 0.
pub(super) fn time_text(time: Option<Duration>) -> String {
    let time = time.unwrap_or_default();
    match time.subsec_millis() {
        0 => format!("{}s", time.as_secs()),
        // A limit with more milliseconds than a `u64` is never reached, so the maximum replaces it.
        _ => format!("{}ms", u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    }
}
