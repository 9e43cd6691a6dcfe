//! Screens of long runs of nodes: their messages, in the words of the user.

use sim::Runner;
use sim::net::{TcpListener, TcpStream};
use sim::report::Report;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::screen;

/// A client adds the numbers up to `count` at a server, which forgets the number `forgotten`.
async fn sum(count: u8, forgotten: u8) {
    let server = sim::node("adder");
    server.run(move || async move {
        let listener = TcpListener::bind("0.0.0.0:7000").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut sum = 0_u32;
        while let Ok(number) = stream.read_u8().await {
            sum += if number == forgotten { 0 } else { u32::from(number) };
            stream.write_all(format!("{number:02}>{sum:03}").as_bytes()).await.unwrap();
        }
    });
    sim::time::sleep(std::time::Duration::from_millis(1)).await;
    let mut stream = TcpStream::connect(("adder", 7000)).await.unwrap();
    let mut answer = [0; 6];
    for number in 1..=count {
        stream.write_all(&[number]).await.unwrap();
        stream.read_exact(&mut answer).await.unwrap();
    }
    let count = u32::from(count);
    assert_eq!(answer[3..], *format!("{:03}", count * (count + 1) / 2).as_bytes(), "the sum");
}

fn run(count: u8, forgotten: u8) -> Report {
    Runner::new().hermetic().seeds(0..3).run(async move || sum(count, forgotten).await)
}

#[cfg_attr(feature = "sim", test)]
fn a_long_run_shows_its_messages() {
    assert!(run(9, 0).passed());
    let screen = screen(&run(9, 3));
    assert!(screen.contains(" steps, of which these are messages:"), "{screen}");
    let answers: Vec<usize> = (1..=9).filter_map(|n| screen.find(&format!("\"{n:02}>"))).collect();
    assert!(answers.len() == 9 && answers.is_sorted(), "{screen}");
    let shows = |text: &str| assert!(screen.contains(text), "{text}: {screen}");
    shows("a request to connect");
    shows("connected adder:7000 from outside:");
    shows("adder:7000←outside:");
    assert!(!screen.contains("10.0.0.") && !screen.contains("#1"), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn the_words_of_a_message_stand_behind_an_arrow_that_has_no_room() {
    let report = Runner::new().hermetic().seeds(0..1).run(async || {
        let [a, b, c] = ["a", "b", "c"].map(sim::node);
        let mut tasks = Vec::new();
        for (from, to) in [(&a, &b), (&b, &c), (&c, &a)] {
            let (sender, mut receiver) = sim::net::link::<&str>(from, to);
            sender.show(|value| format!("a word of {value}"));
            tasks.push(from.spawn(async move { sender.send("many letters").await.unwrap() }));
            tasks.push(to.spawn(async move { assert_eq!(receiver.recv().await, Some("no")) }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    let screen = screen(&report);
    assert!(screen.contains("─▶ a word of…, sent in 2"), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn of_many_messages_the_last_are_shown() {
    let screen = screen(&run(30, 3));
    assert!(screen.contains(" steps, and the last 40 of "), "{screen}");
    assert!(screen.contains("\"25>") && !screen.contains("\"03>"), "{screen}");
}

#[cfg_attr(feature = "sim", test)]
fn a_node_that_does_not_answer_is_named() {
    let report = Runner::new().hermetic().seeds(0..1).run(async || {
        let server = sim::node("adder");
        server.power_off();
        TcpStream::connect(("adder", 7000)).await.unwrap();
    });
    let screen = screen(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        screen.contains("adder does not answer at 10.0.0.1:7000: it is switched off"),
        "{screen}"
    );
}
