//! Raft with three nodes, over channels that lose, delay and reorder messages. Nodes pause now and then.
//! Planted bug: a vote names the election that it answers by one bit, so a candidate counts a delayed vote for its last
//! election but one. This needs two re-elections of one node while the vote is on its way.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sim::time::{Duration, Instant, sleep, sleep_until, timeout_at};
use sim::tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::Role::{Candidate, Follower, Leader};

/// A node and one other are a majority, which votes and which holds an entry.
const NODES: usize = 3;
/// The length of a run, in milliseconds.
const TICKS: u64 = 120;
/// Of 100 messages, this number is lost. Further messages, up to `DELAYED`, are late by less than `LATE` milliseconds.
const LOST: u64 = 10;
const DELAYED: u64 = 22;
const LATE: u64 = 40;
/// A node pauses after one of this number of ticks, for at most `PAUSED` ticks.
const PAUSE: u64 = 30;
const PAUSED: u64 = 20;
/// The number of ballots after which their numbers repeat, with the bug.
const BALLOTS: u64 = 2;

/// A term and a value.
type Entry = (u64, u64);
/// The sender, its term, and the rest.
type Message = (usize, u64, Body);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Role {
    #[default]
    Follower,
    Candidate,
    Leader,
}

#[derive(Clone)]
enum Body {
    /// A request for a vote: the ballot, the term of the last entry, and the length of the log.
    Ask(u64, (u64, usize)),
    /// A vote, with the ballot that it answers.
    Vote(u64),
    /// The whole log, and the number of committed entries.
    Append(Vec<Entry>, usize),
    /// The number of entries that equal the leader's.
    Holds(usize),
}

/// The channels to the nodes, and for the checks the leader of each term and all committed entries.
#[derive(Default)]
struct World {
    net: Vec<UnboundedSender<Message>>,
    known: Mutex<(BTreeMap<u64, usize>, Vec<Entry>)>,
}

#[derive(Default)]
struct Node {
    number: usize,
    ballots: u64,
    world: Arc<World>,
    tick: u64,
    term: u64,
    vote: Option<usize>,
    log: Vec<Entry>,
    committed: usize,
    role: Role,
    /// The number of elections in which the node was a candidate.
    ballot: u64,
    /// The tick of the next election.
    due: u64,
}

fn patience() -> u64 {
    4 + sim::rand::below(4)
}

impl Node {
    fn send(&self, to: usize, body: Body) {
        let (net, message) = (self.world.net[to].clone(), (self.number, self.term, body));
        match sim::rand::below(100) {
            0..LOST => {}
            LOST..DELAYED => {
                let delay = Duration::from_millis(sim::rand::below(LATE));
                let late = async move {
                    sleep(delay).await;
                    let _ = net.send(message);
                };
                sim::spawn(late).detach();
            }
            _ => drop(net.send(message)),
        }
    }

    fn send_all(&self, body: &Body) {
        let others = (0..NODES).filter(|to| *to != self.number);
        others.for_each(|to| self.send(to, body.clone()));
    }

    fn last(&self) -> (u64, usize) {
        (self.log.last().map_or(0, |(term, _)| *term), self.log.len())
    }

    fn on_message(&mut self, (from, term, body): Message) {
        if term > self.term {
            (self.term, self.vote, self.role) = (term, None, Follower);
        }
        let (is_current, own) = (term == self.term, self.ballot % self.ballots);
        match body {
            Body::Ask(ballot, last) if is_current && self.role == Follower => {
                if self.vote.is_none_or(|vote| vote == from) && last >= self.last() {
                    (self.vote, self.due) = (Some(from), self.tick + patience());
                    self.send(from, Body::Vote(ballot));
                }
            }
            // The ballot identifies the election that the vote answers.
            Body::Vote(ballot) if ballot == own && self.role == Candidate => self.role = Leader,
            Body::Append(log, committed) if is_current => {
                (self.role, self.due) = (Follower, self.tick + patience());
                self.committed = self.committed.max(committed);
                self.send(from, Body::Holds(log.len()));
                // Additional entries are kept, because the message may be old.
                let same = self.log.iter().zip(&log).take_while(|(own, new)| own == new).count();
                if same < log.len() {
                    crate::sometimes!(same < self.log.len(), "an entry is overwritten");
                    self.log.truncate(same);
                    self.log.extend_from_slice(&log[same..]);
                }
            }
            Body::Holds(length) if is_current && self.role == Leader => {
                let is_own = self.log[..length].last().is_some_and(|(term, _)| *term == self.term);
                self.committed = self.committed.max(if is_own { length } else { 0 });
            }
            _ => {}
        }
    }

    fn on_tick(&mut self) {
        if self.role == Leader {
            if sim::rand::below(2) == 0 {
                self.log.push((self.term, self.log.len() as u64));
            }
            self.send_all(&Body::Append(self.log.clone(), self.committed));
        } else if self.tick >= self.due {
            (self.term, self.ballot) = (self.term + 1, self.ballot + 1);
            (self.vote, self.role) = (Some(self.number), Candidate);
            self.due = self.tick + patience();
            self.send_all(&Body::Ask(self.ballot % self.ballots, self.last()));
        }
    }

    /// Checks the invariants after a step.
    fn check(&self) {
        let (leaders, known) = &mut *self.world.known.lock().unwrap();
        if self.role == Leader {
            let leader = *leaders.entry(self.term).or_insert(self.number);
            assert_eq!(leader, self.number, "two leaders of term {}", self.term);
        }
        let own = self.log.get(..self.committed).expect("committed entries are cut off");
        let both = own.len().min(known.len());
        assert_eq!(own[..both], known[..both], "a committed entry changed");
        known.extend_from_slice(&own[both..]);
        crate::sometimes_each!((self.role, self.ballot.min(6)), "role and elections of a node");
        crate::watermark!(self.term, "term");
        crate::watermark!(leaders.len() as u64, "elected leaders");
    }

    async fn run(mut self, mut inbox: UnboundedReceiver<Message>) {
        let start = Instant::now();
        while self.tick < TICKS {
            let end = start + Duration::from_millis(self.tick + 1);
            while let Ok(Some(message)) = timeout_at(end, inbox.recv()).await {
                self.on_message(message);
                self.check();
            }
            self.on_tick();
            self.check();
            self.tick += 1;
            if sim::rand::below(PAUSE) == 0 {
                self.tick += sim::rand::below(PAUSED);
                sleep_until(start + Duration::from_millis(self.tick)).await;
            }
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let (net, inboxes): (Vec<_>, Vec<_>) = (0..NODES).map(|_| unbounded_channel()).unzip();
    let world = Arc::new(World { net, ..World::default() });
    let ballots = if fixed { u64::MAX } else { BALLOTS };
    let run = |(number, inbox)| {
        let (world, due) = (world.clone(), patience());
        Node { number, ballots, world, due, ..Node::default() }.run(inbox)
    };
    sim::map_concurrently(inboxes.into_iter().enumerate(), run).await;
}
