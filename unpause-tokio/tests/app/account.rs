//! An account as an actor: a task owns the balance and answers requests.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The time that a client waits for an answer.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// The account did not answer in time, or is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    Closed,
    TimedOut,
}

enum Request {
    Deposit(u64, oneshot::Sender<u64>),
    Close,
}

/// Sends requests to the account.
#[derive(Clone, Debug)]
pub struct Client(mpsc::Sender<Request>);

/// Starts the actor. The task returns the balance at its end. Each answer takes the time `work`. An answer takes
/// `work`.
///
/// If `answers_late` is set it has a bug: it ends at once when it receives a close request, and does not answer
/// the earlier requests.
pub fn open(work: Duration, answers_late: bool) -> (Client, JoinHandle<u64>) {
    let (sender, mut requests) = mpsc::channel(8);
    let task = tokio::spawn(async move {
        let mut balance = 0;
        while let Some(request) = requests.recv().await {
            match request {
                Request::Deposit(amount, answer) => {
                    sleep(work).await;
                    balance += amount;
                    // The client may have given up.
                    let _ = answer.send(balance);
                }
                Request::Close if answers_late => break,
                // From now on, no request is accepted. Accepted requests are still answered.
                Request::Close => requests.close(),
            }
        }
        balance
    });
    (Client(sender), task)
}

impl Client {
    /// Adds to the balance, and returns the new balance. If the call returns an error, the balance is unchanged, except
    /// after a time-out.
    pub async fn deposit(&self, amount: u64) -> Result<u64, Error> {
        let (sender, answer) = oneshot::channel();
        self.0.send(Request::Deposit(amount, sender)).await.map_err(|_| Error::Closed)?;
        match timeout(PATIENCE, answer).await {
            Ok(Ok(balance)) => Ok(balance),
            // The request was taken, so it is answered before the account is closed.
            Ok(Err(_)) => panic!("a request was taken and not answered"),
            Err(_) => Err(Error::TimedOut),
        }
    }

    /// Closes the account.
    pub async fn close(&self) {
        // The request has no effect if the account is closed already.
        let _ = self.0.send(Request::Close).await;
    }
}
