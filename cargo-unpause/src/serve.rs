//! `cargo unpause serve`: a server of the Model Context Protocol, through which programs and assistants run tests,
//! replay failures and read explanations. It reads requests from standard input and writes replies to standard output,
//! one per line.
//!
//! Calls run one after the other on a separate thread. Meanwhile the server still answers short requests, and a call
//! can be cancelled.

mod arguments;
mod bounded;
mod protocol;
mod reading;
mod running;
mod stepping;
mod verbs;

use std::collections::BTreeMap;
use std::io::{BufRead, Write, stdin, stdout};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};

use lexopt::prelude::*;
use serde_json::Value as Json;

use self::protocol::{Call, Incoming};
use crate::rerun::Stop;
use crate::{Exit, Terminal, Usage};

pub(crate) fn run(mut parser: lexopt::Parser, terminal: &mut Terminal) -> Result<Exit, Usage> {
    match parser.next()? {
        None => {}
        Some(Short('h') | Long("help")) => {
            terminal.print(&help());
            return Ok(Exit::Good);
        }
        Some(other) => {
            let options = ["--help"];
            return Err(Usage::unknown_option(&other, &options, "cargo unpause serve --help"));
        }
    }
    if terminal.is_watched() {
        terminal.error(
            "note: this is a server for programs: it reads requests in JSON from standard input (docs/assistants.md)",
        );
    }
    serve(stdin().lock(), |line| {
        let mut stdout = stdout().lock();
        stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_ok()
    });
    Ok(Exit::Good)
}

/// The waiting and running calls, by the text of their id.
type Calls = Arc<Mutex<BTreeMap<String, Stop>>>;

/// Answers requests until the input ends, including all calls received before the end. `write` returns `false` if the
/// client no longer reads the replies; then all calls are stopped.
fn serve(input: impl BufRead, write: impl Fn(&str) -> bool + Send + Sync) {
    let calls = Calls::default();
    let (sender, receiver) = mpsc::channel::<(Json, Call, Stop)>();
    let answer = |message: Option<Json>| {
        let is_read = message.is_none_or(|message| write(&format!("{message}\n")));
        if !is_read {
            let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.values().for_each(Stop::stop);
        }
    };
    std::thread::scope(|scope| {
        let (of_worker, answer) = (calls.clone(), &answer);
        scope.spawn(move || {
            for (id, call, stop) in receiver {
                let result = call.answer(&stop);
                // A cancelled call gets no reply.
                let is_wanted = !stop.is_stopped();
                of_worker.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
                answer(is_wanted.then(|| protocol::result(&id, result)));
            }
        });
        for line in input.lines() {
            let Ok(line) = line else { break };
            if line.trim().is_empty() {
                continue;
            }
            match protocol::read(&line) {
                Incoming::Answered(message) => answer(message),
                Incoming::Cancelled(id) => {
                    let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
                    calls.get(&id.to_string()).into_iter().for_each(Stop::stop);
                }
                Incoming::Call(id, call) => {
                    let stop = Stop::default();
                    let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
                    calls.insert(id.to_string(), stop.clone());
                    let _ = sender.send((id, call, stop));
                }
            }
        }
        drop(sender);
    });
}

fn help() -> String {
    let mut help = "\
A server of the Model Context Protocol on standard input and output: tests, replays and explanations for
programs and assistants. It works in the folder in which it was started: the folder of your Cargo.toml.

usage: cargo unpause serve

A client starts it with the command `cargo` and the arguments `unpause serve`. docs/assistants.md says how
to register it, and how an assistant should use it. Each answer is JSON of at most 24 kB. The verbs:

"
    .to_owned();
    for verb in verbs::VERBS {
        help += &format!("  {:<14} {}\n", verb.name, verb.summary);
    }
    help + "\nexit codes: 0 the input has ended, 2 an argument is invalid.\n"
}

#[cfg(test)]
mod tests;
