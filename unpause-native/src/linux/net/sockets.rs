//! Names of sockets: bind, listen, connect, accept.

use std::collections::VecDeque;
use std::ffi::c_int;

use super::address::Address;
use super::stream::{Stream, Wire};
use super::unix::is_file;
use super::{Answer, Events, HUP, IN, Kind, Net, OUT};

/// The first port for a socket without a requested port, and the number of such ports.
const PORTS: (u16, u16) = (32_768, 28_232);

/// A stream socket that neither is connected nor listens.
pub(super) struct Unbound {
    pub(super) domain: c_int,
    pub(super) local: Address,
}

impl Unbound {
    pub(super) fn readiness(&self) -> Events {
        OUT | HUP
    }
}

/// A socket that listens.
pub(super) struct Listener {
    pub(super) local: Address,
    /// The local ends of connections that were not accepted.
    pub(super) waiting: VecDeque<usize>,
}

impl Listener {
    pub(super) fn readiness(&self) -> Events {
        if self.waiting.is_empty() { 0 } else { IN }
    }
}

impl Net {
    /// Returns the socket that receives packets for an address.
    pub(super) fn named(&self, is_stream: bool, address: &Address) -> Option<usize> {
        let unspecified = match address {
            Address::V4(_, port) => Address::V4([0; 4], *port),
            Address::V6(_, port) => Address::V6([0; 16], *port),
            Address::Path(_) => address.clone(),
        };
        let exact = self.names.get(&(is_stream, address.clone()));
        exact.or_else(|| self.names.get(&(is_stream, unspecified))).copied()
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
        let mut address = address;
        if address.port() == 0 && !matches!(address, Address::Path(_)) {
            address = address.with_port(self.free_port(is_stream)?);
        }
        let taken = |(stream, name): &(bool, Address)| {
            let overlaps = name.with_port(0) == address.with_port(0)
                || name.is_unspecified()
                || address.is_unspecified();
            let is_path = matches!(address, Address::Path(_));
            let same = if is_path { *name == address } else { overlaps };
            *stream == is_stream
                && name.port() == address.port()
                && std::mem::discriminant(name) == std::mem::discriminant(&address)
                && same
        };
        if self.names.keys().any(taken) {
            return Err(libc::EADDRINUSE);
        }
        if let Address::Path(path) = &address
            && is_file(path)
        {
            self.name_files.add(path)?;
        }
        self.names.insert((is_stream, address.clone()), file);
        let object = Net::object_of(&address, is_stream);
        let entry = self.file(file);
        entry.object = object;
        match &mut entry.kind {
            Kind::Unbound(unbound) => unbound.local = address,
            Kind::Datagram(datagram) => datagram.local = address,
            _ => {}
        }
        self.change(object);
        Ok(0)
    }

    pub(super) fn listen(&mut self, file: usize) -> Answer {
        let (local, domain) = match &self.file(file).kind {
            Kind::Unbound(unbound) => (unbound.local.clone(), unbound.domain),
            Kind::Listener(_) => return Ok(0),
            _ => return Err(libc::EOPNOTSUPP),
        };
        if is_unnamed(&local) {
            if domain == libc::AF_UNIX {
                return Err(libc::EINVAL);
            }
            self.bind(file, local)?;
            return self.listen(file);
        }
        self.file(file).kind = Kind::Listener(Listener { local, waiting: VecDeque::new() });
        self.notify(file, 0);
        Ok(0)
    }

    /// Connects a socket. If the socket is nonblocking, the error `EINPROGRESS` means that the connection is
    /// established.
    pub(super) fn connect(&mut self, file: usize, to: Address) -> Answer {
        if let Kind::Datagram(datagram) = &mut self.file(file).kind {
            if datagram.is_unix() {
                return self.connect_packets(file, to);
            }
            datagram.remote = Some(to.target());
            let is_new = datagram.local.port() == 0;
            if is_new {
                self.name_anew(file)?;
            }
            let socket = self.datagram(file)?;
            if socket.local.is_unspecified() {
                socket.local = to.target().with_port(socket.local.port());
            }
            return Ok(0);
        }
        let (local, domain) = match &self.file(file).kind {
            Kind::Unbound(unbound) => (unbound.local.clone(), unbound.domain),
            Kind::Stream(_) => return Err(libc::EISCONN),
            _ => return Err(libc::EINVAL),
        };
        if !to.is_local() {
            return Err(libc::ENETUNREACH);
        }
        let to = to.target();
        let listener = match domain {
            libc::AF_UNIX => self.at_path(true, &to)?,
            _ => self.named(true, &to).ok_or(libc::ECONNREFUSED)?,
        };
        if !matches!(self.file(listener).kind, Kind::Listener(_)) {
            return Err(libc::ECONNREFUSED);
        }
        let local = match (&local, is_unnamed(&local)) {
            (Address::Path(_), _) => local,
            (_, true) => to.with_port(self.free_port(true)?),
            (_, false) => match local.is_unspecified() {
                true => to.with_port(local.port()),
                false => local,
            },
        };
        let wire = if domain == libc::AF_UNIX { Wire::Unix } else { Wire::Tcp };
        let object = self.new_object();
        let accepted = Stream::new(wire, to.clone(), local.clone());
        let mut own = Stream::new(wire, local.clone(), to);
        let accepted = self.add(Kind::Stream(accepted), object);
        own.peer = Some(accepted);
        self.stream(accepted).peer = Some(file);
        if !matches!(local, Address::Path(_)) {
            // The port stays in use while the socket is open.
            self.names.entry((true, local)).or_insert(file);
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

    /// Accepts the first waiting connection. Returns its descriptor, and the address of the other end.
    pub(super) fn accept(
        &mut self,
        file: usize,
        nonblocking: bool,
    ) -> Result<(c_int, Address), c_int> {
        let Kind::Listener(listener) = &mut self.file(file).kind else {
            return Err(libc::EINVAL);
        };
        let accepted = listener.waiting.pop_front().ok_or(libc::EAGAIN)?;
        self.notify(file, 0);
        let remote = self.stream(accepted).remote.clone();
        Ok((self.open(accepted, nonblocking), remote))
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
            (Kind::Event { .. } | Kind::Epoll(_), _) => Err(libc::ENOTSOCK),
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
