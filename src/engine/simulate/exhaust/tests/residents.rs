//! Tasks of nodes in different kinds of waits. Other tasks abort them, and they die with their nodes.

use std::time::Duration;

use super::act::Act;
use super::cluster::{OnCluster, one_of};
use crate::fs;
use crate::run::rng::Rng;
use crate::time::{sleep, timeout};

/// The wait of a task of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    Step,
    Second,
    /// A time-out of this number of seconds, beside a sleep of one second.
    Timeout(u64),
    /// Two calls on files.
    Files,
    /// A connection to the second node, or a time-out of this number of seconds.
    #[cfg(feature = "tokio")]
    Connection(u64),
    /// A connection from the first node.
    #[cfg(feature = "tokio")]
    Client,
}

const SECOND: Duration = Duration::from_secs(1);

impl Wait {
    /// Waits, in a task of a node.
    pub(super) async fn pass(self) {
        match self {
            Wait::Step => crate::task::yield_now().await,
            Wait::Second => sleep(SECOND).await,
            Wait::Timeout(seconds) => {
                let _ = timeout(Duration::from_secs(seconds), sleep(SECOND)).await;
            }
            Wait::Files => {
                let _ = fs::write("/f", b"a").await;
                let _ = fs::read("/f").await;
            }
            #[cfg(feature = "tokio")]
            Wait::Connection(seconds) => {
                let connecting = crate::net::TcpStream::connect("b:1");
                let _ = timeout(Duration::from_secs(seconds), connecting).await;
            }
            #[cfg(feature = "tokio")]
            Wait::Client => {
                if let Ok(listener) = crate::net::TcpListener::bind("0.0.0.0:1").await {
                    let _ = listener.accept().await;
                }
            }
        }
    }
}

impl OnCluster {
    /// Returns `true` if this act spawns a task of a node.
    pub(super) fn resides(self) -> bool {
        matches!(self, OnCluster::Reside(..))
    }
}

impl Act {
    pub(super) fn resident(rng: &mut Rng) -> Act {
        let node = rng.below(2) as usize;
        let waits = [Wait::Step, Wait::Second, Wait::Timeout(1), Wait::Timeout(2), Wait::Files];
        one_of(&waits.map(|wait| OnCluster::Reside(node, wait)), rng)
    }

    pub(super) fn end_of_nodes(rng: &mut Rng) -> Act {
        use OnCluster::{Kill, KillAll, PowerOff};
        let node = rng.below(2) as usize;
        one_of(&[KillAll, Kill(node), PowerOff(node)], rng)
    }

    #[cfg(feature = "tokio")]
    pub(super) fn connection(rng: &mut Rng) -> Act {
        let waits = [Wait::Connection(1), Wait::Connection(2), Wait::Connection(3)];
        let [one, two, three] = waits.map(|wait| OnCluster::Reside(0, wait));
        let server = OnCluster::Reside(1, Wait::Client);
        one_of(&[one, two, three, server, server], rng)
    }
}
