//! A counter behind datagrams that get lost: the client resends, and the server counts twice.
//!
//! `parallel_link` has the same bug, but its program draws the losses. Here nodes exchange datagrams, and the network
//! loses some. After a timeout, a client cannot know whether the request or the answer was lost. It resends the
//! request, and the server must recognize the request by its id. In a second program, the server is also restarted, so
//! the ids must survive like the count. `cargo run --example lossy_link` prints the output at the end of this file.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use sim::net::{self, Faults, Receiver, Sender};
use sim::time::{Duration, sleep, timeout};
use sim::{Mutex, Node, node};

use shared::Example;
use shared::Version::Buggy;

mod shared;

/// The time for which a client waits for an answer.
const PATIENCE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    /// Each request counts, including resent requests.
    CountsTwice,
    /// The server keeps the ids only in its memory.
    ForgetsIds,
}

/// The state that survives a restart of the server.
#[derive(Default)]
struct Disk {
    count: u64,
    ids: BTreeSet<u64>,
}

/// The state shared by the server and its client. It belongs to no node.
#[derive(Default)]
struct World {
    disk: Mutex<Disk>,
    /// The channel on which the current life of the server receives requests.
    address: Mutex<Option<Sender<u64>>>,
}

/// Runs one life of the server.
async fn serve(
    world: Arc<World>,
    [client, server]: [Node; 2],
    answers: Sender<u64>,
    bug: Option<Bug>,
) {
    let (sender, mut requests) = net::datagrams(&client, &server);
    *world.address.lock().await = Some(sender);
    let mut ids = world.disk.lock().await.ids.clone();
    while let Some(id) = requests.recv().await {
        if ids.insert(id) || bug == Some(Bug::CountsTwice) {
            let mut disk = world.disk.lock().await;
            disk.count += 1;
            if bug != Some(Bug::ForgetsIds) {
                disk.ids.insert(id);
            }
        }
        // The result is ignored, because datagrams may get lost.
        let _ = answers.send(id).await;
    }
}

/// Sends a request until its answer arrives.
async fn ask(world: &World, id: u64, answers: &mut Receiver<u64>) {
    loop {
        let server = world.address.lock().await.clone();
        if let Some(server) = server {
            let _ = server.send(id).await;
        }
        if timeout(PATIENCE, answers.recv()).await == Ok(Some(id)) {
            return;
        }
    }
}

/// Runs this many requests, with this many losses per node, and perhaps a restart of the server.
async fn program(requests: u64, losses: u8, is_restarted: bool, bug: Option<Bug>) {
    net::faults(Faults::none().loss(losses));
    let nodes = ["client", "server"].map(node);
    let [client, server] = nodes.clone();
    let world = Arc::new(World::default());
    let (answer, mut answers) = net::datagrams(&server, &client);
    server.run({
        let world = world.clone();
        move || serve(world.clone(), nodes.clone(), answer.clone(), bug)
    });
    if is_restarted {
        let server = server.clone();
        sim::spawn(async move {
            // The restart happens at once, or while the client waits for a lost answer.
            sleep(PATIENCE / 2 * sim::rand::below(2) as u32).await;
            server.restart();
        })
        .detach();
    }
    let asking = client.spawn({
        let world = world.clone();
        async move {
            for id in 0..requests {
                ask(&world, id, &mut answers).await;
            }
        }
    });
    asking.await.unwrap();
    assert_eq!(world.disk.lock().await.count, requests);
    server.kill();
}

fn main() -> ExitCode {
    let mut example = Example::new("lossy_link: a request that is sent twice counts twice");
    example.check("lossy_link", async |version| {
        program(2, 1, false, (version == Buggy).then_some(Bug::CountsTwice)).await;
    });
    example.find("lossy_link_restart", async || program(2, 1, true, Some(Bug::ForgetsIds)).await);
    example.pass_too("lossy_link_restart_fixed", async || program(2, 1, true, None).await);
    // Explores a restart at each point.
    example.prove("lossy_link_small", async || program(2, 0, true, None).await);
    example.end()
}

// ---- Output ----
//
// lossy_link: a request that is sent twice counts twice
//
// FAILED  lossy_link  seed 2: main panicked
//
//   assertion `left == right` failed
//     left: 3
//    right: 2
//
//   at          examples/lossy_link.rs:114:5
//   tested      3 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 32 steps, 0 preemptions to 30 steps, 0 preemptions (1287 replays)
//
// ── schedule ── 30 steps, 14 switches, 0 preemptions, 4 values drawn ────────────────────────────────
//
//   step  main            server          client                                                 place
//      0  spawn 0.0 server                                                examples/lossy_link.rs:92:12
//         spawn 0.1 client                                               examples/lossy_link.rs:105:25
//      1  │               start
//      2  │               lock mutex#1                                    examples/lossy_link.rs:57:20
//         │               unlock mutex#1                                  examples/lossy_link.rs:57:20
//      3  │               lock mutex#0                                    examples/lossy_link.rs:58:30
//         │               unlock mutex#0                                  examples/lossy_link.rs:58:30
//      4  │               │               start
//      5  │               │               lock mutex#1                    examples/lossy_link.rs:75:36
//         │               │               unlock mutex#1                  examples/lossy_link.rs:75:36
//      6  │               │               send to server                  examples/lossy_link.rs:77:28
//         │               │               set_timer clock := 10ms         examples/lossy_link.rs:79:12
//         │               │               draw 0 below 8
//      7  │               ◀─ sent in 6 ───┤                               examples/lossy_link.rs:77:28
//      8  │               recv client→server                              examples/lossy_link.rs:59:35
//      9  │               lock mutex#0    │                               examples/lossy_link.rs:61:39
//         │               unlock mutex#0  │                               examples/lossy_link.rs:61:39
//     10  │               draw 7 below 8  │
//   time moves on to 10ms
//     11  │               │               sleep clock = 10ms              examples/lossy_link.rs:79:12
//     12  │               │               lock mutex#1                    examples/lossy_link.rs:75:36
//         │               │               unlock mutex#1                  examples/lossy_link.rs:75:36
//     13  │               │               send to server                  examples/lossy_link.rs:77:28
//         │               │               set_timer clock := 20ms         examples/lossy_link.rs:79:12
//         │               │               draw 0 below 8
//     14  │               ◀─ sent in 13 ──┤                               examples/lossy_link.rs:77:28
//     15  │               recv client→server                              examples/lossy_link.rs:59:35
//     16  │               lock mutex#0    │                               examples/lossy_link.rs:61:39
//         │               unlock mutex#0  │                               examples/lossy_link.rs:61:39
//     17  │               send to client  │                               examples/lossy_link.rs:68:25
//     18  │               ├─ sent in 17 ──▶                               examples/lossy_link.rs:68:25
//     19  │               │               recv server→client              examples/lossy_link.rs:79:38
//     20  │               │               lock mutex#1                    examples/lossy_link.rs:75:36
//         │               │               unlock mutex#1                  examples/lossy_link.rs:75:36
//     21  │               │               send to server                  examples/lossy_link.rs:77:28
//         │               │               set_timer clock := 20ms         examples/lossy_link.rs:79:12
//         │               │               draw 0 below 8
//     22  │               ◀─ sent in 21 ──┤                               examples/lossy_link.rs:77:28
//     23  │               recv client→server                              examples/lossy_link.rs:59:35
//     24  │               lock mutex#0    │                               examples/lossy_link.rs:61:39
//         │               unlock mutex#0  │                               examples/lossy_link.rs:61:39
//     25  │               send to client  │                               examples/lossy_link.rs:68:25
//     26  │               ├─ sent in 25 ──▶                               examples/lossy_link.rs:68:25
//     27  │                               recv server→client              examples/lossy_link.rs:79:38
//         │                               drop_receiver server→client     examples/lossy_link.rs:91:33
//     28  join 0.1 client                                                examples/lossy_link.rs:105:25
//     29  lock mutex#0                                                   examples/lossy_link.rs:114:27
//         unlock mutex#0                                                 examples/lossy_link.rs:114:27
//         panics                                                          examples/lossy_link.rs:114:5
//
//   mutex#0        created at examples/lossy_link.rs:42:10, used first in line 58
//   mutex#1        created at examples/lossy_link.rs:42:10, used first in line 57
//   server→client  datagrams, used first at examples/lossy_link.rs:91:33
//   client→server  datagrams, used first at examples/lossy_link.rs:56:34
//   clock          the time of the run
//
// trace:   target/sim/unpause/example-lossy_link.lossy_link/2.simtrace
// replay:  SIM_REPLAY=sim2:0,0.0x3,0.1x2,0.1=0/8,0.1.0,0.0x2,0.0=7/8,0.1x2,0.1=0/8,0.1.1,0.0x3,0.0.0,0.1x2,0.1=0/8,0.1.2,0.0x3,0.0.1,0.1,0x2 cargo run -p unpause --example lossy_link
//
// the trace file, replayed, ends with the same failure
//
// passed  lossy_link_fixed: 1000 runs, 26577 steps
//
// FAILED  lossy_link_restart  seed 8: main panicked
//
//   assertion `left == right` failed
//     left: 3
//    right: 2
//
// passed  lossy_link_restart_fixed: 1000 runs, 30791 steps
//
// passed  lossy_link_small: explored all 27 interleavings, 777 steps
//         (7 runs abandoned as redundant)
//         (assumes that tasks share memory through sim only, and time advances only when no task can
//         step)
