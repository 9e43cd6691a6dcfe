//! Names of sockets: bind, listen, connect, accept.

use std::collections::VecDeque;
use std::ffi::c_int;

use super::address::Address;
use super::stream::{Stream, Wire};
use super::unix::is_file;
use super::{Answer, ERR, Events, HUP, IN, Kind, Net, OUT, RDHUP, objects};

/// The first port for a socket without a requested port, and the number of such ports.
const PORTS: (u16, u16) = (32_768, 28_232);

/// A stream socket that neither is connected nor listens.
pub(super) struct Unbound {
    pub(super) domain: c_int,
    pub(super) local: Address,
    /// True if a nonblocking call has begun a connection, which was then refused.
    pub(super) has_failed: bool,
    /// The error of this connection, which the next call returns; 0 for no error.
    pub(super) error: c_int,
}

impl Unbound {
    pub(super) fn new(domain: c_int, local: Address) -> Unbound {
        Unbound { domain, local, has_failed: false, error: 0 }
    }

    pub(super) fn readiness(&self) -> Events {
        let failed = if self.has_failed { IN | RDHUP } else { 0 };
        OUT | HUP | failed | if self.error != 0 { ERR } else { 0 }
    }
}

/// A socket that listens.
pub(super) struct Listener {
    pub(super) local: Address,
    /// The local ends of connections that were not accepted.
    pub(super) waiting: VecDeque<usize>,
    /// True if a Unix socket was shut down for reading, or for writing.
    pub(super) shut: [bool; 2],
}

impl Listener {
    pub(super) fn readiness(&self) -> Events {
        let waiting = if self.waiting.is_empty() { 0 } else { IN };
        let shut = match self.shut {
            [true, true] => IN | RDHUP | HUP,
            [true, false] => IN | RDHUP,
            _ => 0,
        };
        waiting | shut
    }
}

impl Net {
    /// Returns the socket that receives packets for an address. A socket for all IPv6 addresses also receives packets
    /// for all IPv4 addresses, unless an option forbids this.
    pub(super) fn named(&self, is_stream: bool, address: &Address) -> Option<usize> {
        let address = address.unmapped();
        let port = address.port();
        let find = |address: Address| self.names.get(&(is_stream, address)).copied();
        let all_v6 = || find(Address::V6([0; 16], port));
        let exact = find(address.clone());
        match address {
            Address::V4(..) => {
                let both = || all_v6().filter(|file| !self.is_only_v6(*file));
                exact.or_else(|| find(Address::V4([0; 4], port))).or_else(both)
            }
            Address::V6(..) => exact.or_else(all_v6),
            Address::Path(_) => self.at_path(is_stream, &address).ok(),
        }
    }

    /// Returns `true` if a socket has the option that forbids IPv4 addresses.
    fn is_only_v6(&self, file: usize) -> bool {
        let option = (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
        let value = self.files[file].as_ref().and_then(|file| file.options.get(&option));
        value.is_some_and(|value| value.iter().any(|byte| *byte != 0))
    }

    /// Returns a free port. It depends on the earlier objects of the thread, and on other threads only if they use the
    /// port.
    fn free_port(&mut self, is_stream: bool) -> Result<u16, c_int> {
        let start = (self.new_object() % u64::from(PORTS.1)) as u16;
        let is_free = |port: &u16| {
            !self.names.keys().any(|(stream, name)| *stream == is_stream && name.port() == *port)
        };
        let mut ports = (0..PORTS.1).map(|more| PORTS.0 + (start + more) % PORTS.1);
        ports.find(is_free).ok_or(libc::EADDRINUSE)
    }

    /// Binds a datagram socket to a port.
    pub(super) fn name_anew(&mut self, file: usize) -> Result<(), c_int> {
        let local = self.datagram(file)?.local.clone();
        self.bind(file, local).map(drop)
    }

    pub(super) fn bind(&mut self, file: usize, address: Address) -> Answer {
        if !address.is_local() {
            return Err(libc::EADDRNOTAVAIL);
        }
        let entry = self.file(file);
        let is_stream = match &entry.kind {
            Kind::Unbound(unbound) if is_unnamed(&unbound.local) => true,
            Kind::Datagram(datagram) if is_unnamed(&datagram.local) => false,
            _ => return Err(libc::EINVAL),
        };
        let (mut address, requested) = (address.clone(), address);
        if address.port() == 0 && !matches!(address, Address::Path(_)) {
            address = address.with_port(self.free_port(is_stream)?);
        }
        let key = address.unmapped();
        if key != address && self.is_only_v6(file) {
            return Err(libc::EINVAL);
        }
        let taken = |((stream, name), other): (&(bool, Address), &usize)| {
            let overlaps = match (name, &key) {
                (Address::V4(..), Address::V4(..)) | (Address::V6(..), Address::V6(..)) => {
                    name.with_port(0) == key.with_port(0)
                        || name.is_unspecified()
                        || key.is_unspecified()
                }
                // A socket for all IPv6 addresses also has all IPv4 addresses.
                (Address::V6(..), Address::V4(..)) => {
                    name.is_unspecified() && !self.is_only_v6(*other)
                }
                (Address::V4(..), Address::V6(..)) => {
                    key.is_unspecified() && !self.is_only_v6(file)
                }
                _ => *name == key,
            };
            *stream == is_stream && name.port() == key.port() && overlaps
        };
        if self.names.iter().any(taken) {
            return Err(libc::EADDRINUSE);
        }
        match &address {
            Address::Path(path) if is_file(path) => {
                self.also(objects::FILES, objects::KIND);
                self.name_files.add(path, is_stream, file)?;
            }
            _ => _ = self.names.insert((is_stream, key), file),
        }
        let object = Net::object_of(&address, is_stream);
        let entry = self.file(file);
        entry.object = object;
        match &mut entry.kind {
            Kind::Unbound(unbound) => unbound.local = address,
            Kind::Datagram(datagram) => {
                (datagram.local, datagram.requested) = (address, requested);
            }
            _ => {}
        }
        self.change(object);
        Ok(0)
    }

    pub(super) fn listen(&mut self, file: usize) -> Answer {
        let (local, domain) = match &self.file(file).kind {
            Kind::Unbound(unbound) if !unbound.has_failed => {
                (unbound.local.clone(), unbound.domain)
            }
            Kind::Listener(_) => return Ok(0),
            Kind::Datagram(_) => return Err(libc::EOPNOTSUPP),
            _ => return Err(libc::EINVAL),
        };
        if is_unnamed(&local) {
            if domain == libc::AF_UNIX {
                return Err(libc::EINVAL);
            }
            self.bind(file, local)?;
            return self.listen(file);
        }
        let (waiting, shut) = (VecDeque::new(), [false; 2]);
        self.file(file).kind = Kind::Listener(Listener { local, waiting, shut });
        self.notify(file, 0);
        Ok(0)
    }

    /// Connects a socket. If the socket is nonblocking, the error `EINPROGRESS` means that the connection is
    /// established or refused.
    pub(super) fn connect(&mut self, file: usize, to: Address) -> Answer {
        if let Kind::Datagram(datagram) = &mut self.file(file).kind {
            if datagram.is_unix() {
                return self.connect_packets(file, to);
            }
            let is_new = datagram.local.port() == 0;
            self.changes_target(file);
            self.datagram(file)?.remote = Some(to.target());
            if is_new {
                self.name_anew(file)?;
            }
            let socket = self.datagram(file)?;
            if socket.local.is_unspecified() {
                socket.local = to.target().with_port(socket.local.port());
            }
            return Ok(0);
        }
        let (local, domain) = match &mut self.file(file).kind {
            Kind::Unbound(unbound) if unbound.has_failed => {
                unbound.has_failed = false;
                self.changes_own(file);
                let error = self.take_error(file);
                self.notify(file, 0);
                return Err(if error == 0 { libc::ECONNABORTED } else { error });
            }
            Kind::Unbound(unbound) => (unbound.local.clone(), unbound.domain),
            Kind::Stream(_) => return Err(libc::EISCONN),
            _ => return Err(libc::EINVAL),
        };
        if !to.is_local() {
            return Err(libc::ENETUNREACH);
        }
        let to = to.target();
        let listener = match domain {
            libc::AF_UNIX => {
                self.uses_files(&to);
                self.at_path(true, &to)?
            }
            _ => match self.named(true, &to) {
                Some(named) => named,
                None => return self.refuse(file),
            },
        };
        let listens = match &self.file(listener).kind {
            Kind::Listener(listener) if !listener.shut[0] => listener.local.clone(),
            _ => return self.refuse(file),
        };
        let is_bound = !is_unnamed(&local);
        let local = match (&local, is_bound) {
            (Address::Path(_), _) => local,
            (_, false) => to.with_port(self.free_port(true)?),
            (_, true) => match local.is_unspecified() {
                true => to.with_port(local.port()),
                false => local,
            },
        };
        let wire = if domain == libc::AF_UNIX { Wire::Unix } else { Wire::Tcp };
        let object = self.new_object();
        let accepted = Stream::new(wire, to.seen_by(&listens), local.seen_by(&listens));
        let mut own = Stream::new(wire, local.clone(), to);
        own.is_bound = is_bound;
        let accepted = self.add(Kind::Stream(accepted), object);
        if wire == Wire::Tcp {
            // The accepted socket inherits the options of the listener.
            let from = self.file(listener);
            let (options, timeouts) = (from.options.clone(), from.timeouts);
            let to = self.file(accepted);
            (to.options, to.timeouts) = (options, timeouts);
        }
        own.peer = Some(accepted);
        self.stream(accepted).peer = Some(file);
        if !matches!(local, Address::Path(_)) {
            // The port stays in use while the socket is open.
            self.names.entry((true, local.unmapped())).or_insert(file);
        }
        let entry = self.file(file);
        (entry.kind, entry.object) = (Kind::Stream(own), object);
        let waits = !entry.nonblocking || wire == Wire::Unix;
        if let Kind::Listener(listener) = &mut self.file(listener).kind {
            listener.waiting.push_back(accepted);
        }
        self.notify(listener, IN);
        self.notify(file, OUT);
        if waits { Ok(0) } else { Err(libc::EINPROGRESS) }
    }

    /// Refuses the connection of a socket. As in the kernel, a nonblocking TCP socket has the error afterwards.
    fn refuse(&mut self, file: usize) -> Answer {
        let entry = self.file(file);
        match &mut entry.kind {
            Kind::Unbound(unbound) if entry.nonblocking && unbound.domain != libc::AF_UNIX => {
                (unbound.has_failed, unbound.error) = (true, libc::ECONNREFUSED);
            }
            _ => return Err(libc::ECONNREFUSED),
        }
        self.changes_own(file);
        self.notify(file, IN | OUT | RDHUP | HUP | ERR);
        Err(libc::EINPROGRESS)
    }

    /// Dissolves the connection of a socket: `connect` with the family `AF_UNSPEC`.
    pub(super) fn disconnect(&mut self, file: usize) -> Answer {
        match &mut self.file(file).kind {
            Kind::Datagram(_) => self.dissolve(file),
            Kind::Unbound(unbound) if unbound.domain != libc::AF_UNIX => {
                unbound.has_failed = false;
                self.notify(file, 0);
                Ok(0)
            }
            Kind::Listener(listener) if !matches!(listener.local, Address::Path(_)) => {
                self.shut_listener(file, [true, false])
            }
            Kind::Stream(stream) if stream.wire == Wire::Tcp => {
                self.dissolve_stream(file);
                Ok(0)
            }
            _ => Err(libc::EINVAL),
        }
    }

    /// Dissolves a TCP connection. The socket can then be bound and connected again. It keeps an address to which it
    /// was bound before it was connected.
    fn dissolve_stream(&mut self, file: usize) {
        let stream = self.stream(file);
        let (domain, error) = (stream.local.domain(), stream.error_after_end());
        let local = match stream.is_bound {
            true => stream.local.clone(),
            false => Address::unspecified(domain),
        };
        let new = Unbound { error, ..Unbound::new(domain, local) };
        if is_unnamed(&new.local) {
            self.names.retain(|_, named| *named != file);
        }
        // The object remains, because other threads may have announced operations on it.
        let before = std::mem::replace(&mut self.file(file).kind, Kind::Unbound(new));
        if let Kind::Stream(stream) = before {
            self.dissolved(stream);
        }
        self.notify(file, OUT | HUP | ERR);
    }

    /// Takes the error that the next call on a socket returns; 0 for no error.
    pub(super) fn take_error(&mut self, file: usize) -> c_int {
        let error = match &mut self.file(file).kind {
            Kind::Unbound(unbound) => std::mem::take(&mut unbound.error),
            Kind::Stream(stream) => std::mem::take(&mut stream.error),
            Kind::Datagram(socket) => std::mem::take(&mut socket.error),
            _ => 0,
        };
        if error != 0 {
            self.notify(file, 0);
        }
        error
    }

    /// Accepts the first waiting connection. Returns its descriptor, and the address of the other end.
    pub(super) fn accept(
        &mut self,
        file: usize,
        nonblocking: bool,
    ) -> Result<(c_int, Address), c_int> {
        let waits = self.waits;
        let listener = match &mut self.file(file).kind {
            Kind::Listener(listener) => listener,
            Kind::Datagram(_) => return Err(libc::EOPNOTSUPP),
            _ => return Err(libc::EINVAL),
        };
        let none = if listener.shut[0] && waits { libc::EINVAL } else { libc::EAGAIN };
        let accepted = listener.waiting.pop_front().ok_or(none)?;
        self.notify(file, 0);
        let remote = self.stream(accepted).remote.clone();
        Ok((self.open(accepted, nonblocking), remote))
    }

    /// Shuts down a listener for reading, writing or both. If a TCP socket is shut down for reading, it stops
    /// listening, and resets the connections that were not accepted. A Unix socket gets no more connections.
    pub(super) fn shut_listener(&mut self, file: usize, [reads, writes]: [bool; 2]) -> Answer {
        let Kind::Listener(listener) = &mut self.file(file).kind else {
            return Err(libc::ENOTCONN);
        };
        if matches!(listener.local, Address::Path(_)) {
            listener.shut[0] |= reads;
            listener.shut[1] |= writes;
            self.notify(file, IN | RDHUP | HUP);
            return Ok(0);
        }
        let domain = listener.local.domain();
        if reads {
            let local = listener.local.clone();
            let waiting = std::mem::take(&mut listener.waiting);
            self.file(file).kind = Kind::Unbound(Unbound::new(domain, local));
            self.reset_waiting(waiting);
            self.notify(file, OUT | HUP);
        }
        Ok(0)
    }

    /// Resets connections that were not accepted.
    pub(super) fn reset_waiting(&mut self, waiting: VecDeque<usize>) {
        for waiting in waiting {
            let kind = self.files[waiting].take().map(|file| file.kind);
            if let Some(Kind::Stream(stream)) = kind {
                self.end_stream(stream, true);
            }
        }
    }

    /// Returns the address of a socket, or of the other end.
    pub(super) fn address(&mut self, file: usize, remote: bool) -> Result<Address, c_int> {
        match (&self.file(file).kind, remote) {
            (Kind::Unbound(unbound), false) => Ok(unbound.local.clone()),
            (Kind::Listener(listener), false) => Ok(listener.local.clone()),
            (Kind::Stream(stream), _) if matches!(stream.wire, Wire::Source | Wire::Sink) => {
                Err(libc::ENOTSOCK)
            }
            (Kind::Stream(stream), false) => Ok(stream.local.clone()),
            (Kind::Stream(stream), true) => Ok(stream.remote.clone()),
            (Kind::Datagram(datagram), false) => Ok(datagram.local.clone()),
            (Kind::Datagram(datagram), true) => datagram.remote.clone().ok_or(libc::ENOTCONN),
            (Kind::Unbound(_) | Kind::Listener(_), true) => Err(libc::ENOTCONN),
            (Kind::Fifo(_) | Kind::Event { .. } | Kind::Epoll(_), _) => Err(libc::ENOTSOCK),
        }
    }
}

/// Returns `true` if a socket with this address is not bound.
pub(super) fn is_unnamed(address: &Address) -> bool {
    match address {
        Address::Path(path) => path.is_empty(),
        other => other.port() == 0,
    }
}
