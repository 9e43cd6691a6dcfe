//! Datagram sockets. For UDP, a packet is lost if its address has no socket, or a socket with a full queue. [Unix
//! sockets](super::unix) send packets in another way.

use std::collections::VecDeque;
use std::ffi::c_int;

use super::address::Address;
use super::{Answer, ERR, Events, IN, Kind, Net, OUT};

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
    /// True if a Unix socket was shut down for reading, or for writing.
    pub(super) shut: [bool; 2],
    /// The received packets with their senders.
    pub(super) packets: VecDeque<(Address, Vec<u8>)>,
    /// An error that the next call returns; 0 for no error.
    pub(super) error: c_int,
}

impl Datagram {
    pub(super) fn new(local: Address) -> Datagram {
        let (peer, shut, packets) = (None, [false; 2], VecDeque::new());
        Datagram { local, remote: None, peer, shut, packets, error: 0 }
    }

    /// Returns `true` for a Unix socket.
    pub(super) fn is_unix(&self) -> bool {
        matches!(self.local, Address::Path(_))
    }

    pub(super) fn readiness(&self) -> Events {
        let failed = self.error != 0;
        let readable = if failed || !self.packets.is_empty() { IN } else { 0 };
        readable | OUT | if failed { ERR } else { 0 }
    }

    /// Returns the size of the next packet.
    pub(super) fn readable(&self) -> usize {
        self.packets.front().map_or(0, |(_, bytes)| bytes.len())
    }
}

impl Net {
    pub(super) fn datagram(&mut self, file: usize) -> Result<&mut Datagram, c_int> {
        match &mut self.file(file).kind {
            Kind::Datagram(datagram) => Ok(datagram),
            _ => Err(libc::EOPNOTSUPP),
        }
    }

    /// Takes the next packet. Returns its size, truncated to the room, and the sender.
    pub(super) fn receive(
        &mut self,
        file: usize,
        into: &mut [u8],
        peeks: bool,
    ) -> Result<(usize, Address), c_int> {
        let is_blocking = !self.file(file).nonblocking;
        let socket = self.datagram(file)?;
        if socket.error != 0 {
            let error = std::mem::take(&mut socket.error);
            self.notify(file, 0);
            return Err(error);
        }
        if socket.packets.is_empty() && socket.shut[0] && is_blocking {
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
        Ok((size, sender))
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
        let to = to.or_else(|| socket.remote.clone()).ok_or(libc::EDESTADDRREQ)?.target();
        if from.len() > LARGEST {
            return Err(libc::EMSGSIZE);
        }
        if socket.local.port() == 0 {
            self.name_anew(file)?;
        }
        let socket = self.datagram(file)?;
        let mut sender = socket.local.clone();
        if sender.is_unspecified() {
            sender = to.with_port(sender.port());
        }
        let is_connected = socket.remote.is_some();
        let Some(receiver) = self.named(false, &to) else {
            if is_connected {
                self.datagram(file)?.error = libc::ECONNREFUSED;
                self.notify(file, IN | ERR);
            }
            return Ok(from.len());
        };
        let socket = self.datagram(receiver)?;
        let sender = sender.seen_by(&socket.local);
        let is_for_it = socket.remote.as_ref().is_none_or(|remote| *remote == sender);
        if is_for_it && socket.packets.len() < PACKETS {
            socket.packets.push_back((sender, from.to_vec()));
            self.notify(receiver, IN);
        }
        Ok(from.len())
    }
}
