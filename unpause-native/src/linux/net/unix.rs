//! Unix datagram sockets, and the names of Unix sockets.
//!
//! No packet is lost, because a sender waits for room. A socket need not have a name, so a socket refers to its peer by
//! file. As in the kernel, a name is a file in a folder, so a program finds and removes it with the functions for
//! files. A connection to the name of a closed socket is refused. The run removes the files that it leaves.

use std::ffi::{CString, c_char, c_int};
use std::io;

use super::address::Address;
use super::datagram::Datagram;
use super::{Answer, ERR, Events, HUP, IN, Kind, Net, OUT, RDHUP, objects};

/// The maximum number of packets in a socket that is not connected to the sender: the kernel's limit of 10, plus one.
const PACKETS: usize = 11;
/// The maximum number of bytes in transit between two sockets that are connected to each other.
const BYTES: usize = 212_992;
/// The number of bytes that a packet occupies in addition to its content.
const HEAD: usize = 768;
/// The maximum size of a packet.
const LARGEST: usize = BYTES - 32;

/// The files that are names of the run's sockets. As in the kernel, a socket is found by its file and not by the path
/// to which it was bound, because the program may rename or remove the file.
#[derive(Default)]
pub(super) struct Names(Vec<Name>);

/// A file that is the name of a socket.
struct Name {
    /// The path to which the socket was bound.
    path: CString,
    /// The file. `None` if its number may belong to a newer file.
    identity: Option<Identity>,
    is_stream: bool,
    /// The socket. `None` if it is closed.
    socket: Option<usize>,
}

/// The device and the inode number of a file.
type Identity = (libc::dev_t, libc::ino_t);

impl Names {
    /// Creates the file of a name.
    pub(super) fn add(&mut self, path: &[u8], is_stream: bool, socket: usize) -> Result<(), c_int> {
        let path = CString::new(path).map_err(|_| libc::EINVAL)?;
        // SAFETY: a system call with a string.
        if unsafe { libc::mknod(path.as_ptr(), libc::S_IFSOCK | 0o777, 0) } != 0 {
            return Err(match last_error() {
                libc::EEXIST => libc::EADDRINUSE,
                error => error,
            });
        }
        let identity = identity(&path, libc::lstat).ok().flatten();
        // The system may give the number of a removed file to a new file.
        for name in self.0.iter_mut().filter(|name| name.identity == identity) {
            name.identity = None;
        }
        self.0.push(Name { path, identity, is_stream, socket: Some(socket) });
        Ok(())
    }

    /// Records that a socket is closed. Its name stays.
    pub(super) fn close(&mut self, socket: usize) {
        for name in self.0.iter_mut().filter(|name| name.socket == Some(socket)) {
            name.socket = None;
        }
    }

    /// Returns the socket with a file as its name.
    fn find(&self, path: &[u8], is_stream: bool) -> Result<usize, c_int> {
        let path = CString::new(path).map_err(|_| libc::EINVAL)?;
        let found = identity(&path, libc::stat)?.ok_or(libc::ECONNREFUSED)?;
        let mut open = self.0.iter().filter(|name| name.identity == Some(found));
        match open.find_map(|name| Some((name.is_stream, name.socket?))) {
            Some((of_streams, _)) if of_streams != is_stream => Err(libc::EPROTOTYPE),
            Some((_, socket)) => Ok(socket),
            None => Err(libc::ECONNREFUSED),
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        for Name { path, identity: made, .. } in self.0.drain(..) {
            // The program may have removed the file, and created another file with this path.
            if made.is_some() && identity(&path, libc::lstat) == Ok(made) {
                // SAFETY: a system call with a string.
                unsafe { libc::unlink(path.as_ptr()) };
            }
        }
    }
}

/// Returns the error of the last system call.
fn last_error() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EACCES)
}

/// Returns the identity of a socket file. `None` for other files. `call` reads the state of the file, and follows
/// symbolic links or not.
fn identity(
    path: &CString,
    call: unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int,
) -> Result<Option<Identity>, c_int> {
    // SAFETY: the type allows all bytes to be zero. The system call takes a string, and there is room for the result.
    let (result, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (call(path.as_ptr(), &mut status), status)
    };
    if result != 0 {
        return Err(last_error());
    }
    let is_socket = status.st_mode & libc::S_IFMT == libc::S_IFSOCK;
    Ok(is_socket.then_some((status.st_dev, status.st_ino)))
}

impl Net {
    /// Returns the socket with a name, for a stream socket or a datagram socket.
    pub(super) fn at_path(&self, is_stream: bool, name: &Address) -> Result<usize, c_int> {
        let Address::Path(path) = name else { return Err(libc::EINVAL) };
        if is_file(path) {
            return self.name_files.find(path, is_stream);
        }
        self.names.get(&(is_stream, name.clone())).copied().ok_or(libc::ECONNREFUSED)
    }

    /// Records that an operation on the object of an address also reads the file system, if the address is a file.
    pub(super) fn uses_files(&mut self, address: &Address) {
        if let Address::Path(path) = address
            && is_file(path)
        {
            self.also(objects::FILES, objects::KIND);
        }
    }

    /// Records that an operation on the object of an address also changes the socket itself.
    pub(super) fn changes_own(&mut self, file: usize) {
        let (object, kind) = (self.file(file).object, self.kind_of(file));
        self.also(object, kind);
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

    /// Connects a datagram socket to a name.
    pub(super) fn connect_packets(&mut self, file: usize, to: Address) -> Answer {
        self.uses_files(&to);
        self.changes_target(file);
        let other = self.at_path(false, &to)?;
        if self.datagram(other)?.peer.is_some_and(|peer| peer != file) {
            return Err(libc::EPERM);
        }
        self.replace_peer(file, Some((other, to)))
    }

    /// Changes the peer of a datagram socket. Received packets are lost. The previous peer gets an error if there are
    /// such packets.
    pub(super) fn replace_peer(&mut self, file: usize, new: Option<(usize, Address)>) -> Answer {
        let senders = self.without_room(file);
        let socket = self.datagram(file)?;
        let (peer, remote) = new.unzip();
        socket.remote = remote;
        let before = std::mem::replace(&mut socket.peer, peer);
        let has_lost = before != peer && !socket.packets.is_empty();
        if let Some(before) = before.filter(|_| has_lost) {
            socket.packets.clear();
            for sender in senders {
                self.notify(sender, OUT);
            }
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
            Some(to) => {
                self.uses_files(to);
                self.at_path(false, to)?
            }
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

    /// Shuts down a datagram socket for reading, writing or both. The peer is not notified. A UDP socket that is not
    /// connected is also shut down, although the result is an error.
    pub(super) fn shut_packets(&mut self, file: usize, [reads, writes]: [bool; 2]) -> Answer {
        let socket = self.datagram(file)?;
        socket.shut[0] |= reads;
        socket.shut[1] |= writes;
        let is_connected = socket.is_unix() || socket.remote.is_some();
        self.notify(file, IN | OUT | RDHUP | HUP);
        if is_connected { Ok(0) } else { Err(libc::ENOTCONN) }
    }

    /// Returns the readiness of a Unix datagram socket. It is not writable if its peer has no room.
    pub(super) fn readiness_of_packets(&self, file: usize, socket: &Datagram) -> Events {
        let receiver = socket.peer.and_then(|peer| self.kind(peer));
        let is_full = matches!(receiver, Some(Kind::Datagram(socket)) if !has_room(socket, file));
        socket.readiness() & if is_full { !OUT } else { !0 }
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
