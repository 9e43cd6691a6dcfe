//! Calls on the files of a node.

use std::sync::Arc;

use futures::future::BoxFuture;
use sim::Node;
use sim::fs::{self, DiskFault, File};

use super::{Act, World, act, compare};

struct Disk {
    node: Node,
    file: File,
}

const WORLD: World<Disk> = World {
    begin: || {
        Box::pin(async {
            let node = sim::node("a");
            let file = node.spawn(async {
                fs::create_dir("/d").await.unwrap();
                fs::write("/d/f", b"one").await.unwrap();
                fs::OpenOptions::new().read(true).write(true).open("/d/f").await.unwrap()
            });
            let file = file.await.unwrap();
            Disk { node, file }
        })
    },
    look: |disk| {
        Box::pin(async move {
            let task = disk.node.spawn(async {
                let names = ["/d/f", "/d/g", "/d/h"].map(fs::read);
                format!("{:?}", futures::future::join_all(names).await)
            });
            task.await.unwrap_or_default()
        })
    },
};

/// The result of a call of a task of the node.
fn on_node<R: std::fmt::Debug + Send + 'static, F>(
    disk: Arc<Disk>,
    call: fn() -> F,
) -> BoxFuture<'static, String>
where
    F: Future<Output = std::io::Result<R>> + Send + 'static,
{
    Box::pin(async move {
        let result = disk.node.spawn(async move { call().await.map_err(|error| error.kind()) });
        format!("{:?}", result.await)
    })
}

/// Returns the result of a call on the open file.
fn at_once<R: std::fmt::Debug + 'static>(
    disk: Arc<Disk>,
    call: fn(&File) -> std::io::Result<R>,
) -> BoxFuture<'static, String> {
    Box::pin(async move { format!("{:?}", call(&disk.file).map_err(|error| error.kind())) })
}

fn names() -> Vec<Act<Disk>> {
    vec![
        act("fs::write", |disk| on_node(disk, || fs::write("/d/g", b"new"))),
        act("fs::read", |disk| on_node(disk, || fs::read("/d/g"))),
        act("fs::read_to_string", |disk| on_node(disk, || fs::read_to_string("/d/f"))),
        act("fs::rename", |disk| on_node(disk, || fs::rename("/d/f", "/d/g"))),
        act("fs::hard_link", |disk| on_node(disk, || fs::hard_link("/d/f", "/d/h"))),
        act("fs::copy", |disk| on_node(disk, || fs::copy("/d/f", "/d/g"))),
        act("fs::remove_file", |disk| on_node(disk, || fs::remove_file("/d/g"))),
        act("fs::try_exists", |disk| on_node(disk, || fs::try_exists("/d/g"))),
        act("fs::create_dir", |disk| on_node(disk, || fs::create_dir("/d/h"))),
        act("fs::remove_dir", |disk| on_node(disk, || fs::remove_dir("/d/h"))),
        act("node::Node::kill", |disk| {
            Box::pin(async move {
                disk.node.kill();
                String::new()
            })
        }),
        act("fs::NodeDisk::begin", |disk| {
            Box::pin(async move {
                fs::on(&disk.node).begin(DiskFault::ReadErrors);
                String::new()
            })
        }),
        act("fs::NodeDisk::end", |disk| {
            Box::pin(async move {
                fs::on(&disk.node).end(DiskFault::ReadErrors);
                String::new()
            })
        }),
    ]
}

fn opened() -> Vec<Act<Disk>> {
    vec![
        act("fs::File::try_lock", |disk| at_once(disk, |file| file.try_lock().map(drop))),
        act("fs::File::try_lock_shared", |disk| {
            at_once(disk, |file| file.try_lock_shared().map(drop))
        }),
        act("fs::File::unlock", |disk| at_once(disk, File::unlock)),
        act("fs::File::metadata", |disk| {
            Box::pin(async move { format!("{:?}", disk.file.metadata().await.map(|m| m.len())) })
        }),
        act("fs::File::set_len", |disk| {
            Box::pin(async move { format!("{:?}", disk.file.set_len(1).await) })
        }),
        act("fs::File::read_at", |disk| {
            Box::pin(async move { format!("{:?}", disk.file.read_at(&mut [0; 8], 0).await) })
        }),
        act("fs::File::write_at", |disk| {
            Box::pin(async move { format!("{:?}", disk.file.write_at(b"xyz", 2).await) })
        }),
        act("fs::File::sync_all", |disk| {
            Box::pin(async move { format!("{:?}", disk.file.sync_all().await) })
        }),
    ]
}

#[test]
fn calls_on_names_of_files_are_searched_in_each_order() {
    compare(&WORLD, &names());
}

#[test]
fn calls_on_an_open_file_are_searched_in_each_order() {
    compare(&WORLD, &opened());
}
