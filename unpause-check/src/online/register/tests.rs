//! Values that are written again after calls were dropped that show these values to be over.

use super::super::{ClientEvent, Online, OnlineStatus};
use crate::models::{Register, RegisterOp, RegisterOp::*, RegisterRet};

type Event = ClientEvent<RegisterOp<u64>, RegisterRet<u64>>;

fn invoke(client: u32, op: RegisterOp<u64>) -> Event {
    ClientEvent::Invoke { client, op }
}

fn saw(client: u32, value: u64) -> Event {
    ClientEvent::Return { client, ret: RegisterRet::Value(value) }
}

/// Only some of the many reads of a value are kept. A new engine for the evidence gets only the kept calls.
#[test]
fn a_violation_after_a_value_was_written_again_has_evidence() {
    let done = |client| ClientEvent::Return { client, ret: RegisterRet::Done };
    let mut events = vec![
        invoke(0, Write(1)),
        invoke(1, Write(2)),
        done(1),
        invoke(1, Read),
        saw(1, 2),
        // Pending to the end.
        invoke(2, Read),
        done(0),
        // This read shows that 1 is over. The read is dropped later.
        invoke(1, Read),
        saw(1, 2),
        invoke(0, Write(1)),
    ];
    for _ in 0..60 {
        events.extend([invoke(1, Read), saw(1, 2)]);
    }
    let mut online = Online::new(Register::new(0));
    for event in events {
        assert_eq!(online.feed(event).unwrap(), OnlineStatus::Possible);
    }
    assert_eq!(online.feed(invoke(1, Read)).unwrap(), OnlineStatus::Possible);
    assert_eq!(online.feed(saw(1, 99)).unwrap(), OnlineStatus::Violated);
    let evidence = online.evidence().unwrap();
    assert!(!evidence.expected.is_empty() && !evidence.partial[0].is_empty(), "{evidence:?}");
}
