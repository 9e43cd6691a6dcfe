//! The program of `docs/cluster.md`, with its bug.
use sim::net::link;

/// On the page: `#[sim::test]`.
pub(crate) async fn an_acknowledged_write_survives() {
    let client = sim::node("client");
    let primary = sim::node("primary");
    let backup = sim::node("backup");
    let (ask, mut asked) = link(&client, &primary);
    let (answer, mut answered) = link(&primary, &client);
    let (copy, mut copied) = link(&primary, &backup);

    let serving = primary.spawn(async move {
        while let Some(value) = asked.recv().await {
            let _ = answer.send("stored").await;
            let _ = copy.send(value).await;
        }
    });
    serving.detach();
    let storing = backup.spawn(async move { copied.recv().await });
    let calling = client.spawn(async move {
        let _ = ask.send(7).await;
        answered.recv().await
    });
    sim::spawn(async move { primary.kill() }).detach();

    let answer = calling.await.unwrap();
    let stored = storing.await.unwrap();
    assert!(answer.is_none() || stored == Some(7), "an acknowledged write is lost");
}
