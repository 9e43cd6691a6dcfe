//! The model and the file system of the machine, without a crash: random programs of calls have the same results.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::disk::location::Name;
use crate::run::rng::Rng;

const SLOTS: u64 = 3;
const PATHS: [&str; 16] = [
    "/a",
    "/b",
    "/d",
    "/d/a",
    "/d/e",
    "/d/e/f",
    "/g/a",
    "/g",
    "/a/x",
    "/no/x",
    "/a/",
    "/d/",
    "/d/..",
    "/d/../a",
    "/./g/.",
    "/d/e/../a",
];

#[derive(Clone, Debug)]
enum Step {
    Open(usize, &'static str, OpenOptions),
    Close(usize),
    Read(usize, usize),
    ReadAt(usize, u64, usize),
    Write(usize, Vec<u8>),
    WriteAt(usize, u64, Vec<u8>),
    Seek(usize, SeekFrom),
    SetLen(usize, u64),
    Sync(usize),
    Len(usize),
    CreateDir(&'static str),
    RemoveFile(&'static str),
    RemoveDir(&'static str),
    Link(&'static str, &'static str),
    Rename(&'static str, &'static str),
    ReadDir(&'static str),
    Metadata(&'static str),
    LongName,
}

fn random_step(rng: &mut Rng) -> Step {
    let slot = rng.below(SLOTS) as usize;
    let mut path = || PATHS[rng.below(PATHS.len() as u64) as usize];
    let (path, other) = (path(), path());
    let at = rng.below(12);
    let bytes = |rng: &mut Rng| (0..rng.below(8)).map(|_| b'a' + rng.below(26) as u8).collect();
    match rng.below(34) {
        0..=6 => {
            let mut coin = |of: u64| rng.below(of) == 0;
            let (read, write) = (!coin(3), !coin(3));
            let (append, truncate, create_new) = (coin(6), coin(5), coin(6));
            let options = OpenOptions { read, write, append, truncate, create_new, ..READ };
            Step::Open(slot, path, OpenOptions { create: !coin(3), ..options })
        }
        7 => Step::Close(slot),
        8 | 9 => Step::Read(slot, at as usize),
        10 | 11 => Step::ReadAt(slot, at, rng.below(10) as usize),
        12..=14 => Step::Write(slot, bytes(rng)),
        15..=17 => Step::WriteAt(slot, at, bytes(rng)),
        18 => Step::Seek(slot, SeekFrom::Start(at)),
        19 => Step::Seek(slot, SeekFrom::Current(at as i64 - 6)),
        20 => Step::Seek(slot, SeekFrom::End(at as i64 - 6)),
        21 | 22 => Step::SetLen(slot, at),
        23 => Step::Len(slot),
        24 | 25 => Step::CreateDir(path),
        26 => Step::RemoveFile(path),
        27 => Step::RemoveDir(path),
        28 => Step::Link(path, other),
        29 | 30 => Step::Rename(path, other),
        31 => Step::ReadDir([path, "/"][rng.below(2) as usize]),
        32 => Step::Metadata(path),
        _ if rng.below(8) == 0 => Step::LongName,
        _ if rng.below(4) == 0 => Step::Sync(slot),
        _ => Step::Metadata([path, "/"][rng.below(2) as usize]),
    }
}

/// A result as text: a value, or the kind and the number of an error.
fn result<T: std::fmt::Debug>(result: Result<T, impl Into<io::Error>>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => {
            let error = error.into();
            // Options that std itself refuses have no number.
            let code = error.raw_os_error().unwrap_or(22);
            format!("{:?} {code}", error.kind())
        }
    }
}

fn long_name() -> String {
    format!("/{}", "n".repeat(256))
}

struct Model {
    disk: Disk,
    slots: [Option<Handle>; SLOTS as usize],
}

impl Model {
    fn step(&mut self, step: &Step) -> Option<String> {
        let Model { disk, slots } = self;
        let mut draw = newest;
        let mut call = disk.call(&mut draw);
        let is_file =
            |call: &mut Call<'_>, handle| call.handle_metadata(handle).unwrap().kind == Kind::File;
        Some(match step {
            Step::Open(slot, path, options) => {
                let opened = call.open(Path::new(path), *options);
                let text = result(opened.map(|_| ()));
                if let Some(old) = std::mem::replace(&mut slots[*slot], opened.ok()) {
                    disk.close(old);
                }
                text
            }
            Step::Close(slot) => {
                disk.close(slots[*slot].take()?);
                String::new()
            }
            Step::Read(slot, len) => {
                let mut bytes = vec![0; *len];
                let count = call.read(slots[*slot]?, &mut bytes);
                result(count.map(|count| bytes[..count].to_vec()))
            }
            Step::ReadAt(slot, at, len) => {
                let mut bytes = vec![0; *len];
                let count = call.read_at(slots[*slot]?, *at, &mut bytes);
                result(count.map(|count| bytes[..count].to_vec()))
            }
            Step::Write(slot, bytes) => result(call.write(slots[*slot]?, bytes)),
            Step::WriteAt(slot, at, bytes) => result(call.write_at(slots[*slot]?, *at, bytes)),
            Step::Seek(slot, to) => {
                let handle = slots[*slot]?;
                // Positions in directories are not modelled.
                if !is_file(&mut call, handle) {
                    return None;
                }
                result(call.seek(handle, *to))
            }
            Step::SetLen(slot, len) => result(call.set_len(slots[*slot]?, *len)),
            Step::Sync(slot) => result(call.sync(slots[*slot]?, SyncFate::Succeeds)),
            Step::Len(slot) => {
                let metadata = call.handle_metadata(slots[*slot]?);
                result(metadata.map(|metadata| (metadata.kind == Kind::File, metadata.len)))
            }
            Step::CreateDir(path) => result(call.create_dir(Path::new(path))),
            Step::RemoveFile(path) => result(call.remove_file(Path::new(path))),
            Step::RemoveDir(path) => result(call.remove_dir(Path::new(path))),
            Step::Link(from, to) => result(call.hard_link(Path::new(from), Path::new(to))),
            Step::Rename(from, to) => result(call.rename(Path::new(from), Path::new(to))),
            Step::ReadDir(path) => {
                let entries = call.read_dir(Path::new(path));
                result(entries.map(|entries| {
                    let entries = entries.into_iter();
                    let entry = |(name, _, kind): (Name, Ino, Kind)| {
                        (name.to_os_string(), kind == Kind::File)
                    };
                    entries.map(entry).collect::<Vec<_>>()
                }))
            }
            Step::Metadata(path) => {
                let metadata = call.metadata(Path::new(path));
                result(metadata.map(|metadata| (metadata.kind == Kind::File, metadata.len)))
            }
            Step::LongName => result(call.create_dir(Path::new(&long_name()))),
        })
    }
}

struct Real {
    root: PathBuf,
    slots: [Option<File>; SLOTS as usize],
}

fn kind_and_len(metadata: &fs::Metadata) -> (bool, u64) {
    (metadata.is_file(), if metadata.is_file() { metadata.len() } else { 0 })
}

impl Real {
    fn step(&mut self, step: &Step) -> Option<String> {
        let root = self.root.to_str().expect("text").to_owned();
        let at = |path: &str| format!("{root}{path}");
        let slots = &mut self.slots;
        Some(match step {
            Step::Open(slot, path, options) => {
                let OpenOptions { read, write, append, truncate, create, create_new, .. } =
                    *options;
                let mut real = fs::OpenOptions::new();
                real.read(read).write(write).append(append).truncate(truncate);
                let opened = real.create(create).create_new(create_new).open(at(path));
                let (text, file) = match opened {
                    Ok(file) => ("()".to_owned(), Some(file)),
                    Err(error) => (result::<()>(Err(error)), None),
                };
                slots[*slot] = file;
                text
            }
            Step::Close(slot) => {
                slots[*slot].take()?;
                String::new()
            }
            Step::Read(slot, len) => {
                let mut bytes = vec![0; *len];
                let count = slots[*slot].as_mut()?.read(&mut bytes);
                result(count.map(|count| bytes[..count].to_vec()))
            }
            Step::ReadAt(slot, at, len) => {
                let mut bytes = vec![0; *len];
                let count = slots[*slot].as_ref()?.read_at(&mut bytes, *at);
                result(count.map(|count| bytes[..count].to_vec()))
            }
            Step::Write(slot, bytes) => result(slots[*slot].as_mut()?.write(bytes)),
            Step::WriteAt(slot, at, bytes) => result(slots[*slot].as_ref()?.write_at(bytes, *at)),
            Step::Seek(slot, to) => {
                let file = slots[*slot].as_mut()?;
                if file.metadata().expect("open").is_dir() {
                    return None;
                }
                result(file.seek(*to))
            }
            Step::SetLen(slot, len) => result(slots[*slot].as_ref()?.set_len(*len)),
            Step::Sync(slot) => result(slots[*slot].as_ref()?.sync_all()),
            Step::Len(slot) => result(slots[*slot].as_ref()?.metadata().map(|m| kind_and_len(&m))),
            Step::CreateDir(path) => result(fs::create_dir(at(path))),
            Step::RemoveFile(path) => result(fs::remove_file(at(path))),
            Step::RemoveDir(path) => result(fs::remove_dir(at(path))),
            Step::Link(from, to) => result(fs::hard_link(at(from), at(to))),
            Step::Rename(from, to) => result(fs::rename(at(from), at(to))),
            Step::ReadDir(path) => result(fs::read_dir(at(path)).and_then(|entries| {
                let entry =
                    |entry: fs::DirEntry| Ok((entry.file_name(), entry.file_type()?.is_file()));
                let mut entries =
                    entries.map(|found| found.and_then(entry)).collect::<io::Result<Vec<_>>>()?;
                entries.sort();
                Ok(entries)
            })),
            Step::Metadata(path) => result(fs::metadata(at(path)).map(|m| kind_and_len(&m))),
            Step::LongName => result(fs::create_dir(at(&long_name()))),
        })
    }
}

/// A folder that is removed at the end of a test, even if the test fails.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn random_programs_have_the_results_of_the_real_file_system() {
    let programs = if crate::long() { 3000 } else { 30 };
    let base = Folder(std::env::temp_dir().join(format!("unpause-disk-{}", std::process::id())));
    let (mut worked, mut failed) = (0, std::collections::BTreeSet::new());
    for seed in 0..programs {
        let folder = Folder(base.0.join(seed.to_string()));
        fs::create_dir_all(&folder.0).unwrap();
        let mut real = Real { root: folder.0.clone(), slots: Default::default() };
        let settings = Settings { sector: 4, ..Settings::default() };
        let mut model = Model { disk: Disk::new(settings), slots: [None; SLOTS as usize] };
        let rng = &mut Rng::new(seed);
        let mut done = Vec::new();
        for _ in 0..100 {
            let step = random_step(rng);
            done.push(step.clone());
            let (expected, found) = (real.step(&step), model.step(&step));
            assert_eq!(found, expected, "seed {seed}, the last of {done:#?}");
            match expected.filter(|text| text.starts_with(|first: char| first.is_ascii_uppercase()))
            {
                Some(error) => drop(failed.insert(error)),
                None => worked += 1,
            }
        }
    }
    // All error codes must occur, except the codes of full disks, broken disks and too large files.
    assert!(worked > 30 * programs && failed.len() >= 10, "{worked} calls worked, {failed:?}");
}
