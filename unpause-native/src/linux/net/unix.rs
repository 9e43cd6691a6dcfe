//! Unix datagram sockets, and the names of Unix sockets.
//!
//! No packet is lost, because a sender waits for room. A socket need not have a name, so a socket refers to its peer by
//! file. As in the kernel, a name is a file in a folder, so a program finds and removes it with the functions for
//! files. A connection to the name of a closed socket is refused. The run removes the files that it leaves.

use std::ffi::{CString, c_int};
use std::io;

use super::address::Address;
use super::datagram::Datagram;
use super::{Answer, ERR, Events, HUP, IN, Kind, Net, OUT, RDHUP};

/// The maximum number of packets in a socket that is not connected to the sender: the kernel's limit of 10, plus one.
const PACKETS: usize = 11;
/// The maximum number of bytes in transit between two sockets that are connected to each other.
const BYTES: usize = 212_992;
/// The number of bytes that a packet occupies in addition to its content.
const HEAD: usize = 768;
/// The maximum size of a packet.
const LARGEST: usize = BYTES - 32;

/// The files that are names of the run's sockets, with their inode numbers.
#[derive(Default)]
pub(super) struct Names(Vec<(CString, libc::ino_t)>);

impl Names {
    /// Creates the file of a name.
    pub(super) fn add(&mut self, path: &[u8]) -> Result<(), c_int> {
        let path = CString::new(path).map_err(|_| libc::EINVAL)?;
        // SAFETY: a system call with a string.
        if unsafe { libc::mknod(path.as_ptr(), libc::S_IFSOCK | 0o777, 0) } != 0 {
            return Err(match io::Error::last_os_error().raw_os_error() {
                Some(libc::EEXIST) => libc::EADDRINUSE,
                error => error.unwrap_or(libc::EACCES),
            });
        }
        let number = number(&path).unwrap_or(0);
        self.0.push((path, number));
        Ok(())
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for (path, made) in self.0.drain(..) {
            // The program may have removed the file, and created another file with this path.
            if number(&path) == Some(made) {
                // SAFETY: a system call with a string.
                unsafe { libc::unlink(path.as_ptr()) };
            }
        }
    }
}

/// Returns the inode number of a file. `None` if the path does not exist.
fn number(path: &CString) -> Option<libc::ino_t> {
    // SAFETY: the type allows all bytes to be zero. The system call takes a string, and there is room for the result.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::lstat(path.as_ptr(), &mut status) == 0).then_some(status.st_ino)
    }
}

impl Net {
    /// Returns the socket with a name, for a stream socket or a datagram socket.
    pub(super) fn at_path(&self, is_stream: bool, name: &Address) -> Result<usize, c_int> {
        let found = |is_stream| self.names.get(&(is_stream, name.clone())).copied();
        let Address::Path(path) = name else { return Err(libc::EINVAL) };
        if is_file(path) {
            let path = CString::new(path.as_slice()).map_err(|_| libc::EINVAL)?;
            number(&path).ok_or(libc::ENOENT)?;
            if found(is_stream).is_none() && found(!is_stream).is_some() {
                return Err(libc::EPROTOTYPE);
            }
        }
        found(is_stream).ok_or(libc::ECONNREFUSED)
    }

    /// Returns two datagram sockets that are connected to each other.
    pub(super) fn pair_of_packets(&mut self) -> [usize; 2] {
        let ends = [(); 2].map(|()| {
            let object = self.new_object();
            let unnamed = Address::Path(Vec::new());
            let socket = Datagram { remote: Some(unnamed.clone()), ..Datagram::new(unnamed) };
            self.add(Kind::Datagram(socket), object)
        });
        for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            if let Kind::Datagram(socket) = &mut self.file(end).kind {
                socket.peer = Some(other);
            }
        }
        ends
    }

    /// Connects a datagram socket to a name. Packets from a previous peer are lost.
    pub(super) fn connect_packets(&mut self, file: usize, to: Address) -> Answer {
        let other = self.at_path(false, &to)?;
        if self.datagram(other)?.peer.is_some_and(|peer| peer != file) {
            return Err(libc::EPERM);
        }
        let socket = self.datagram(file)?;
        socket.remote = Some(to);
        let before = socket.peer.replace(other).filter(|before| *before != other);
        if let Some(before) = before {
            socket.packets.clear();
            if let Some(Kind::Datagram(socket)) = self.kind(before)
                && socket.peer == Some(file)
            {
                self.datagram(before)?.error = libc::ECONNRESET;
                self.notify(before, IN | ERR);
            }
        }
        self.notify(file, OUT);
        Ok(0)
    }

    /// Sends a packet to a name or, without a name, to the peer of the socket.
    pub(super) fn send_packet(&mut self, file: usize, from: &[u8], to: Option<&Address>) -> Answer {
        let socket = self.datagram(file)?;
        let (sender, peer) = (socket.local.clone(), socket.peer);
        if socket.shut[1] {
            return Err(libc::EPIPE);
        }
        if from.len() > LARGEST {
            return Err(libc::EMSGSIZE);
        }
        let receiver = match to {
            Some(to) => self.at_path(false, to)?,
            None => peer.ok_or(libc::ENOTCONN)?,
        };
        let Some(Kind::Datagram(socket)) = self.kind(receiver) else {
            // The peer is closed.
            let socket = self.datagram(file)?;
            (socket.peer, socket.remote) = (None, None);
            self.notify(file, 0);
            return Err(libc::ECONNREFUSED);
        };
        if socket.peer.is_some_and(|peer| peer != file) {
            return Err(libc::EPERM);
        }
        if socket.shut[0] {
            return Err(libc::EPIPE);
        }
        if !has_room(socket, file) {
            return Err(libc::EAGAIN);
        }
        self.datagram(receiver)?.packets.push_back((sender, from.to_vec()));
        self.notify(receiver, IN);
        Ok(from.len())
    }

    /// Returns the connected sockets without room for a packet. If this socket is closed, returns all connected
    /// sockets.
    pub(super) fn without_room(&self, file: usize) -> Vec<usize> {
        let waits = |other: &usize| match self.kind(*other) {
            Some(Kind::Datagram(socket)) if socket.peer == Some(file) => match self.kind(file) {
                Some(Kind::Datagram(receiver)) => !has_room(receiver, *other),
                _ => true,
            },
            _ => false,
        };
        (0..self.files.len()).filter(waits).collect()
    }

    /// Shuts down a datagram socket for reading, writing or both. The peer is not notified.
    pub(super) fn shut_packets(&mut self, file: usize, [reads, writes]: [bool; 2]) -> Answer {
        let socket = self.datagram(file)?;
        if socket.peer.is_none() {
            return Err(libc::ENOTCONN);
        }
        socket.shut[0] |= reads;
        socket.shut[1] |= writes;
        self.notify(file, IN | OUT | RDHUP | HUP);
        Ok(0)
    }

    /// Returns the readiness of a Unix datagram socket. It is not writable if its peer has no room.
    pub(super) fn readiness_of_packets(&self, file: usize, socket: &Datagram) -> Events {
        let receiver = socket.peer.and_then(|peer| self.kind(peer));
        let is_full = matches!(receiver, Some(Kind::Datagram(socket)) if !has_room(socket, file));
        let shut = match socket.shut {
            [true, true] => IN | RDHUP | HUP,
            [true, false] => IN | RDHUP,
            _ => 0,
        };
        socket.readiness() & if is_full { !OUT } else { !0 } | shut
    }

    /// Returns the kind of a file, unless the file is closed.
    fn kind(&self, file: usize) -> Option<&Kind> {
        self.files[file].as_ref().map(|file| &file.kind)
    }
}

/// Returns `true` if a socket has room for another packet from the socket `sender`.
fn has_room(socket: &Datagram, sender: usize) -> bool {
    if socket.peer != Some(sender) {
        return socket.packets.len() < PACKETS;
    }
    socket.packets.iter().map(|(_, bytes)| HEAD + bytes.len()).sum::<usize>() < BYTES
}

/// Returns `true` if the name is a file. An abstract name, which begins with a zero byte, is not a file.
pub(super) fn is_file(path: &[u8]) -> bool {
    path.first().is_some_and(|first| *first != 0)
}
