//! A server that counts the bytes of its connections.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Reads all bytes, and then answers with their number.
pub async fn answer(stream: TcpStream) {
    let (mut read, mut write) = stream.into_split();
    let mut all = Vec::new();
    read.read_to_end(&mut all).await.unwrap();
    write.write_u8(all.len() as u8).await.unwrap();
}

/// Like [`answer`], but the bug is that one read must return all bytes.
pub async fn answer_early(stream: TcpStream) {
    let (mut read, mut write) = stream.into_split();
    let count = read.read(&mut [0; 64]).await.unwrap();
    write.write_u8(count as u8).await.unwrap();
}
