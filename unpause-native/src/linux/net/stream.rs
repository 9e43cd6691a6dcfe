//! Connections. Each of the two ends contains the bytes that it has received. TCP, Unix sockets and pipes differ in
//! what an end sees when the other end closes.

use std::collections::VecDeque;
use std::ffi::c_int;

use super::address::Address;
use super::{Answer, ERR, Events, HUP, IN, Kind, Net, OUT, RDHUP};

/// The number of bytes in the buffer of an end before the other end must wait.
pub(super) const CAPACITY: usize = 1 << 16;

/// The maximum number of bytes that a pipe accepts atomically.
pub(super) const WHOLE: usize = 4096;

/// The kind of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wire {
    Tcp,
    Unix,
    /// The read end of a pipe.
    Source,
    /// The write end of a pipe.
    Sink,
}

/// One end of a connection.
pub(super) struct Stream {
    pub(super) wire: Wire,
    /// The other end; `None` if it has ended.
    pub(super) peer: Option<usize>,
    input: VecDeque<u8>,
    /// The sizes of the writes that are in the input. A Unix socket notifies its writer when a whole write was read.
    parts: VecDeque<usize>,
    /// True if the other end sends no more bytes.
    finished: bool,
    /// True if this end was shut down for reading, or for writing.
    shut: [bool; 2],
    /// An error that the next call returns; 0 for no error.
    pub(super) error: c_int,
    /// True if a write found no room. The end is then notified when there is room.
    wants_room: bool,
    /// True if the socket was bound before it was connected.
    pub(super) is_bound: bool,
    pub(super) local: Address,
    pub(super) remote: Address,
}

impl Stream {
    pub(super) fn new(wire: Wire, local: Address, remote: Address) -> Stream {
        let (input, parts, shut) = (VecDeque::new(), VecDeque::new(), [false; 2]);
        let (finished, error, wants_room, is_bound) = (false, 0, false, false);
        let peer = None;
        Stream {
            wire,
            peer,
            input,
            parts,
            finished,
            shut,
            error,
            wants_room,
            is_bound,
            local,
            remote,
        }
    }

    /// Returns `true` if neither end of a TCP connection sends more bytes.
    fn is_over(&self) -> bool {
        self.shut[1] && (self.finished || self.peer.is_none())
    }

    /// Returns the error that the next call returns after this end has dissolved the TCP connection, as in the kernel.
    pub(super) fn error_after_end(&self) -> c_int {
        if self.is_over() { self.error } else { libc::ECONNRESET }
    }

    fn has_no_more_input(&self) -> bool {
        self.finished || self.shut[0] || self.peer.is_none()
    }

    /// Removes bytes that were read. Returns `true` if this completes a write.
    fn take(&mut self, size: usize) -> bool {
        self.input.drain(..size);
        let (mut left, mut ends) = (size, false);
        while let Some(part) = self.parts.front_mut().filter(|_| left > 0) {
            let taken = left.min(*part);
            (left, *part) = (left - taken, *part - taken);
            if *part == 0 {
                self.parts.pop_front();
                ends = true;
            }
        }
        ends
    }

    /// Returns the number of bytes that can be read.
    pub(super) fn readable(&self) -> usize {
        self.input.len()
    }
}

impl Net {
    /// Returns the two ends of a new connection.
    pub(super) fn connection(&mut self, ends: [Stream; 2], object: u64) -> [usize; 2] {
        let [one, two] = ends.map(|end| self.add(Kind::Stream(end), object));
        self.stream(one).peer = Some(two);
        self.stream(two).peer = Some(one);
        [one, two]
    }

    pub(super) fn stream(&mut self, file: usize) -> &mut Stream {
        match &mut self.file(file).kind {
            Kind::Stream(stream) => stream,
            _ => unreachable!("the file is a stream"),
        }
    }

    /// Returns the room of an end for bytes from the other end.
    fn room(&self, peer: Option<usize>) -> usize {
        let peer = peer.and_then(|peer| self.files[peer].as_ref());
        match peer.map(|peer| &peer.kind) {
            Some(Kind::Stream(stream)) => CAPACITY.saturating_sub(stream.input.len()),
            _ => CAPACITY,
        }
    }

    pub(super) fn readiness_of_stream(&self, stream: &Stream) -> Events {
        let has_input = if stream.input.is_empty() { 0 } else { IN };
        let has_room = if self.room(stream.peer) > 0 || stream.shut[1] { OUT } else { 0 };
        let failed = if stream.error != 0 { ERR } else { 0 };
        let (closed, ended) = (stream.has_no_more_input(), stream.peer.is_none());
        match stream.wire {
            Wire::Source => has_input | if ended { HUP } else { 0 },
            Wire::Sink => {
                // A pipe is ready for a write if it accepts a whole one.
                let has_room = if self.room(stream.peer) >= WHOLE { OUT } else { 0 };
                has_room | if ended { ERR } else { 0 }
            }
            Wire::Tcp | Wire::Unix => {
                let reads = if closed || stream.error != 0 { IN } else { 0 };
                let half = if closed { RDHUP } else { 0 };
                let is_whole = closed && stream.shut[1] || ended && stream.wire == Wire::Unix;
                has_input | has_room | failed | reads | half | if is_whole { HUP } else { 0 }
            }
        }
    }

    pub(super) fn read_stream(&mut self, file: usize, into: &mut [u8], peeks: bool) -> Answer {
        let stream = self.stream(file);
        if stream.wire == Wire::Sink {
            return Err(libc::EBADF);
        }
        let size = into.len().min(stream.input.len());
        if size > 0 || into.is_empty() {
            for (to, from) in into.iter_mut().zip(&stream.input) {
                *to = *from;
            }
            if peeks || size == 0 {
                return Ok(size);
            }
            let had_room = stream.input.len() + WHOLE <= CAPACITY;
            let ends = stream.take(size);
            let has_room = stream.input.len() + WHOLE <= CAPACITY;
            let (peer, wire) = (stream.peer, stream.wire);
            self.notify(file, 0);
            if let Some(peer) = peer {
                let is_told = match wire {
                    Wire::Source => has_room && !had_room,
                    _ => std::mem::take(&mut self.stream(peer).wants_room),
                };
                if is_told || ends && wire == Wire::Unix {
                    self.notify(peer, OUT);
                }
            }
            return Ok(size);
        }
        if stream.error != 0 && (!stream.finished || stream.wire == Wire::Unix) {
            let error = std::mem::take(&mut stream.error);
            self.notify(file, 0);
            return Err(error);
        }
        if stream.has_no_more_input() { Ok(0) } else { Err(libc::EAGAIN) }
    }

    pub(super) fn write_stream(&mut self, file: usize, from: &[u8]) -> Answer {
        let stream = self.stream(file);
        let (wire, peer) = (stream.wire, stream.peer);
        if wire == Wire::Source {
            return Err(libc::EBADF);
        }
        if stream.shut[1] || peer.is_none() && wire != Wire::Tcp {
            let is_told = wire == Wire::Tcp && stream.error != 0;
            if !is_told {
                return Err(libc::EPIPE);
            }
            let error = std::mem::take(&mut stream.error);
            self.notify(file, OUT);
            return Err(error);
        }
        let ended =
            peer.is_none_or(|peer| wire == Wire::Tcp && self.stream(peer).shut == [true; 2]);
        if ended && !from.is_empty() {
            // The packet is sent, but the other host replies that the connection does not exist.
            peer.into_iter().for_each(|peer| self.reset(peer));
            self.reset(file);
            return Ok(from.len());
        }
        let Some(peer) = peer else { return Ok(0) };
        let room = self.room(Some(peer));
        let is_whole = matches!(wire, Wire::Sink) && from.len() <= WHOLE;
        if !from.is_empty() && (room == 0 || is_whole && room < from.len()) {
            self.stream(file).wants_room = true;
            return Err(libc::EAGAIN);
        }
        let size = from.len().min(room);
        // As in the kernel, this also happens after a partial write, because the writer may wait for room at once.
        self.stream(file).wants_room = size < from.len();
        let input = self.stream(peer);
        input.input.extend(&from[..size]);
        if size > 0 {
            input.parts.push_back(size);
            self.notify(peer, IN);
        }
        Ok(size)
    }

    /// Resets one end of a connection, because the other end has rejected a packet.
    fn reset(&mut self, file: usize) {
        let stream = self.stream(file);
        stream.error = if stream.finished { libc::EPIPE } else { libc::ECONNRESET };
        (stream.peer, stream.shut[1]) = (None, true);
        self.notify(file, IN | OUT | RDHUP | HUP | ERR);
    }

    /// Shuts down an end for reading, writing or both.
    pub(super) fn shut_down(&mut self, file: usize, [reads, writes]: [bool; 2]) -> Answer {
        let stream = self.stream(file);
        let peer = stream.peer;
        if stream.wire == Wire::Tcp && stream.is_over() {
            return Err(libc::ENOTCONN);
        }
        stream.shut[0] |= reads;
        stream.shut[1] |= writes;
        self.notify(file, IN | OUT | RDHUP | HUP);
        if let Some(peer) = peer {
            let peer_end = self.stream(peer);
            let is_unix = peer_end.wire == Wire::Unix;
            let is_news = writes && !peer_end.finished;
            peer_end.finished |= writes;
            // A Unix socket is notified that the other end no longer reads, but a TCP host is not.
            peer_end.shut[1] |= reads && is_unix;
            if is_news || is_unix {
                self.notify(peer, IN | OUT | RDHUP | HUP);
            }
        }
        Ok(0)
    }

    /// Ends a TCP connection that one end has dissolved. The other end is reset, unless the connection was over.
    pub(super) fn dissolved(&mut self, mut stream: Stream) {
        let is_reset = !stream.is_over();
        stream.input.clear();
        self.end_stream(stream, is_reset);
    }

    /// Closes an end of a connection that has no descriptor.
    pub(super) fn end_stream(&mut self, stream: Stream, is_reset: bool) {
        let Some(peer) = stream.peer else { return };
        let left = !stream.input.is_empty() && matches!(stream.wire, Wire::Tcp | Wire::Unix);
        let other = self.stream(peer);
        other.peer = None;
        if is_reset || left {
            // The other end is notified if bytes were not read.
            let half = other.finished && other.wire == Wire::Tcp;
            other.error = if half { libc::EPIPE } else { libc::ECONNRESET };
            other.shut[1] = true;
        } else if std::mem::replace(&mut other.finished, true) && stream.wire == Wire::Tcp {
            // The other end was already notified by the shutdown.
            return;
        }
        self.notify(peer, IN | OUT | RDHUP | HUP | ERR);
    }
}
