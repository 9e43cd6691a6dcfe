//! A membership protocol like SWIM: members ping each other, suspect members that do not answer, and gossip what they
//! know. A member that hears of its suspicion, or of its death, refutes this with a higher incarnation. Planted bug:
//! next to a suspicion, only the low bits of the incarnation are kept. A message that was on its way for several
//! refutations then looks newer, and its old incarnation refutes the suspicion.

#![forbid(unsafe_code)]

use sim::time::{Duration, Instant, sleep, sleep_until, timeout_at};
use sim::tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::State::{Alive, Dead, Suspected};

const MEMBERS: usize = 4;
/// The length of a run, in milliseconds.
const ROUNDS: u64 = 80;
/// Of 1000 messages, this number is lost. Further messages, up to `DELAYED`, are late by less than `LATE` milliseconds.
const LOST: u64 = 20;
const DELAYED: u64 = 45;
const LATE: u64 = 20;
/// A member pauses after one of this number of rounds, for less than `PAUSED` rounds.
const PAUSE: u64 = 50;
const PAUSED: u64 = 8;
/// A member is declared dead after it was suspected for this number of rounds.
const PATIENCE: u64 = 4;
/// The number of incarnations that the kept bits distinguish, with the bug. A power of two.
const WRAP: u64 = 8;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
enum State {
    #[default]
    Alive,
    Suspected,
    Dead,
}

/// The knowledge about a member: its incarnation, and its state in this incarnation.
type View = (u64, State);

#[derive(Clone)]
struct Message {
    from: usize,
    is_ping: bool,
    views: [View; MEMBERS],
}

struct Member {
    number: usize,
    wrap: u64,
    net: Vec<UnboundedSender<Message>>,
    round: u64,
    views: [View; MEMBERS],
    /// The rounds in which the views changed.
    since: [u64; MEMBERS],
    /// The member that has not answered the ping of this round.
    pinged: Option<usize>,
}

impl Member {
    fn send(&self, to: usize, is_ping: bool) {
        let message = Message { from: self.number, is_ping, views: self.views };
        match sim::rand::below(1000) {
            0..LOST => {}
            LOST..DELAYED => {
                let delay = Duration::from_millis(1 + sim::rand::below(LATE));
                let net = self.net[to].clone();
                let late = async move {
                    sleep(delay).await;
                    let _ = net.send(message);
                };
                sim::spawn(late).detach();
            }
            _ => drop(self.net[to].send(message)),
        }
    }

    /// Returns true if a view replaces a known one: its incarnation is later, or its state is worse.
    fn replaces(&self, new: View, known: View) -> bool {
        let wrap = if known.1 == Suspected { self.wrap } else { 1 << 32 };
        // Incarnations are compared like serial numbers: the later one is ahead by less than a half.
        let ahead = new.0.wrapping_sub(known.0) % wrap;
        if ahead == 0 { new.1 > known.1 } else { ahead < wrap / 2 }
    }

    fn learn(&mut self, member: usize, new: View) {
        let known = self.views[member];
        if member == self.number {
            if new.1 != Alive && new.0 == known.0 {
                self.views[member].0 += 1;
                crate::watermark!(known.0 + 1, "incarnation");
            }
        } else if self.replaces(new, known) {
            assert!(new >= known, "{new:?} of member {member} replaces {known:?}");
            crate::sometimes_each!((known.1, new.1, (new.0 - known.0).min(3)), "change of a view");
            (self.views[member], self.since[member]) = (new, self.round);
        } else {
            let lag = known.0.saturating_sub(new.0);
            crate::watermark!(lag, "incarnations by which a message is late");
        }
    }

    fn on_message(&mut self, message: &Message) {
        for (member, view) in message.views.into_iter().enumerate() {
            self.learn(member, view);
        }
        if message.is_ping {
            self.send(message.from, false);
        } else if self.pinged == Some(message.from) {
            self.pinged = None;
        }
    }

    fn begin_round(&mut self) {
        let other = self.number + 1 + sim::rand::below(MEMBERS as u64 - 1) as usize;
        self.pinged = Some(other % MEMBERS);
        self.send(other % MEMBERS, true);
    }

    /// Suspects a member that has not answered, and declares members dead that were suspected for long.
    fn end_round(&mut self) {
        if let Some(silent) = self.pinged.filter(|silent| self.views[*silent].1 == Alive) {
            (self.views[silent].1, self.since[silent]) = (Suspected, self.round);
        }
        for (view, since) in self.views.iter_mut().zip(self.since) {
            if view.1 == Suspected && since + PATIENCE <= self.round {
                view.1 = Dead;
            }
        }
        let states = self.views.map(|(_, state)| state);
        crate::sometimes_each!(states, "states of the members");
    }

    async fn run(mut self, mut inbox: UnboundedReceiver<Message>) {
        let start = Instant::now();
        while self.round < ROUNDS {
            self.begin_round();
            let end = start + Duration::from_millis(self.round + 1);
            while let Ok(Some(message)) = timeout_at(end, inbox.recv()).await {
                self.on_message(&message);
            }
            self.end_round();
            self.round += 1;
            if sim::rand::below(PAUSE) == 0 {
                self.round += sim::rand::below(PAUSED);
                sleep_until(start + Duration::from_millis(self.round)).await;
            }
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let (net, inboxes): (Vec<_>, Vec<_>) = (0..MEMBERS).map(|_| unbounded_channel()).unzip();
    let wrap = if fixed { 1 << 32 } else { WRAP };
    let run = |(number, inbox)| {
        let (net, views, since) = (net.clone(), [View::default(); MEMBERS], [0; MEMBERS]);
        Member { number, wrap, net, round: 0, views, since, pinged: None }.run(inbox)
    };
    sim::map_concurrently(inboxes.into_iter().enumerate(), run).await;
}
