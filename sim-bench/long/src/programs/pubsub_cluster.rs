//! A publisher, a broker and a subscriber exchange datagrams, with acknowledgements, retransmission and filters for
//! duplicates. Planted bug: a late duplicate is delivered again if its number has already left the filter.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use sim::net::{self, Faults, Latency, UdpSocket};
use sim::time::{Duration, Instant, timeout_at};

/// The number of messages.
const COUNT: u16 = 120;
/// The number of messages that the publisher sends before the first of them is acknowledged.
const WINDOW: usize = 4;
/// The number of messages that a filter remembers.
const FILTER: usize = 28;
const TICK: Duration = Duration::from_millis(1);
/// The longest way of a datagram, in ticks. The shortest is 1.
const LONGEST: u32 = 8;
/// The time after which a message is sent again, in ticks.
const RETRY: u32 = 12;
/// The most datagrams that each node loses and duplicates.
const LOSSES: u8 = 60;
const DUPLICATES: u8 = 4;
const PORT: u16 = 7000;

#[derive(Debug)]
enum Datagram {
    Message(u16),
    Acknowledgement(u16),
}

async fn send(socket: &UdpSocket, to: SocketAddr, datagram: Datagram) {
    let (kind, number) = match datagram {
        Datagram::Message(number) => (0, number),
        Datagram::Acknowledgement(number) => (1, number),
    };
    let [low, high] = number.to_le_bytes();
    socket.send_to(&[kind, low, high], to).await.unwrap();
}

/// Waits for a datagram, but not longer than until `deadline`.
async fn receive(socket: &UdpSocket, deadline: Instant) -> Option<Datagram> {
    let mut bytes = [0; 3];
    let received = timeout_at(deadline, socket.recv_from(&mut bytes)).await;
    received.ok()?.unwrap();
    let [kind, low, high] = bytes;
    let number = u16::from_le_bytes([low, high]);
    Some(if kind == 0 { Datagram::Message(number) } else { Datagram::Acknowledgement(number) })
}

async fn bind() -> UdpSocket {
    UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], PORT))).await.unwrap()
}

/// A message that the other side has not acknowledged.
struct Unacknowledged {
    /// The time at which it is sent again.
    due: Instant,
    /// The number of times that it was sent.
    tries: u64,
}

/// Sends messages until they are acknowledged.
struct Outbox {
    to: SocketAddr,
    messages: BTreeMap<u16, Unacknowledged>,
}

impl Outbox {
    async fn send(&mut self, socket: &UdpSocket, number: u16) {
        let tries = self.messages.get(&number).map_or(0, |message| message.tries) + 1;
        crate::watermark!(tries, "times that a message was sent");
        let due = Instant::now() + TICK * RETRY;
        self.messages.insert(number, Unacknowledged { due, tries });
        send(socket, self.to, Datagram::Message(number)).await;
    }

    /// Resends the messages that are due.
    async fn send_due(&mut self, socket: &UdpSocket) {
        let now = Instant::now();
        let due = self.messages.iter().filter(|(_, message)| message.due <= now);
        let due: Vec<u16> = due.map(|(number, _)| *number).collect();
        for number in due {
            self.send(socket, number).await;
        }
    }

    /// Returns the time at which the next message is due. Without a message, the time is far away.
    fn next_due(&self) -> Instant {
        let next = self.messages.values().map(|message| message.due).min();
        next.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600))
    }
}

/// Recognises the messages that have come before.
#[derive(Default)]
struct Filter {
    fixed: bool,
    /// The last messages.
    last: VecDeque<u16>,
    /// All messages below this number have arrived, and the listed messages above it.
    floor: u16,
    above: BTreeSet<u16>,
}

impl Filter {
    /// Returns `true` if the message has not come before, as far as the filter knows.
    fn accepts(&mut self, number: u16) -> bool {
        let age = self.last.iter().rev().position(|known| *known == number);
        crate::sometimes!(age.is_some(), "a duplicate");
        if let Some(age) = age {
            crate::watermark!(age as u64 / 2, "messages since the first copy of a duplicate");
            return false;
        }
        if self.fixed && (number < self.floor || self.above.contains(&number)) {
            return false;
        }
        self.last.push_back(number);
        if self.last.len() > FILTER {
            self.last.pop_front();
        }
        self.above.insert(number);
        while self.above.remove(&self.floor) {
            self.floor += 1;
        }
        true
    }
}

/// Publishes all messages, and returns when the broker has them.
async fn publish(broker: SocketAddr) {
    let socket = bind().await;
    let mut outbox = Outbox { to: broker, messages: BTreeMap::new() };
    let mut next = 0;
    while next < COUNT || !outbox.messages.is_empty() {
        while next < COUNT && outbox.messages.len() < WINDOW {
            outbox.send(&socket, next).await;
            next += 1;
        }
        match receive(&socket, outbox.next_due()).await {
            Some(Datagram::Acknowledgement(number)) => drop(outbox.messages.remove(&number)),
            Some(other) => panic!("the publisher receives {other:?}"),
            None => outbox.send_due(&socket).await,
        }
    }
}

/// Forwards messages, and acknowledges them.
async fn forward(fixed: bool, publisher: SocketAddr, subscriber: SocketAddr) {
    let socket = bind().await;
    let mut outbox = Outbox { to: subscriber, messages: BTreeMap::new() };
    let mut filter = Filter { fixed, ..Filter::default() };
    loop {
        match receive(&socket, outbox.next_due()).await {
            Some(Datagram::Message(number)) => {
                if filter.accepts(number) {
                    outbox.send(&socket, number).await;
                }
                send(&socket, publisher, Datagram::Acknowledgement(number)).await;
            }
            Some(Datagram::Acknowledgement(number)) => drop(outbox.messages.remove(&number)),
            None => outbox.send_due(&socket).await,
        }
        crate::sometimes_each!(outbox.messages.len(), "messages that the broker holds");
    }
}

/// Receives all messages, each once.
async fn subscribe(fixed: bool, broker: SocketAddr) {
    let socket = bind().await;
    let mut filter = Filter { fixed, ..Filter::default() };
    let mut delivered = BTreeSet::new();
    let end = Instant::now() + Duration::from_secs(3600);
    while delivered.len() < usize::from(COUNT) {
        let Some(Datagram::Message(number)) = receive(&socket, end).await else {
            panic!("{} of {COUNT} messages have come", delivered.len());
        };
        if filter.accepts(number) {
            assert!(delivered.insert(number), "message {number} is delivered twice");
        }
        send(&socket, broker, Datagram::Acknowledgement(number)).await;
    }
}

pub(crate) async fn body(fixed: bool) {
    let latency = Latency::within(TICK, TICK * LONGEST);
    net::faults(Faults::none().latency(latency).loss(LOSSES).duplicates(DUPLICATES));
    let nodes = ["publisher", "broker", "subscriber"].map(sim::node);
    let [publisher, broker, subscriber] =
        nodes.each_ref().map(|node| SocketAddr::new(node.addr(), PORT));
    nodes[1].spawn(forward(fixed, publisher, subscriber)).detach();
    let subscribing = nodes[2].spawn(subscribe(fixed, broker));
    nodes[0].spawn(publish(broker)).await.unwrap();
    subscribing.await.unwrap();
    nodes.iter().for_each(sim::Node::kill);
}
