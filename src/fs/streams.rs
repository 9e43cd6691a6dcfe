//! The stream traits of the crate `futures` for files.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::call::DiskCall;
use super::file::{File, READ, SEEK, WRITE};

impl File {
    pub(super) fn poll_stream_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let here = self.open.here;
        let mut call = self.streaming.read.take().unwrap_or_else(|| DiskCall::new(&READ, here));
        let polled = self.open.poll_read_at(&mut call, (None, here), cx, into);
        self.streaming.read = polled.is_pending().then_some(call);
        polled
    }

    pub(super) fn poll_stream_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let here = self.open.here;
        let mut call = self.streaming.write.take().unwrap_or_else(|| DiskCall::new(&WRITE, here));
        let polled = self.open.poll_write_at(&mut call, (None, here), cx, bytes);
        self.streaming.write = polled.is_pending().then_some(call);
        polled
    }

    pub(super) fn poll_stream_seek(
        &mut self,
        cx: &mut Context<'_>,
        to: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        let here = self.open.here;
        let begun = self.streaming.seek.take().filter(|(_, begun)| *begun == to);
        let (mut call, _) = begun.unwrap_or_else(|| (DiskCall::new(&SEEK, here), to));
        let polled = self.open.poll_move(&mut call, (to, here), cx);
        self.streaming.seek = polled.is_pending().then_some((call, to));
        polled
    }
}

impl futures::io::AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_stream_read(cx, into)
    }
}

impl futures::io::AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_stream_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl futures::io::AsyncSeek for File {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        self.get_mut().poll_stream_seek(cx, to)
    }
}
