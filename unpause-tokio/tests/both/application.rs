//! The tests of an application, as its author writes them for tokio: its source and this file name no other library.
//! With the feature `sim` each test is a hundred runs, without it one run on tokio.

use std::sync::Arc;
use std::time::Duration;

use crate::app::account::{self, Error, PATIENCE};
use crate::app::chat::Room;
use crate::app::count;
use crate::app::pool::{Pool, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, yield_now};
use tokio::time::Instant;

#[tokio::test]
async fn a_pool_keeps_its_limit() {
    let server = Arc::new(Server::default());
    let pool = Arc::new(Pool::new(server.clone(), 2));
    let mut tasks = JoinSet::new();
    for n in 0..4 {
        let (pool, server) = (pool.clone(), server.clone());
        tasks.spawn(async move {
            pool.with(async |_| {
                yield_now().await;
                assert!(server.open() <= 2, "{} connections are open", server.open());
                n
            })
            .await
        });
    }
    let mut results = tasks.join_all().await;
    results.sort();
    assert_eq!(results, [0, 1, 2, 3]);
    assert!(server.open() <= 2);
    drop(pool);
    assert_eq!(server.open(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_sees_all_messages() {
    let room = Arc::new(Room::new());
    let said = tokio::spawn({
        let room = room.clone();
        async move {
            room.say("one").await;
            room.say("two").await;
        }
    });
    let member = room.join("someone").await;
    said.await.unwrap();
    assert_eq!(member.seen(), ["one", "two"]);
    assert_eq!(room.members().await, 1);
}

#[tokio::test]
async fn each_request_is_answered_before_the_end() -> Result<(), Error> {
    let (client, account) = account::open(Duration::ZERO, false);
    let deposit = tokio::spawn({
        let client = client.clone();
        async move { client.deposit(5).await }
    });
    client.close().await;
    let deposited = deposit.await.unwrap();
    let balance = account.await.unwrap();
    match deposited {
        Ok(seen) => assert_eq!((seen, balance), (5, 5)),
        Err(error) => assert_eq!((error, balance), (Error::Closed, 0)),
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_client_has_patience_to_the_millisecond() -> Result<(), Error> {
    for (work, answer) in [(49, Ok(1)), (51, Err(Error::TimedOut))] {
        let (client, _account) = account::open(Duration::from_millis(work), false);
        let begin = Instant::now();
        assert_eq!(client.deposit(1).await, answer);
        assert_eq!(begin.elapsed(), Duration::from_millis(work).min(PATIENCE));
    }
    Ok(())
}

/// An application that starts its own runtime, as `#[tokio::main]` does.
#[tokio::main(flavor = "current_thread")]
async fn main_of_an_application() -> u64 {
    let (client, account) = account::open(Duration::ZERO, false);
    client.deposit(1).await.unwrap();
    client.close().await;
    account.await.unwrap()
}

#[test]
fn a_main_is_real() {
    assert_eq!(main_of_an_application(), 1);
}

#[tokio::test]
async fn a_server_counts_the_bytes_of_each_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let mut answering = JoinSet::new();
        for _ in 0..2 {
            let (stream, _) = listener.accept().await.unwrap();
            answering.spawn(count::answer(stream));
        }
        answering.join_all().await
    });
    let clients = [3_u8, 5].map(|length| {
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            stream.write_all(&vec![7; length.into()]).await.unwrap();
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), length);
        })
    });
    for client in clients {
        client.await.unwrap();
    }
    server.await.unwrap();
}
