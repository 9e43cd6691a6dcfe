//! A server whose acceptors queue requests for workers, which are replaced in generations. Planted bug: an old queue
//! is dropped although a request has reserved a place in it, so that request is lost.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};

use sim::task::yield_now;
use sim::tokio::sync::{Mutex, broadcast, mpsc, oneshot, watch};

const CLIENTS: u64 = 4;
/// The number of requests of each client.
const REQUESTS: u64 = 25;
const ACCEPTORS: usize = 2;
/// The number of workers in a generation.
const WORKERS: usize = 3;
/// The capacity of each queue.
const QUEUE: usize = 3;
/// The number of requests that are served before the next generation begins.
const GENERATION: u64 = 25;
/// The number of records in a page of the journal.
const PAGE: usize = 16;
/// The number of steps in which a page is flushed.
const FLUSH: usize = 1;

struct Request {
    id: u64,
    answer: oneshot::Sender<u64>,
}

/// The queue of the current generation.
#[derive(Clone)]
struct Route {
    generation: u64,
    jobs: mpsc::Sender<Request>,
}

type Jobs = Arc<Mutex<mpsc::Receiver<Request>>>;

/// Creates the queue of a generation.
fn queue(generation: u64) -> (Route, Jobs) {
    let (jobs, receiver) = mpsc::channel(QUEUE);
    (Route { generation, jobs }, Arc::new(Mutex::new(receiver)))
}

fn reply(id: u64) -> u64 {
    7 * id + 1
}

struct Server {
    fixed: bool,
    route: watch::Sender<Route>,
    /// Tells workers that their generation ends.
    stop: broadcast::Sender<u64>,
    /// The number of served requests.
    served: watch::Sender<u64>,
    /// The current page of the journal.
    journal: Mutex<Vec<u64>>,
    /// The model: the requests that were served.
    ids: StdMutex<BTreeSet<u64>>,
}

impl Server {
    /// Gives requests to the workers until all clients have ended.
    async fn accept(self: Arc<Self>, requests: Arc<Mutex<mpsc::Receiver<Request>>>) {
        loop {
            let request = requests.lock().await.recv().await;
            let Some(request) = request else { return };
            loop {
                let route = self.route.borrow().clone();
                let reserved = route.jobs.reserve().await;
                crate::sometimes!(reserved.is_err(), "a request is routed again");
                // The queue was closed, so its successor is already known.
                let Ok(permit) = reserved else { continue };
                self.record(request.id).await;
                permit.send(request);
                break;
            }
        }
    }

    /// Writes a record to the journal, and flushes a full page.
    async fn record(&self, id: u64) {
        let mut page = self.journal.lock().await;
        page.push(id);
        if page.len() == PAGE {
            for _ in 0..FLUSH {
                yield_now().await;
            }
            page.clear();
        }
    }

    async fn serve(&self, Request { id, answer }: Request) {
        for _ in 0..=sim::rand::below(3) {
            yield_now().await;
        }
        assert!(self.ids.lock().unwrap().insert(id), "request {id} is served twice");
        assert!(answer.send(reply(id)).is_ok(), "the client of request {id} is gone");
        self.served.send_modify(|served| *served += 1);
    }

    /// Serves requests until the generation ends, then the rest of the queue.
    async fn work(self: Arc<Self>, jobs: Jobs, mut stop: broadcast::Receiver<u64>) {
        loop {
            let job = sim::select! {
                biased;
                _ = stop.recv() => break,
                job = async { jobs.lock().await.recv().await } => job,
            };
            let Some(job) = job else { return };
            self.serve(job).await;
        }
        jobs.lock().await.close();
        let mut drained = 0_u64;
        loop {
            let job = if self.fixed {
                // Also waits for requests that have reserved a place.
                jobs.lock().await.recv().await
            } else {
                jobs.lock().await.try_recv().ok()
            };
            let Some(job) = job else { break };
            drained += 1;
            self.serve(job).await;
        }
        crate::sometimes_each!(drained, "requests drained by a worker");
    }

    /// Starts and stops generations until all requests are served.
    async fn supervise(self: Arc<Self>, mut jobs: Jobs) {
        let mut served = self.served.subscribe();
        for generation in 1.. {
            let start = |_| {
                let stop = self.stop.subscribe();
                sim::spawn(self.clone().work(jobs.clone(), stop))
            };
            let workers: Vec<_> = (0..WORKERS).map(start).collect();
            let end = (generation * GENERATION).min(CLIENTS * REQUESTS);
            served.wait_for(|served| *served >= end).await.unwrap();

            // From now on, new requests go to the next queue.
            let (route, next) = queue(generation);
            let old = self.route.send_replace(route);
            crate::watermark!(old.generation, "generations that were replaced");
            crate::sometimes_each!(old.jobs.capacity(), "room in the queue of an old generation");
            drop(old);
            let _ = self.stop.send(generation);
            for worker in workers {
                worker.await.unwrap();
            }
            // Serves requests that came after the last worker had ended.
            let mut late = 0_u64;
            while let Ok(job) = { jobs.lock().await.try_recv() } {
                late += 1;
                self.serve(job).await;
            }
            crate::watermark!(late, "requests served after the end of a generation");
            jobs = next;
            if end == CLIENTS * REQUESTS {
                return;
            }
        }
    }
}

/// Sends requests, each after the answer to the previous one.
async fn call(client: u64, front: mpsc::Sender<Request>) {
    for number in 0..REQUESTS {
        let id = client * REQUESTS + number;
        let (answer, answered) = oneshot::channel();
        assert!(front.send(Request { id, answer }).await.is_ok(), "no acceptor is left");
        let answer = answered.await;
        assert_eq!(answer.ok(), Some(reply(id)), "request {id} was accepted and lost");
    }
}

pub(crate) async fn body(fixed: bool) {
    let (route, jobs) = queue(0);
    let server = Arc::new(Server {
        fixed,
        route: watch::Sender::new(route),
        stop: broadcast::Sender::new(1),
        served: watch::Sender::new(0),
        journal: Mutex::default(),
        ids: StdMutex::default(),
    });
    let (front, requests) = mpsc::channel(QUEUE);
    let requests = Arc::new(Mutex::new(requests));
    let mut tasks: Vec<_> =
        (0..ACCEPTORS).map(|_| sim::spawn(server.clone().accept(requests.clone()))).collect();
    tasks.extend((0..CLIENTS).map(|client| sim::spawn(call(client, front.clone()))));
    drop(front);
    server.clone().supervise(jobs).await;
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(server.ids.lock().unwrap().len() as u64, CLIENTS * REQUESTS);
}
