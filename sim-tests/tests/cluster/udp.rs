//! Datagrams: the effects of the calls of their sockets, in runs and on the sockets of the system.

use std::io::ErrorKind;
use std::net::SocketAddr;

use sim::net::{self, Faults, UdpSocket};
use sim::time::{Duration, sleep};
use sim::{Runner, node};

use super::{both, passes, proves, search};

#[test]
fn datagrams_arrive_with_the_address_of_their_sender() {
    both(async || {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.send_to(b"question", server.local_addr().unwrap()).await.unwrap();
        let mut buffer = [0; 4];
        let (count, from) = server.recv_from(&mut buffer).await.unwrap();
        // The remaining bytes of the datagram are lost.
        assert_eq!((&buffer[..count], from), (&b"ques"[..], client.local_addr().unwrap()));
        server.connect(from).await.unwrap();
        assert_eq!(server.peer_addr().unwrap(), from);
        server.send(b"ok").await.unwrap();
        assert_eq!(client.recv(&mut buffer).await.unwrap(), 2);
        assert_eq!(client.try_recv_from(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        let large = vec![0; 65_508];
        let error = client.send_to(&large, server.local_addr().unwrap()).await.unwrap_err();
        // EMSGSIZE.
        assert!(!cfg!(target_os = "linux") || error.raw_os_error() == Some(90), "{error}");
        client.send(b"x").await.unwrap_err();
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_port_is_in_use_only_at_its_address() {
    passes(&Runner::new().hermetic().run(async || {
        let a = node("a");
        let own = SocketAddr::new(a.addr(), 53);
        let work = a.spawn(async move {
            let local = UdpSocket::bind("127.0.0.1:53").await.unwrap();
            let own = UdpSocket::bind(own).await.unwrap();
            let error = UdpSocket::bind("0.0.0.0:53").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
            let sender = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            for (socket, byte) in [(&own, 1), (&local, 2)] {
                sender.send_to(&[byte], socket.local_addr().unwrap()).await.unwrap();
                let mut buffer = [0];
                socket.recv_from(&mut buffer).await.unwrap();
                assert_eq!(buffer, [byte]);
            }
        });
        work.await.unwrap();
    }));
}

#[test]
fn a_connected_sender_learns_that_nobody_is_there() {
    both(async || {
        let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(gone.local_addr().unwrap()).await.unwrap();
        drop(gone);
        client.send(b"hello").await.unwrap();
        let error = client.recv(&mut [0; 4]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn a_socket_that_is_connected_to_no_address_reaches_its_own_host() {
    both(async || {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let addr = server.local_addr().unwrap();
        client.connect(("0.0.0.0", addr.port())).await.unwrap();
        assert!(!cfg!(target_os = "linux") || client.peer_addr().unwrap() == addr);
        client.send(b"question").await.unwrap();
        let mut buffer = [0; 8];
        let (_, from) = server.recv_from(&mut buffer).await.unwrap();
        server.send_to(b"ok", from).await.unwrap();
        assert_eq!(client.recv(&mut buffer).await.unwrap(), 2);
        drop(server);
        client.send(b"hello").await.unwrap();
        let error = client.recv(&mut buffer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

/// Returns a socket whose peer has been closed. The socket has one unread datagram from this peer.
async fn connected_to_nobody() -> UdpSocket {
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.connect(gone.local_addr().unwrap()).await.unwrap();
    gone.send_to(b"last", client.local_addr().unwrap()).await.unwrap();
    client.readable().await.unwrap();
    client
}

/// Longer than an answer takes on the loopback device.
const MOMENT: Duration = Duration::from_millis(50);

#[test]
fn the_next_call_that_sends_or_receives_reports_the_error() {
    both(async || {
        for sends in [true, false] {
            let client = connected_to_nobody().await;
            client.send(b"hello").await.unwrap();
            sleep(MOMENT).await;
            let error = match sends {
                true => client.send(b"hello").await.unwrap_err(),
                // The error comes before the waiting datagram.
                false => client.recv(&mut [0; 4]).await.unwrap_err(),
            };
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert_eq!(client.recv(&mut [0; 4]).await.unwrap(), 4);
            // The error is reported only once.
            assert!(client.take_error().unwrap().is_none());
            client.send(b"hello").await.unwrap();
            sleep(MOMENT).await;
            let error = client.take_error().unwrap().unwrap();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert!(client.take_error().unwrap().is_none());
        }
    });
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_each_call_that_reports_the_error() {
    let found = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let report = search().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let client = a.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
        client.connect("b:1").await.unwrap();
        let _other = b.enter(|| UdpSocket::bind("0.0.0.0:2")).await.unwrap();
        client.send(b"first").await.unwrap();
        let second = client.send(b"second").await.is_ok();
        let third = client.send(b"third").await.is_ok();
        sleep(Duration::from_secs(1)).await;
        let left = client.try_recv(&mut [0; 4]).unwrap_err().kind();
        found.lock().unwrap().insert((second, third, left == ErrorKind::ConnectionRefused));
    });
    proves(&report);
    // A send that reports an error sends nothing: the third send reports the error of the first, or there is no error.
    let all = [(true, true, true), (false, true, true), (true, false, true), (true, false, false)];
    assert_eq!(found.into_inner().unwrap(), all.into());
}

#[cfg_attr(feature = "sim", test)]
fn the_orders_of_datagrams_to_one_socket_are_classes() {
    for count in 1..4_u8 {
        let report = search().run(async || {
            let server = node("server");
            let socket = server.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
            let client = UdpSocket::bind("0.0.0.0:0").await.unwrap();
            for n in 0..count {
                client.send_to(&[n], "server:1").await.unwrap();
            }
            for _ in 0..count {
                socket.recv(&mut [0]).await.unwrap();
            }
        });
        proves(&report);
        assert_eq!(report.runs, (1..=u64::from(count)).product::<u64>(), "{count}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn datagrams_are_lost_by_cuts_faults_and_full_sockets() {
    let counted = async |faults: Faults, is_cut: bool, sent: usize| {
        net::faults(faults);
        let [a, b] = ["a", "b"].map(node);
        let socket = b.enter(|| UdpSocket::bind("0.0.0.0:1")).await.unwrap();
        let client = a.enter(|| UdpSocket::bind("0.0.0.0:0")).await.unwrap();
        if is_cut {
            net::cut(&a, &b);
        }
        for _ in 0..sent {
            client.send_to(b"x", "b:1").await.unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        std::iter::from_fn(|| socket.try_recv_from(&mut [0]).ok()).count()
    };
    let all = |is_cut, sent, wanted| {
        let run = async || assert_eq!(counted(Faults::none(), is_cut, sent).await, wanted);
        passes(&Runner::new().hermetic().seeds(0..20).run(run));
    };
    all(false, 3, 3);
    all(true, 3, 0);
    all(false, 70, 64);
    let one = |faults: Faults, wanted: usize| {
        !search().run(async || assert_ne!(counted(faults.clone(), false, 1).await, wanted)).passed()
    };
    assert!(!one(Faults::none(), 0) && one(Faults::none().loss(1), 0));
    assert!(!one(Faults::none(), 2) && one(Faults::none().duplicates(1), 2));
}

/// Two tasks each name a port, and either of them may be first.
#[cfg_attr(feature = "sim", test)]
fn a_search_binds_before_and_after_each_datagram() {
    let binds = |wanted: bool| {
        search().run(async || {
            let [a, b] = ["a", "b"].map(node);
            let binding = b.spawn(async {
                let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
                sleep(Duration::from_secs(1)).await;
                socket.try_recv(&mut [0; 4]).is_ok()
            });
            let sending = a.spawn(async {
                let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
                socket.send_to(b"x", "b:7").await.unwrap();
            });
            sending.await.unwrap();
            assert_ne!(binding.await.unwrap(), wanted);
        })
    };
    assert!(!binds(true).passed() && !binds(false).passed());
    let all = search().run(async || {
        let [a, b] = ["a", "b"].map(node);
        let binding = b.spawn(async {
            let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
            sleep(Duration::from_secs(1)).await;
            drop(socket);
        });
        let socket = a.enter(|| UdpSocket::bind("0.0.0.0:7")).await.unwrap();
        socket.send_to(b"x", "b:7").await.unwrap();
        binding.await.unwrap();
    });
    proves(&all);
}
