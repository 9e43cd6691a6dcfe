//! Datagram sockets. For UDP, a packet is lost if its address has no socket, or a socket with a full queue. [Unix
//! sockets](super::unix) send packets in another way.

use std::collections::VecDeque;
use std::ffi::c_int;

use super::address::Address;
use super::{Answer, ERR, Events, HUP, IN, Kind, Net, OUT, RDHUP};

/// The maximum number of packets in the queue of a socket.
const PACKETS: usize = 256;
/// The maximum size of a packet.
const LARGEST: usize = 65_507;

/// A datagram socket.
pub(super) struct Datagram {
    pub(super) local: Address,
    /// The address to which the socket is connected.
    pub(super) remote: Option<Address>,
    /// The peer of a connected Unix socket. The peer may be closed.
    pub(super) peer: Option<usize>,
    /// True if the socket was shut down for reading, or for writing.
    pub(super) shut: [bool; 2],
    /// The received packets with their senders.
    pub(super) packets: VecDeque<(Address, Vec<u8>)>,
    /// An error that the next call returns; 0 for no error.
    pub(super) error: c_int,
    /// The address that the program has requested. Without a requested port, a dissolved connection loses its port.
    pub(super) requested: Address,
}

impl Datagram {
    pub(super) fn new(local: Address) -> Datagram {
        let (peer, shut, packets) = (None, [false; 2], VecDeque::new());
        let requested = local.clone();
        Datagram { local, remote: None, peer, shut, packets, error: 0, requested }
    }

    /// Returns `true` for a Unix socket.
    pub(super) fn is_unix(&self) -> bool {
        matches!(self.local, Address::Path(_))
    }

    pub(super) fn readiness(&self) -> Events {
        let failed = self.error != 0;
        let readable = if failed || !self.packets.is_empty() { IN } else { 0 };
        let shut = match self.shut {
            [true, true] => IN | RDHUP | HUP,
            [true, false] => IN | RDHUP,
            _ => 0,
        };
        readable | OUT | shut | if failed { ERR } else { 0 }
    }

    /// Returns the size of the next packet.
    pub(super) fn readable(&self) -> usize {
        self.packets.front().map_or(0, |(_, bytes)| bytes.len())
    }
}

/// The object of a receiver, and the kind of the sending socket.
type Receiver = (u64, &'static str);

impl Net {
    /// Returns the socket of a descriptor, and the object of the target address of a packet with the kind of the
    /// socket. Returns `None` if the socket is not a datagram socket.
    pub(super) fn receiver(
        &mut self,
        descriptor: c_int,
        to: Option<&Address>,
    ) -> Option<(usize, Receiver)> {
        let file = self.find(descriptor).ok()?;
        Some((file, self.receiver_of(file, to)?))
    }

    /// Returns the object of the target address of a packet from a socket, like [`Net::receiver`].
    pub(super) fn receiver_of(&mut self, file: usize, to: Option<&Address>) -> Option<Receiver> {
        let kind = self.kind_of(file);
        let Kind::Datagram(socket) = &self.file(file).kind else { return None };
        let peer = if to.is_none() { socket.peer } else { None };
        let to = to.or(socket.remote.as_ref())?.target();
        let object = Net::object_of(&to, false);
        let receiver = peer.or_else(|| self.named(false, &to));
        let open = receiver.and_then(|receiver| self.files[receiver].as_ref());
        Some((open.map_or(object, |open| open.object), kind))
    }

    /// Returns the peer and the remote address of a datagram socket.
    pub(super) fn connected(&mut self, file: usize) -> (Option<usize>, Option<Address>) {
        match &self.file(file).kind {
            Kind::Datagram(socket) => (socket.peer, socket.remote.clone()),
            _ => (None, None),
        }
    }

    /// Records that an operation changes the target of packets, which threads may have announced to send to the
    /// previous target.
    pub(super) fn changes_target(&mut self, file: usize) {
        self.changes_own(file);
        if let Some((object, kind)) = self.receiver_of(file, None) {
            self.also(object, kind);
        }
    }

    /// Dissolves the connection of a datagram socket. A port that the program has not requested becomes free.
    pub(super) fn dissolve(&mut self, file: usize) -> Answer {
        self.changes_target(file);
        let socket = self.datagram(file)?;
        if socket.is_unix() {
            return self.replace_peer(file, None);
        }
        socket.remote = None;
        socket.local = socket.requested.clone();
        if socket.local.port() == 0 {
            self.names.retain(|_, named| *named != file);
        }
        self.notify(file, 0);
        Ok(0)
    }

    pub(super) fn datagram(&mut self, file: usize) -> Result<&mut Datagram, c_int> {
        match &mut self.file(file).kind {
            Kind::Datagram(datagram) => Ok(datagram),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    /// Takes the next packet. Returns its whole size, which may exceed the room, and the sender.
    pub(super) fn receive(
        &mut self,
        file: usize,
        into: &mut [u8],
        peeks: bool,
    ) -> Result<(usize, Address), c_int> {
        let waits = self.waits;
        let socket = self.datagram(file)?;
        if socket.error != 0 {
            let error = std::mem::take(&mut socket.error);
            self.notify(file, 0);
            return Err(error);
        }
        if socket.packets.is_empty() && socket.shut[0] && waits {
            return Ok((0, Address::Path(Vec::new())));
        }
        let is_unix = socket.is_unix();
        let (sender, bytes) = socket.packets.front().cloned().ok_or(libc::EAGAIN)?;
        let size = bytes.len().min(into.len());
        into[..size].copy_from_slice(&bytes[..size]);
        if !peeks {
            let senders = if is_unix { self.without_room(file) } else { Vec::new() };
            self.datagram(file)?.packets.pop_front();
            self.notify(file, 0);
            for sender in senders {
                self.notify(sender, OUT);
            }
        }
        Ok((bytes.len(), sender))
    }

    /// Sends a packet to `to` or, if `to` is `None`, to the address to which the socket is connected.
    pub(super) fn send(&mut self, file: usize, from: &[u8], to: Option<Address>) -> Answer {
        let socket = self.datagram(file)?;
        if socket.error != 0 {
            let error = std::mem::take(&mut socket.error);
            self.notify(file, 0);
            return Err(error);
        }
        if socket.is_unix() {
            return self.send_packet(file, from, to.as_ref());
        }
        // The kernel gives the socket a port before it looks for an address.
        if socket.local.port() == 0 {
            self.name_anew(file)?;
        }
        let socket = self.datagram(file)?;
        let to = to.or_else(|| socket.remote.clone()).ok_or(libc::EDESTADDRREQ)?.target();
        if socket.shut[1] {
            return Err(libc::EPIPE);
        }
        if from.len() > LARGEST {
            return Err(libc::EMSGSIZE);
        }
        let socket = self.datagram(file)?;
        let mut sender = socket.local.clone();
        if sender.is_unspecified() {
            sender = to.with_port(sender.port());
        }
        let is_connected = socket.remote.is_some();
        if let Some(receiver) = self.named(false, &to) {
            let socket = self.datagram(receiver)?;
            let sender = sender.seen_by(&socket.local);
            // A socket that is connected to another address does not exist for this sender.
            if socket.remote.as_ref().is_none_or(|remote| *remote == sender) {
                if socket.packets.len() < PACKETS {
                    socket.packets.push_back((sender, from.to_vec()));
                    self.notify(receiver, IN);
                }
                return Ok(from.len());
            }
        }
        if is_connected {
            self.datagram(file)?.error = libc::ECONNREFUSED;
            self.notify(file, IN | ERR);
        }
        Ok(from.len())
    }
}
