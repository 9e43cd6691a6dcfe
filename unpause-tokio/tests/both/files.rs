//! Files: the programs of tokio's documentation, in a run and on tokio.

use std::io::SeekFrom;
use std::path::{Path, PathBuf};

use tokio::fs::{self, DirBuilder, File, OpenOptions};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufWriter};

/// Does the program in an empty directory, once in a run if this build has runs, and once on tokio.
fn in_both(name: &str, program: impl AsyncFn(PathBuf) + Sync) {
    #[cfg(feature = "sim")]
    {
        let runner = sim::Runner::new().hermetic().seeds(0..20);
        let report = runner.run(async || program("/".into()).await);
        assert!(report.passed(), "{report:?}");
    }
    let root = std::env::temp_dir().join(format!("unpause-tokio-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(program(root.clone()));
    std::fs::remove_dir_all(&root).unwrap();
}

/// `File`: write, append, read, seek, sync.
#[test]
fn files_are_written_and_read() {
    in_both("files", async |root: PathBuf| {
        let path = root.join("foo.txt");
        let mut file = File::create(&path).await.unwrap();
        file.write_all(b"hello, world!").await.unwrap();
        file.flush().await.unwrap();
        file.sync_all().await.unwrap();
        file.sync_data().await.unwrap();
        assert!(File::create_new(&path).await.is_err());

        let mut file = File::open(&path).await.unwrap();
        let mut contents = vec![];
        file.read_to_end(&mut contents).await.unwrap();
        assert_eq!(contents, b"hello, world!");
        file.seek(SeekFrom::Start(6)).await.unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, " world!");
        let metadata = file.metadata().await.unwrap();
        assert!(metadata.is_file() && !metadata.is_dir() && metadata.len() == 13);

        let mut file = OpenOptions::new().append(true).open(&path).await.unwrap();
        file.write_all(b"\nnext line\n").await.unwrap();
        file.flush().await.unwrap();
        let mut lines = BufReader::new(File::open(&path).await.unwrap()).lines();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            all.push(line);
        }
        assert_eq!(all, ["hello, world!", "next line"]);

        let file = File::options().write(true).read(true).open(&path).await.unwrap();
        file.set_len(5).await.unwrap();
        let mut clone = file.try_clone().await.unwrap();
        let mut five = [0; 5];
        clone.read_exact(&mut five).await.unwrap();
        assert_eq!(&five, b"hello");
    });
}

/// The functions of the module.
#[test]
fn directories_are_made_and_read() {
    in_both("directories", async |root: PathBuf| {
        let at = |path: &str| root.join(path);
        fs::create_dir(at("some")).await.unwrap();
        fs::create_dir_all(at("some/dir/below")).await.unwrap();
        DirBuilder::new().recursive(true).create(at("other/dir")).await.unwrap();
        fs::write(at("some/a.txt"), b"some text").await.unwrap();
        assert_eq!(fs::copy(at("some/a.txt"), at("some/b.txt")).await.unwrap(), 9);
        fs::hard_link(at("some/a.txt"), at("some/c.txt")).await.unwrap();
        fs::rename(at("some/b.txt"), at("other/b.txt")).await.unwrap();
        assert_eq!(fs::read(at("other/b.txt")).await.unwrap(), b"some text");
        assert_eq!(fs::read_to_string(at("some/c.txt")).await.unwrap(), "some text");
        let mut entries = fs::read_dir(at("some")).await.unwrap();
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await.unwrap() {
            let is_dir = entry.file_type().await.unwrap().is_dir();
            assert_eq!(entry.metadata().await.unwrap().is_dir(), is_dir);
            assert_eq!(entry.path().file_name(), Some(&*entry.file_name()));
            names.push((entry.file_name().into_string().unwrap(), is_dir));
        }
        names.sort();
        assert_eq!(
            names,
            [("a.txt", false), ("c.txt", false), ("dir", true)].map(|(n, d)| (n.to_owned(), d))
        );
        assert!(fs::try_exists(at("some/dir/below")).await.unwrap());
        assert!(fs::symlink_metadata(at("some")).await.unwrap().file_type().is_dir());
        fs::remove_dir(at("some/dir/below")).await.unwrap();
        fs::remove_file(at("some/a.txt")).await.unwrap();
        fs::remove_dir_all(at("some")).await.unwrap();
        let gone = fs::metadata(at("some/c.txt")).await.unwrap_err();
        assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
    });
}

/// The test uses a buffer in between, and copies one file to another.
#[test]
fn files_are_streams() {
    in_both("streams", async |root: PathBuf| {
        let mut writer = BufWriter::new(File::create(root.join("a")).await.unwrap());
        for number in 0..100_u32 {
            writer.write_u32(number).await.unwrap();
        }
        writer.shutdown().await.unwrap();
        let mut from = File::open(root.join("a")).await.unwrap();
        let mut to = File::create(root.join("b")).await.unwrap();
        assert_eq!(tokio::io::copy(&mut from, &mut to).await.unwrap(), 400);
        to.flush().await.unwrap();
        assert_eq!(last_number(&root.join("b")).await, 99);
    });
}

async fn last_number(path: &Path) -> u32 {
    let mut file = File::open(path).await.unwrap();
    file.seek(SeekFrom::End(-4)).await.unwrap();
    file.read_u32().await.unwrap()
}

/// Options and descriptors of std, on tokio.
#[cfg(unix)]
#[test]
fn options_and_descriptors_of_std_are_converted() {
    let path = std::env::temp_dir().join(format!("unpause-tokio-std-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut file = OpenOptions::from(options).open(&path).await.unwrap();
        file.write_all(b"text").await.unwrap();
        file.flush().await.unwrap();
        let descriptor = std::os::fd::OwnedFd::from(std::fs::File::open(&path).unwrap());
        let mut text = String::new();
        File::from(descriptor).read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "text");
    });
    std::fs::remove_file(&path).unwrap();
}
