//! The names of `tokio::fs` and `tokio::net`: the same source is compiled for tokio and for `sim`, and its results are compared.
//!
//! The omitted names are listed in `sim::fs` and in `docs/tokio.md`.

use std::path::{Path, PathBuf};

/// Writes a module with the calls of this crate.
macro_rules! calls {
    ($module:ident, $root:ident) => {
        mod $module {
            use std::io::SeekFrom;
            use std::net::SocketAddr;
            use std::path::Path;

            #[allow(
                unused_imports,
                reason = "the files of one of the two have these methods themselves"
            )]
            use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, Interest};
            use $root::fs::{self, DirBuilder, DirEntry, File, OpenOptions, ReadDir};
            use $root::net::tcp::{
                OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf,
            };
            use $root::net::{TcpListener, TcpSocket, TcpStream, UdpSocket, lookup_host};

            /// Calls all functions of files, in an empty directory. Returns their results as text.
            pub(super) async fn files(dir: &Path) -> Vec<String> {
                let mut seen = Vec::new();
                let at = |name: &str| dir.join(name);
                fs::create_dir(at("one")).await.unwrap();
                fs::create_dir_all(at("one/two")).await.unwrap();
                let single = DirBuilder::new();
                single.create(at("three")).await.unwrap();
                let again = single.create(at("three")).await.unwrap_err();
                seen.push(format!("{:?}", again.kind()));
                DirBuilder::new().recursive(true).create(at("three/four")).await.unwrap();
                DirBuilder::new().recursive(true).create(at("three/four")).await.unwrap();
                fs::write(at("file"), "text").await.unwrap();
                seen.push(fs::read_to_string(at("file")).await.unwrap());
                seen.push(format!("{:?}", fs::read(at("file")).await.unwrap()));
                for name in ["file", "one", "none"] {
                    seen.push(format!("{:?}", fs::try_exists(at(name)).await.unwrap()));
                    let told = match fs::metadata(at(name)).await {
                        Ok(found) => format!("{} {}", found.is_dir(), found.is_file()),
                        Err(error) => format!("{:?}", error.kind()),
                    };
                    let itself = match fs::symlink_metadata(at(name)).await {
                        Ok(found) => found.file_type().is_symlink().to_string(),
                        Err(error) => format!("{:?}", error.kind()),
                    };
                    let link = fs::read_link(at(name)).await.unwrap_err().kind();
                    seen.push(format!("{told} {itself} {link:?}"));
                }
                let root = fs::canonicalize(dir).await.unwrap();
                for name in ["one/../file", "./one/two/..", "one/.", "none", "file/..", "none/.."] {
                    seen.push(match fs::canonicalize(at(name)).await {
                        Ok(path) => path.strip_prefix(&root).unwrap().display().to_string(),
                        Err(error) => format!("{:?}", error.kind()),
                    });
                }
                seen.push(fs::copy(at("file"), at("copy")).await.unwrap().to_string());
                fs::hard_link(at("copy"), at("link")).await.unwrap();
                fs::rename(at("copy"), at("moved")).await.unwrap();
                let mut entries: ReadDir = fs::read_dir(dir).await.unwrap();
                let mut names = Vec::new();
                while let Some(entry) = entries.next_entry().await.unwrap() {
                    let entry: DirEntry = entry;
                    assert_eq!(entry.path(), at(entry.file_name().to_str().unwrap()));
                    let is_dir = entry.file_type().await.unwrap().is_dir();
                    let len = if is_dir { 0 } else { entry.metadata().await.unwrap().len() };
                    names.push(format!("{:?} {is_dir} {len}", entry.file_name()));
                }
                names.sort();
                seen.extend(names);

                let mut options = OpenOptions::new();
                options.read(true).write(true).create_new(true).append(false).truncate(false);
                let mut file: File = options.open(at("new")).await.unwrap();
                let again = options.open(at("new")).await.unwrap_err();
                seen.push(format!("{:?}", again.kind()));
                file.write_all(b"0123456789").await.unwrap();
                file.flush().await.unwrap();
                file.sync_data().await.unwrap();
                file.set_len(8).await.unwrap();
                file.sync_all().await.unwrap();
                seen.push(file.seek(SeekFrom::Start(2)).await.unwrap().to_string());
                let mut text = String::new();
                let mut other = file.try_clone().await.unwrap();
                other.read_to_string(&mut text).await.unwrap();
                seen.push(format!("{text} {}", file.metadata().await.unwrap().len()));
                drop((file, other));
                File::options().append(true).create(true).open(at("new")).await.unwrap();
                assert!(File::create_new(at("new")).await.is_err());
                drop(File::create(at("new")).await.unwrap());
                let mut byte = [0];
                let read = File::open(at("new")).await.unwrap().read(&mut byte).await.unwrap();
                seen.push(read.to_string());

                fs::remove_file(at("new")).await.unwrap();
                let full = fs::remove_dir(at("one")).await.unwrap_err();
                seen.push(format!("{:?}", full.kind()));
                fs::remove_dir(at("one/two")).await.unwrap();
                fs::remove_dir_all(at("three")).await.unwrap();
                seen
            }

            /// Converts files of std, and converts them back. Returns the results of calls on these files.
            pub(super) async fn files_of_std(dir: &Path) -> Vec<String> {
                let mut seen = Vec::new();
                let mut file = File::from_std(std::fs::File::create(dir.join("file")).unwrap());
                file.write_all(b"text").await.unwrap();
                file.flush().await.unwrap();
                seen.push(file.max_buf_size().to_string());
                file.set_max_buf_size(7);
                seen.push(file.try_clone().await.unwrap().max_buf_size().to_string());
                let file: File = file.into_std().await.into();
                let std = file.try_into_std().unwrap();
                seen.push(std.metadata().unwrap().len().to_string());
                let mut entries = fs::read_dir(dir).await.unwrap();
                for _ in 0..2 {
                    let next = std::future::poll_fn(|cx| entries.poll_next_entry(cx)).await;
                    seen.push(format!("{:?}", next.unwrap().map(|entry| entry.file_name())));
                }
                seen
            }

            /// Calls of sockets whose types are their own. The function is only compiled.
            #[allow(dead_code)]
            pub(super) async fn generic(addr: SocketAddr) -> std::io::Result<()> {
                let listener = TcpListener::bind(addr).await?;
                let stream = TcpStream::connect(addr).await?;
                stream.try_io(Interest::READABLE, || Ok(()))?;
                stream.async_io(Interest::READABLE, || Ok(())).await?;
                let socket = UdpSocket::bind("127.0.0.1:0").await?;
                socket.connect((std::net::Ipv4Addr::LOCALHOST, 1)).await?;
                socket.send_to(b"", addr).await?;
                socket.try_io(Interest::READABLE, || Ok(()))?;
                socket.async_io(Interest::READABLE, || Ok(())).await?;
                lookup_host("localhost:1").await?.next();
                let (stream, _): (TcpStream, SocketAddr) = listener.accept().await?;
                let (read, write): (OwnedReadHalf, OwnedWriteHalf) = stream.into_split();
                let joined: Result<TcpStream, ReuniteError> = read.reunite(write);
                let mut stream = joined.unwrap();
                let _halves: (ReadHalf<'_>, WriteHalf<'_>) = stream.split();
                TcpSocket::new_v4()?.connect(addr).await?;
                Ok(())
            }
        }
    };
}

calls!(of_tokio, tokio);
calls!(of_sim, sim);

/// A directory of the system, removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let name = format!("unpause-names-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn calls_of_files_say_the_same_as_those_of_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tokios = {
        let dir = Dir::new("tokio");
        runtime.block_on(of_tokio::files(&dir.0))
    };
    let dir = Dir::new("sim");
    assert_eq!(runtime.block_on(of_sim::files(&dir.0)), tokios, "outside of runs");
    if sim::SIMULATED {
        let report = sim::Runner::new().hermetic().run(async || {
            sim::fs::create_dir("/dir").await.unwrap();
            assert_eq!(of_sim::files(Path::new("/dir")).await, tokios, "in a run");
        });
        assert!(report.passed(), "{}", sim::report::text(&report, &Default::default()));
    }
}

#[test]
fn files_of_std_are_taken_and_given_as_by_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (tokios, sims) = (Dir::new("std-tokio"), Dir::new("std-sim"));
    let expected = runtime.block_on(of_tokio::files_of_std(&tokios.0));
    assert_eq!(runtime.block_on(of_sim::files_of_std(&sims.0)), expected);
}

#[test]
fn a_run_has_no_files_of_std() {
    crate::fails_with(&["a file of std is on no disk of a run"], async || {
        drop(sim::fs::File::from_std(std::fs::File::open("/").unwrap()));
    });
    crate::fails_with(&["a file of a run is none of the operating system"], async || {
        let file = sim::fs::File::create("/file").await.unwrap();
        let file = file.try_into_std().unwrap_err();
        drop(file.into_std().await);
    });
}
