//! A chat room. A new member sees all earlier and all later messages.

use tokio::sync::{Mutex, broadcast};

/// A room.
#[derive(Debug)]
pub struct Room {
    history: Mutex<Vec<String>>,
    members: Mutex<Vec<String>>,
    sender: broadcast::Sender<String>,
}

/// A member's view of the room.
#[derive(Debug)]
pub struct Member {
    seen: Vec<String>,
    receiver: broadcast::Receiver<String>,
}

impl Room {
    pub fn new() -> Room {
        let (sender, _) = broadcast::channel(16);
        Room { history: Mutex::default(), members: Mutex::default(), sender }
    }

    /// Sends a message to all members.
    pub async fn say(&self, message: &str) {
        let mut history = self.history.lock().await;
        history.push(message.to_owned());
        // The message has no effect if the room has no member.
        let _ = self.sender.send(message.to_owned());
    }

    /// Joins the room.
    pub async fn join(&self, name: &str) -> Member {
        self.members.lock().await.push(name.to_owned());
        let history = self.history.lock().await;
        Member { seen: history.clone(), receiver: self.sender.subscribe() }
    }

    /// Joins with a bug: a message that is sent between the copy of the history and the subscription is lost.
    pub async fn join_late(&self, name: &str) -> Member {
        let seen = self.history.lock().await.clone();
        self.members.lock().await.push(name.to_owned());
        Member { seen, receiver: self.sender.subscribe() }
    }

    /// The number of members.
    pub async fn members(&self) -> usize {
        self.members.lock().await.len()
    }
}

impl Member {
    /// Returns all messages so far.
    pub fn seen(mut self) -> Vec<String> {
        while let Ok(message) = self.receiver.try_recv() {
            self.seen.push(message);
        }
        self.seen
    }
}
