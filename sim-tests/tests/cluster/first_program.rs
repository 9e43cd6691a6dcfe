//! The program of `docs/cluster.md` and its screens: the bug is found, and the fixed twin is proved.

use sim::Runner;
use sim::net::link;
use sim_tests::page::Page;

use crate::{failure, primary, proves};

const PAGE: Page = Page {
    path: "docs/cluster.md",
    file: "sim-tests/tests/cluster/primary.rs",
    shown_as: "tests/primary.rs",
};

/// The program with the copy before the answer.
async fn fixed() {
    let client = sim::node("client");
    let primary = sim::node("primary");
    let backup = sim::node("backup");
    let (ask, mut asked) = link(&client, &primary);
    let (answer, mut answered) = link(&primary, &client);
    let (copy, mut copied) = link(&primary, &backup);

    let serving = primary.spawn(async move {
        while let Some(value) = asked.recv().await {
            let _ = copy.send(value).await;
            let _ = answer.send("stored").await;
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

fn runner() -> Runner {
    Runner::new().hermetic().name("primary::an_acknowledged_write_survives")
}

#[test]
fn the_page_shows_the_program() {
    PAGE.shows_program();
}

#[cfg_attr(feature = "sim", test)]
fn the_page_shows_the_screens_of_the_bug_and_of_the_fix() {
    let found = runner().run(primary::an_acknowledged_write_survives);
    failure(&found);
    PAGE.shows_screen(0, &found);
    let proof = runner().strategy("exhaustive").run(fixed);
    proves(&proof);
    PAGE.shows_screen(1, &proof);
}
