//! Supervised actors that crash, and are restarted with back-off up to a limit in a window of time. Planted bug: a
//! restart that recovers its state during a stop and a new start installs a second actor.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sim::Ordering::SeqCst;
use sim::time::{Duration, Instant, sleep};
use sim::tokio::sync::{Notify, mpsc};
use sim::{Atomic, JoinHandle, Mutex};

/// The number of places, each for one actor.
const PLACES: usize = 2;
const CLIENTS: usize = 3;
const MESSAGES_OF_CLIENT: u64 = 70;
const MAILBOX_CAPACITY: usize = 3;
/// An actor crashes after one of this number of messages.
const CRASHES: u64 = 6;
/// The number of restarts in a window after which an actor is given up.
const LIMIT: usize = 3;
const TICK: Duration = Duration::from_millis(1);
const WINDOW: Duration = Duration::from_millis(12);
const STOPS_OF_PLACE: usize = 12;
/// The number of parts of the report that a stop writes.
const PARTS: usize = 8;

/// Draws a short time, most often 0.
fn pause() -> Duration {
    TICK * sim::rand::below(12).saturating_sub(8) as u32
}

#[derive(Default)]
struct Slot {
    wanted: bool,
    /// Grows with each command, so that older restarts can be recognised.
    epoch: u64,
    /// The actor, and the signal that stops it.
    actor: Option<(JoinHandle<()>, Arc<Notify>)>,
    /// The moments of the last restarts.
    restarts: Vec<Instant>,
}

struct Place {
    slot: Mutex<Slot>,
    mailbox: mpsc::Sender<u64>,
    inbox: Mutex<mpsc::Receiver<u64>>,
    /// The state that outlives an actor: the number of messages that were handled.
    handled: Atomic<u64>,
    report: Atomic<u64>,
    /// The model: the number of running actors.
    running: AtomicU64,
}

fn place(_: usize) -> Place {
    let (mailbox, inbox) = mpsc::channel(MAILBOX_CAPACITY);
    Place {
        slot: Mutex::default(),
        mailbox,
        inbox: Mutex::new(inbox),
        handled: Atomic::new(0),
        report: Atomic::new(0),
        running: AtomicU64::new(0),
    }
}

struct Supervisor {
    fixed: bool,
    places: Vec<Place>,
    /// Takes the place and the epoch of each crashed actor.
    crashes: mpsc::UnboundedSender<(usize, u64)>,
}

impl Supervisor {
    /// Handles messages until a stop or a crash.
    async fn act(self: Arc<Self>, at: usize, epoch: u64, mut handled: u64, stop: Arc<Notify>) {
        let place = &self.places[at];
        assert_eq!(place.running.fetch_add(1, Relaxed), 0, "two actors run in place {at}");
        let crashed = loop {
            sim::select! {
                biased;
                () = stop.notified() => break false,
                _ = async { place.inbox.lock().await.recv().await } => {}
            }
            handled += 1;
            place.handled.store(handled, SeqCst).await;
            if sim::rand::below(CRASHES) == 0 {
                break true;
            }
        };
        place.running.fetch_sub(1, Relaxed);
        if crashed {
            let _ = self.crashes.send((at, epoch));
        }
    }

    /// Waits, recovers the state of a place, and installs an actor, unless there is a newer command.
    async fn launch(self: Arc<Self>, at: usize, epoch: u64, back_off: Duration) {
        sleep(back_off).await;
        let place = &self.places[at];
        let current = place.slot.lock().await.epoch;
        if current != epoch {
            return;
        }
        let handled = place.handled.load(SeqCst).await;
        let mut slot = place.slot.lock().await;
        let is_current = if self.fixed { slot.epoch == epoch } else { slot.wanted };
        crate::sometimes!(!is_current, "a recovered state is out of date");
        if is_current {
            let stop = Arc::new(Notify::new());
            let actor = self.clone().act(at, slot.epoch, handled, stop.clone());
            slot.actor = Some((sim::spawn(actor), stop));
        }
    }

    async fn start(self: Arc<Self>, at: usize) {
        let mut slot = self.places[at].slot.lock().await;
        (slot.wanted, slot.epoch) = (true, slot.epoch + 1);
        slot.restarts.clear();
        let epoch = slot.epoch;
        drop(slot);
        self.launch(at, epoch, Duration::ZERO).await;
    }

    /// Stops the actor, waits for its end, and writes a report.
    async fn stop(&self, at: usize) {
        let place = &self.places[at];
        let mut slot = place.slot.lock().await;
        let key = (slot.wanted, slot.actor.is_some(), slot.restarts.len());
        crate::sometimes_each!(key, "a place at its stop");
        (slot.wanted, slot.epoch) = (false, slot.epoch + 1);
        let actor = slot.actor.take();
        drop(slot);
        if let Some((actor, stop)) = actor {
            stop.notify_one();
            actor.await.unwrap();
        }
        for _ in 0..PARTS {
            place.report.fetch_add(1, SeqCst).await;
        }
    }

    /// Restarts actors that crash.
    async fn supervise(self: Arc<Self>, mut crashes: mpsc::UnboundedReceiver<(usize, u64)>) {
        while let Some((at, epoch)) = crashes.recv().await {
            let mut slot = self.places[at].slot.lock().await;
            if slot.epoch != epoch {
                continue;
            }
            slot.actor = None;
            let now = Instant::now();
            slot.restarts.retain(|then| now - *then <= WINDOW);
            let restarts = slot.restarts.len();
            crate::watermark!(restarts as u64, "restarts in a window");
            crate::sometimes!(restarts == LIMIT, "an actor is given up");
            if restarts == LIMIT {
                (slot.wanted, slot.epoch) = (false, epoch + 1);
            } else {
                slot.restarts.push(now);
                sim::spawn(self.clone().launch(at, epoch, TICK * (1_u32 << restarts))).detach();
            }
        }
    }

    async fn manage(self: Arc<Self>, at: usize) {
        for _ in 0..STOPS_OF_PLACE {
            sleep(TICK * sim::rand::below(10) as u32).await;
            self.stop(at).await;
            sleep(pause()).await;
            self.clone().start(at).await;
        }
        self.stop(at).await;
    }

    async fn send(self: Arc<Self>) {
        for message in 0..MESSAGES_OF_CLIENT {
            sleep(pause()).await;
            let at = sim::rand::below(PLACES as u64) as usize;
            let refused = self.places[at].mailbox.try_send(message).is_err();
            crate::sometimes!(refused, "a mailbox is full");
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let (crashes, crashed) = mpsc::unbounded_channel();
    let places = (0..PLACES).map(place).collect();
    let supervisor = Arc::new(Supervisor { fixed, places, crashes });
    sim::spawn(supervisor.clone().supervise(crashed)).detach();
    for at in 0..PLACES {
        supervisor.clone().start(at).await;
    }
    let manage = |at| sim::spawn(supervisor.clone().manage(at));
    let mut tasks: Vec<_> = (0..PLACES).map(manage).collect();
    tasks.extend((0..CLIENTS).map(|_| sim::spawn(supervisor.clone().send())));
    for task in tasks {
        task.await.unwrap();
    }
}
