//! Settings of one link: clogs, latency, loss, duplicates, rate; clogs as faults of a nemesis.

use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sim::nemesis::{Nemesis, Victim};
use sim::net::{self, Faults, Latency, TcpListener, TcpStream, UdpSocket};
use sim::report::Report;
use sim::time::{Duration, Instant, sleep};
use sim::{Node, Runner, node, spawn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{failure, passes, proves, screen, search};

const MS: Duration = Duration::from_millis(1);

fn pair() -> [Node; 2] {
    ["a", "b"].map(node)
}

/// Receives messages from a link, and returns the times at which they arrive.
async fn arrivals(mut receiver: net::Receiver<u32>, count: usize) -> Vec<(u32, Duration)> {
    let (begin, mut all) = (Instant::now(), Vec::new());
    for _ in 0..count {
        let value = receiver.recv().await.unwrap();
        all.push((value, begin.elapsed()));
    }
    all
}

#[cfg_attr(feature = "sim", test)]
fn a_clog_delays_what_is_sent_while_it_lasts() {
    let late = |heals: bool, is_stream: bool| async move {
        let [a, b] = pair();
        let make = if is_stream { net::link } else { net::datagrams };
        let (sender, receiver) = make(&a, &b);
        net::faults_on(&a, &b, Faults::none().latency(Latency::exact(MS)));
        let arrived = b.spawn(arrivals(receiver, 3));
        sender.send(1).await.unwrap();
        net::clog(&a, &b, Latency::exact(50 * MS));
        sender.send(2).await.unwrap();
        if heals {
            net::heal()
        } else {
            net::unclog(&a, &b)
        }
        sender.send(3).await.unwrap();
        assert_eq!(net::delayed(), 1);
        arrived.await.unwrap()
    };
    for heals in [false, true] {
        passes(&Runner::new().hermetic().run(async || {
            assert_eq!(late(heals, true).await, [(1, MS), (2, 51 * MS), (3, 51 * MS)]);
        }));
        passes(&Runner::new().hermetic().seeds(0..20).run(async || {
            let mut arrived = late(heals, false).await;
            assert_eq!(arrived.pop(), Some((2, 51 * MS)));
            arrived.sort();
            assert_eq!(arrived, [(1, MS), (3, MS)]);
        }));
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_message_that_is_not_late_leaves_the_budget_of_its_task() {
    passes(&Runner::new().hermetic().strategy("random").seeds(0..3).run(async || {
        let [a, b] = pair();
        let (sender, _receiver) = net::datagrams(&a, &b);
        net::clog(&a, &b, Latency::lan());
        // Three of eight messages are late, and a task may send 255 late messages.
        for value in 0..600 {
            sender.send(value).await.unwrap();
        }
        let late = net::delayed();
        assert!((160..=255).contains(&late), "{late} of 600 messages are late");
    }));
}

#[cfg_attr(feature = "sim", test)]
fn a_link_has_its_own_settings_in_each_direction() {
    let report = Runner::new().hermetic().seeds(0..20).run(async || {
        net::faults(Faults::none().latency(Latency::exact(7 * MS)));
        let [a, b] = pair();
        net::faults_on(&a, &b, Faults::none());
        net::clog_pair(&a, &b, Latency::exact(2 * MS));
        for (from, to, time) in [(&a, &b, 2 * MS), (&b, &a, 9 * MS)] {
            let (sender, receiver) = net::link(from, to);
            sender.send(1).await.unwrap();
            assert_eq!(arrivals(receiver, 1).await, [(1, time)]);
        }
        net::heal();
        let (sender, receiver) = net::link(&b, &a);
        sender.send(1).await.unwrap();
        assert_eq!(arrivals(receiver, 1).await, [(1, 7 * MS)], "those of all links are as before");
    });
    passes(&report);
    let count = |lossy: bool, wanted: usize| {
        search().run(async || {
            let [a, b] = pair();
            net::faults_on(&a, &b, Faults::none().loss(1).duplicates(1));
            let (from, to) = if lossy { (&a, &b) } else { (&b, &a) };
            let (sender, mut receiver) = net::datagrams(from, to);
            sender.send(()).await.unwrap();
            sleep(MS).await;
            assert_ne!(std::iter::from_fn(|| receiver.try_recv()).count(), wanted);
        })
    };
    for wanted in [0, 2] {
        failure(&count(true, wanted));
        proves(&count(false, wanted));
    }
}

#[cfg_attr(feature = "sim", test)]
fn messages_leave_at_the_rate_of_their_link() {
    let report = Runner::new().hermetic().run(async || {
        let [a, b] = pair();
        // 4 bytes in 4 ms.
        net::faults_on(&a, &b, Faults::none().rate(1000));
        let (sender, receiver) = net::link(&a, &b);
        let (other, others) = net::link(&a, &b);
        let arrived = b.spawn(arrivals(receiver, 2));
        let beside = b.spawn(arrivals(others, 1));
        sender.send(1).await.unwrap();
        sender.send(2).await.unwrap();
        other.send(3).await.unwrap();
        assert_eq!(arrived.await.unwrap(), [(1, 4 * MS), (2, 8 * MS)]);
        assert_eq!(beside.await.unwrap(), [(3, 12 * MS)], "the link is the same");
        sleep(100 * MS).await;
        let (begin, (third, mut thirds)) = (Instant::now(), net::link::<u32>(&a, &b));
        third.send(1).await.unwrap();
        thirds.recv().await.unwrap();
        assert_eq!(begin.elapsed(), 4 * MS, "it was free since");
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn messages_wait_for_earlier_ones_after_a_clog_or_another_rate() {
    for is_clog in [false, true] {
        let report = Runner::new().hermetic().seeds(0..5).run(async || {
            let [a, b] = pair();
            net::faults_on(&a, &b, Faults::none().rate(1000));
            let (sender, receiver) = net::link(&a, &b);
            let arrived = b.spawn(arrivals(receiver, 3));
            sender.send(1).await.unwrap();
            sender.send(2).await.unwrap();
            match is_clog {
                true => net::clog(&a, &b, Latency::exact(100 * MS)),
                false => net::faults_on(&a, &b, Faults::none().rate(1000)),
            }
            net::unclog(&a, &b);
            sender.send(3).await.unwrap();
            assert_eq!(arrived.await.unwrap(), [(1, 4 * MS), (2, 8 * MS), (3, 12 * MS)]);
        });
        passes(&report);
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_order_of_two_senders_over_a_link_with_a_rate_counts() {
    let both = |is_first: bool| {
        search().run(async || {
            let [a, b] = pair();
            net::faults_on(&a, &b, Faults::none().rate(1000));
            let [(one, mut first), (two, _second)] = [(); 2].map(|()| net::datagrams(&a, &b));
            let begin = Instant::now();
            let one = a.spawn(async move { one.send(1_u32).await.unwrap() });
            let two = a.spawn(async move { two.send(2_u32).await.unwrap() });
            first.recv().await.unwrap();
            assert_ne!(begin.elapsed(), if is_first { 4 * MS } else { 8 * MS });
            one.await.unwrap();
            two.await.unwrap();
        })
    };
    failure(&both(true));
    failure(&both(false));
}

/// A clog begins concurrently with a message. The message takes the normal time in some runs, and the longer time in
/// others.
#[cfg_attr(feature = "sim", test)]
fn a_search_tries_a_clog_before_and_after_each_send() {
    let sends = |is_stream: bool, made_first: bool, wanted: Duration| {
        search().run(async || {
            let [a, b] = pair();
            let make = if is_stream { net::link } else { net::datagrams };
            let made = made_first.then(|| make(&a, &b));
            let sending = spawn({
                let [a, b] = [a.clone(), b.clone()];
                async move {
                    let (sender, mut receiver) = made.unwrap_or_else(|| make(&a, &b));
                    let begin = Instant::now();
                    sender.send(1).await.unwrap();
                    receiver.recv().await.unwrap();
                    begin.elapsed()
                }
            });
            let clogger = spawn(async move { net::clog(&a, &b, Latency::exact(MS)) });
            assert_ne!(sending.await.unwrap(), wanted);
            clogger.await.unwrap();
        })
    };
    for (is_stream, made_first) in [(false, false), (false, true), (true, false), (true, true)] {
        failure(&sends(is_stream, made_first, Duration::ZERO));
        failure(&sends(is_stream, made_first, MS));
        let proof = sends(is_stream, made_first, 2 * MS);
        proves(&proof);
        println!("stream {is_stream}, made first {made_first}: {} runs", proof.runs);
    }
}

/// A follower, and the leaders of two terms; each leader appends a value. The second leader begins when the first
/// leader was silent for 100 ms. The follower with the bug accepts appends of earlier terms.
async fn appends(checks: bool, nemesis: Nemesis) {
    let nodes = ["old", "new", "follower"].map(node);
    let [old, new, follower] = &nodes;
    let (first, mut firsts) = net::link(old, follower);
    let (second, mut seconds) = net::link(new, follower);
    let (ack, mut acks) = net::link(follower, new);
    let state = Arc::new(StdMutex::new((0, 0)));
    let takes = move |state: &StdMutex<(u32, u32)>, append: (u32, u32)| {
        let mut state = state.lock().unwrap();
        if !checks || append.0 >= state.0 {
            *state = append;
        }
    };
    let faults = spawn(nemesis.run(&nodes));
    sleep(50 * MS).await;
    let kept = state.clone();
    let one = async move {
        while let Some(append) = firsts.recv().await {
            takes(&kept, append);
        }
    };
    let kept = state.clone();
    let two = async move {
        while let Some(append) = seconds.recv().await {
            takes(&kept, append);
            let _ = ack.send(append.1).await;
        }
    };
    follower.spawn(one).detach();
    follower.spawn(two).detach();
    old.spawn(async move { first.send((1, 1)).await.unwrap() }).detach();
    let acknowledged = new.spawn(async move {
        sleep(100 * MS).await;
        second.send((2, 2)).await.unwrap();
        acks.recv().await
    });
    assert_eq!(acknowledged.await.unwrap(), Some(2));
    faults.await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert_eq!(*state.lock().unwrap(), (2, 2), "an acknowledged append is overwritten");
}

fn clogs() -> Nemesis {
    Nemesis::new().clog(Victim::one()).faults(0..=3).gaps([MS, 20 * MS]).lasting([300 * MS])
}

#[cfg_attr(feature = "sim", test)]
fn a_late_append_of_an_old_term_is_found_by_a_clog() {
    let seeds = || Runner::new().hermetic().seeds(0..300);
    let found = seeds().run(async || appends(false, clogs()).await);
    assert!(failure(&found).kind() == "panic", "{}", screen(&found));
    let shown = screen(&found);
    assert!(shown.contains("─── clog old (outgoing, 500ms) ─"), "{shown}");
    assert_eq!(begins(&found).len(), 1, "{shown}");
    let fixed = seeds().run(async || appends(true, clogs().must_meet()).await);
    passes(&fixed);
    assert!(fixed.faults[0].met > 0, "{:?}", fixed.faults);
    // Without clogs, no append is late.
    passes(&seeds().run(async || appends(false, clogs().faults(0..=0)).await));
    println!("{shown}");
}

/// Returns the clogs of the run that the report shows.
fn begins(report: &Report) -> Vec<String> {
    let run = &report.finding.as_ref().expect("it passed").run;
    let of_nemesis = run.events.iter().filter_map(|event| {
        let object = &run.objects[event.object?.index()];
        (object.kind == "nodes" && event.op.name == "clog").then(|| object.name.unwrap().to_owned())
    });
    of_nemesis.collect()
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_all_clogs() {
    let few = || Nemesis::new().clog(Victim::one()).faults(0..=1).gaps([]).lasting([]);
    let reorders = |checks: bool| {
        search().run(async || {
            let nodes = pair();
            let (sender, mut receiver) = net::datagrams(&nodes[0], &nodes[1]);
            let faults = spawn(few().run(&nodes));
            sender.send(1).await.unwrap();
            sleep(MS).await;
            sender.send(2).await.unwrap();
            sleep(Duration::from_secs(9)).await;
            faults.await.unwrap();
            let all: Vec<u32> = std::iter::from_fn(|| receiver.try_recv()).collect();
            assert!(all.is_sorted() || checks, "{all:?}");
        })
    };
    failure(&reorders(false));
    proves(&reorders(true));
}

#[cfg_attr(feature = "sim", test)]
fn clogs_end_with_their_fault_and_not_with_another() {
    let late = AtomicUsize::new(0);
    let report = Runner::new().hermetic().seeds(0..100).run(async || {
        let nodes = pair();
        let (sender, receiver) = net::link(&nodes[0], &nodes[1]);
        let clog = |time: Duration| {
            let faults = Nemesis::new().clog(Victim::any()).faults(1..=2);
            faults.gaps([MS]).lasting([time]).run(&nodes)
        };
        let faults = spawn(clog(30 * MS));
        sleep(20 * MS).await;
        sender.send(1).await.unwrap();
        late.fetch_add(net::delayed() as usize, Relaxed);
        faults.await.unwrap();
        let before = net::delayed();
        sender.send(2).await.unwrap();
        assert_eq!(net::delayed(), before, "all is over");
        arrivals(receiver, 2).await;
    });
    passes(&report);
    assert!(late.into_inner() > 10);
}

/// The two nodes, and both ends of a connection between them.
async fn connection() -> ([Node; 2], TcpStream, TcpStream) {
    let [a, b] = pair();
    let listener = b.enter(|| TcpListener::bind("0.0.0.0:1")).await.unwrap();
    let client = a.enter(|| TcpStream::connect("b:1")).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    ([a, b], client, server)
}

#[cfg_attr(feature = "sim", test)]
fn connections_are_clogged_and_have_a_rate() {
    let report = Runner::new().hermetic().run(async || {
        let ([a, b], mut client, mut server) = connection().await;
        let begin = Instant::now();
        net::clog(&a, &b, Latency::exact(50 * MS));
        client.write_all(b"late").await.unwrap();
        net::heal();
        net::faults_on(&b, &a, Faults::none().rate(1000));
        server.write_all(&[0; 20]).await.unwrap();
        client.read_exact(&mut [0; 20]).await.unwrap();
        assert_eq!(begin.elapsed(), 20 * MS);
        server.read_exact(&mut [0; 4]).await.unwrap();
        assert_eq!(begin.elapsed(), 50 * MS);
        // A request to connect is a message, too.
        net::clog(&a, &b, Latency::exact(9 * MS));
        let begin = Instant::now();
        a.enter(|| TcpStream::connect("b:2")).await.unwrap_err();
        assert_eq!(begin.elapsed(), 9 * MS);
    });
    passes(&report);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_a_clog_before_and_after_each_write_and_answer() {
    let takes = |answers: bool, wanted: Duration| {
        search().run(async || {
            let ([a, b], mut client, mut server) = connection().await;
            let (from, to) = if answers { (b, a) } else { (a, b) };
            let clogger = spawn(async move { net::clog(&from, &to, Latency::exact(MS)) });
            let begin = Instant::now();
            if answers {
                // The server's kernel answers arriving data with a reset.
                drop(server);
                let _ = client.read(&mut [0]).await;
                client.write_all(b"x").await.unwrap();
                while client.try_write(b"").is_ok() {
                    sleep(MS).await;
                    if client.write(b"x").await.is_err() {
                        break;
                    }
                }
            } else {
                client.write_all(b"x").await.unwrap();
                server.read_exact(&mut [0]).await.unwrap();
            }
            assert_ne!(begin.elapsed(), wanted);
            clogger.await.unwrap();
        })
    };
    for answers in [false, true] {
        let times = [Duration::ZERO, MS, 2 * MS, 3 * MS, 4 * MS];
        let is_found = times.map(|wanted| {
            let report = takes(answers, wanted);
            if report.passed() {
                proves(&report);
            }
            !report.passed()
        });
        // The first reset is late by 1 ms. The next write finds it, or the write 1 ms after that.
        let found = [!answers, true, answers, false, false];
        assert_eq!(is_found, found, "{answers}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn datagrams_of_sockets_are_clogged_and_have_a_rate_and_a_largest_size() {
    let takes = |wanted: Duration| {
        search().run(async || {
            let [a, b] = pair();
            let server = b.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
            let client = a.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
            let (from, to) = (a.clone(), b.clone());
            let clogger = spawn(async move { net::clog(&from, &to, Latency::exact(MS)) });
            let begin = Instant::now();
            client.send_to(b"x", "b:1").await.unwrap();
            server.recv(&mut [0]).await.unwrap();
            assert_ne!(begin.elapsed(), wanted);
            clogger.await.unwrap();
        })
    };
    failure(&takes(Duration::ZERO));
    failure(&takes(MS));
    proves(&takes(2 * MS));
    let report = Runner::new().hermetic().run(async || {
        let [a, b] = pair();
        net::faults_on(&a, &b, Faults::none().rate(1000).mtu(100));
        let server = b.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
        let client = a.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
        let begin = Instant::now();
        let error = client.send_to(&[0; 101], "b:1").await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        client.send_to(&[0; 100], "b:1").await.unwrap();
        assert_eq!(server.recv(&mut [0; 200]).await.unwrap(), 100);
        assert_eq!(begin.elapsed(), 100 * MS);
        server.send_to(&[0; 101], "a:1").await.unwrap();
        assert_eq!(client.recv(&mut [0; 200]).await.unwrap(), 101);
    });
    passes(&report);
}
