//! Epoll files, which wait for events of other files. Each has a list of possibly ready files, as in the kernel
//! (fs/eventpoll.c).
//!
//! An event appends a member to the list. A wait takes members from the front, and returns the ready members. An
//! edge-triggered member then leaves the list until its next event.
//!
//! An epoll file may be a member of another epoll file. Each event of its members is then an event of the file itself.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;

use super::{Answer, ERR, Events, HUP, IN, Kind, Net};

/// A member: the registered descriptor, and its file.
pub(super) type Member = (c_int, usize);

/// The events for which a member is registered, and the value that is returned with them.
#[derive(Clone, Copy)]
pub(super) struct Interest {
    pub(super) events: Events,
    pub(super) data: u64,
}

/// The registered files, and the possibly ready files among them.
#[derive(Default)]
pub(super) struct Epoll {
    pub(super) members: BTreeMap<Member, Interest>,
    // Invariant: each entry is a member, and no entry occurs twice.
    pub(super) ready: VecDeque<Member>,
}

const EDGE: Events = libc::EPOLLET as Events;
const ONCE: Events = libc::EPOLLONESHOT as Events;
/// The bits that are flags and not events.
const FLAGS: Events = EDGE | ONCE | (libc::EPOLLWAKEUP | libc::EPOLLEXCLUSIVE) as Events;

impl Net {
    pub(super) fn epoll(&mut self, file: usize) -> Result<&mut Epoll, c_int> {
        match &mut self.file(file).kind {
            Kind::Epoll(epoll) => Ok(epoll),
            _ => Err(libc::EINVAL),
        }
    }

    /// Returns the events for which a member is both registered and ready.
    fn ready_events(&mut self, file: usize, member: &Member) -> Events {
        let epoll = self.epoll(file).ok();
        match epoll.and_then(|epoll| Some(epoll.members.get(member)?.events)) {
            Some(events) if events & !FLAGS != 0 => {
                self.readiness(member.1) & (events & !FLAGS | ERR | HUP)
            }
            _ => 0,
        }
    }

    /// Returns the readiness of an epoll file. As in the kernel, members at the front of the list that are not ready
    /// leave the list.
    pub(super) fn readiness_of_epoll(&mut self, file: usize) -> Events {
        while let Ok(epoll) = self.epoll(file)
            && let Some(member) = epoll.ready.pop_front()
        {
            if self.ready_events(file, &member) != 0 {
                if let Ok(epoll) = self.epoll(file) {
                    epoll.ready.push_front(member);
                }
                return IN;
            }
        }
        0
    }

    /// Returns `true` if an epoll file waits for events of `other`, directly or through other epoll files.
    fn waits_for(&self, file: usize, other: usize) -> bool {
        match self.files[file].as_ref().map(|file| &file.kind) {
            Some(Kind::Epoll(epoll)) => {
                let mut members = epoll.members.keys();
                members.any(|(_, member)| *member == other || self.waits_for(*member, other))
            }
            _ => false,
        }
    }

    /// Processes an event of a member.
    pub(super) fn arrived(&mut self, file: usize, descriptor: c_int, of: usize, events: Events) {
        let Ok(epoll) = self.epoll(file) else { return };
        let member = (descriptor, of);
        let Some(interest) = epoll.members.get(&member) else { return };
        let wanted = interest.events & !FLAGS;
        if wanted == 0 || events & (wanted | ERR | HUP) == 0 {
            return;
        }
        if !epoll.ready.contains(&member) {
            epoll.ready.push_back(member);
        }
        // The watchers of this file are notified although the member may be in the list already. They may have found
        // that it is not ready, or they may be edge-triggered.
        self.notify(file, IN);
    }

    /// Removes a member whose file has ended.
    pub(super) fn forget(&mut self, file: usize, member: Member) {
        if let Some(entry) = &mut self.files[file]
            && let Kind::Epoll(epoll) = &mut entry.kind
        {
            epoll.members.remove(&member);
            epoll.ready.retain(|other| *other != member);
        }
    }

    /// Registers a descriptor, changes its events, or removes it (`epoll_ctl`).
    pub(super) fn control(
        &mut self,
        file: usize,
        operation: c_int,
        descriptor: c_int,
        interest: Interest,
    ) -> Answer {
        let of = self.find(descriptor)?;
        if of == file {
            return Err(libc::EINVAL);
        }
        let member = (descriptor, of);
        let has = self.epoll(file)?.members.contains_key(&member);
        match (operation, has) {
            (libc::EPOLL_CTL_ADD, true) => return Err(libc::EEXIST),
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, false) => return Err(libc::ENOENT),
            // An event would be passed on in a circle.
            (libc::EPOLL_CTL_ADD, false) if self.waits_for(of, file) => return Err(libc::ELOOP),
            (libc::EPOLL_CTL_DEL, true) => {
                self.forget(file, member);
                self.file(of).watchers.retain(|watcher| *watcher != (file, descriptor));
            }
            (libc::EPOLL_CTL_ADD, false) => {
                self.file(of).watchers.push((file, descriptor));
                self.epoll(file)?.members.insert(member, interest);
            }
            (libc::EPOLL_CTL_MOD, true) => {
                self.epoll(file)?.members.insert(member, interest);
            }
            _ => return Err(libc::EINVAL),
        }
        self.notify(file, 0);
        if operation == libc::EPOLL_CTL_DEL {
            return Ok(0);
        }
        let readiness = self.readiness(of);
        // A member in the list has no new event.
        if !self.epoll(file)?.ready.contains(&member) {
            self.arrived(file, descriptor, of, readiness);
        }
        Ok(0)
    }

    /// Returns the next events, at most `count`, in order of arrival. Returns `EAGAIN` if there are no events.
    pub(super) fn events(
        &mut self,
        file: usize,
        count: usize,
    ) -> Result<Vec<(Events, u64)>, c_int> {
        let mut listed = std::mem::take(&mut self.epoll(file)?.ready);
        let (mut found, mut again) = (Vec::new(), Vec::new());
        while found.len() < count
            && let Some(member) = listed.pop_front()
        {
            let interest = self.epoll(file)?.members.get(&member).copied();
            let events = self.ready_events(file, &member);
            let Some(interest) = interest.filter(|_| events != 0) else { continue };
            found.push((events, interest.data));
            if interest.events & ONCE != 0 {
                let disabled = Interest { events: interest.events & FLAGS, ..interest };
                self.epoll(file)?.members.insert(member, disabled);
            } else if interest.events & EDGE == 0 {
                again.push(member);
            }
        }
        listed.extend(again);
        self.epoll(file)?.ready = listed;
        if found.is_empty() {
            return Err(libc::EAGAIN);
        }
        self.notify(file, 0);
        Ok(found)
    }
}
