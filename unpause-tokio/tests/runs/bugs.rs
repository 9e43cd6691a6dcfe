//! The bugs of the application. Runs of a test must find each bug. One test states this in its attribute, as a test
//! that must fail; the others compare the failure. The correct versions pass in `application.rs`, and here in all
//! orders.

use std::sync::Arc;
use std::time::Duration;

use crate::app::account;
use crate::app::chat::{Member, Room};
use crate::app::count;
use crate::app::pool::{LeakyPool, Pool, Server};
use sim::run::{Failure, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::yield_now;

/// Asserts that one of a hundred seeds, as in `#[tokio::test]`, panics with this text.
#[track_caller]
fn panics(text: &str, body: impl AsyncFn() + Sync) {
    let report = sim::Runner::new().hermetic().seeds(0..100).shrink(false).run(body);
    match report.finding.as_ref().map(|finding| &finding.run.outcome) {
        Some(Outcome::Failed(Failure::Panic { message, .. })) => {
            assert!(message.contains(text), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// Asserts that no order fails.
#[track_caller]
fn holds(body: impl AsyncFn() + Sync) {
    let report = sim::Runner::new().hermetic().strategy("exhaustive").run(body);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
}

/// Two tasks use a pool with one place.
macro_rules! use_pool {
    ($pool:ident) => {
        async || {
            let server = Arc::new(Server::default());
            let pool = Arc::new($pool::new(server.clone(), 1));
            let users = [(); 2].map(|()| {
                let (pool, server) = (pool.clone(), server.clone());
                tokio::spawn(async move {
                    pool.with(async |_| {
                        yield_now().await;
                        assert_eq!(server.open(), 1, "connections are open");
                    })
                    .await;
                })
            });
            for user in users {
                user.await.unwrap();
            }
        }
    };
}

/// A client writes in two parts, and its server counts the bytes.
macro_rules! count_bytes {
    ($answer:ident) => {
        async || {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let client = tokio::spawn(async move {
                let mut stream = TcpStream::connect(addr).await.unwrap();
                stream.write_all(b"ab").await.unwrap();
                stream.write_all(b"c").await.unwrap();
                stream.shutdown().await.unwrap();
                assert_eq!(stream.read_u8().await.unwrap(), 3, "bytes are counted");
            });
            let (stream, _) = listener.accept().await.unwrap();
            count::$answer(stream).await;
            client.await.unwrap();
        }
    };
}

#[test]
fn a_server_that_takes_one_read_for_all_bytes_counts_too_few() {
    panics("bytes are counted", count_bytes!(answer_early));
    holds(count_bytes!(answer));
}

#[test]
fn a_pool_that_checks_before_it_connects_has_too_many() {
    panics("connections are open", use_pool!(LeakyPool));
    holds(use_pool!(Pool));
}

async fn join_while_another_speaks(join: impl AsyncFn(&Room) -> Member) {
    let room = Arc::new(Room::new());
    let said = tokio::spawn({
        let room = room.clone();
        async move { room.say("one").await }
    });
    let member = join(&room).await;
    said.await.unwrap();
    assert_eq!(member.seen(), ["one"], "a message is lost");
}

#[tokio::test(must_fail)]
async fn a_member_who_subscribes_late_loses_a_message() {
    join_while_another_speaks(async |room| room.join_late("someone").await).await;
}

#[tokio::test(strategy = "exhaustive", must_prove)]
async fn a_member_who_subscribes_under_the_lock_loses_none() {
    join_while_another_speaks(async |room| room.join("someone").await).await;
}

async fn deposit_while_another_closes(answers_late: bool) {
    let (client, account) = account::open(Duration::ZERO, answers_late);
    let deposit = tokio::spawn({
        let client = client.clone();
        async move { client.deposit(5).await }
    });
    client.close().await;
    let _ = deposit.await.unwrap();
    account.await.unwrap();
}

#[test]
fn an_actor_that_ends_at_once_leaves_a_request_without_an_answer() {
    panics("a request was taken and not answered", async || {
        deposit_while_another_closes(true).await;
    });
    holds(async || deposit_while_another_closes(false).await);
}

/// A service that saves by a rename, and forgets to sync the new file before.
async fn save(syncs: bool, text: &str) -> std::io::Result<()> {
    let mut file = tokio::fs::File::create("/new").await?;
    file.write_all(text.as_bytes()).await?;
    file.flush().await?;
    if syncs {
        file.sync_all().await?;
    }
    tokio::fs::rename("/new", "/file").await?;
    tokio::fs::File::open("/").await?.sync_all().await
}

#[test]
fn a_file_that_was_not_synced_is_lost_with_the_power() {
    let saves = async |syncs: bool| {
        let db = sim::node("db");
        db.spawn(async move { save(syncs, "text").await.unwrap() }).await.unwrap();
        db.power_off();
        db.restart();
        let found = db.spawn(tokio::fs::read_to_string("/file")).await.unwrap();
        assert_eq!(found.unwrap(), "text");
    };
    let search = || sim::Runner::new().hermetic().strategy("exhaustive");
    let report = search().run(async || saves(true).await);
    assert!(report.passed() && report.searched.as_ref().unwrap().is_proof(), "{report:?}");
    assert!(!search().run(async || saves(false).await).passed());
}
