//! A producer and a consumer that alternate by means of flags (SCTBench: circular_buffer, stack).

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Program, Spawning, together};
use crate::tools::{Mutex, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "circular_buffer",
        seeds: 50,
        buggy: |spawning| boxed(circular_buffer(spawning, false)),
        fixed: |spawning| boxed(circular_buffer(spawning, true)),
    },
    Program {
        name: "stack",
        seeds: 100,
        buggy: |spawning| boxed(stack(spawning, false)),
        fixed: |spawning| boxed(stack(spawning, true)),
    },
];

/// Buggy: a round counts even if no item could be sent or received. Fixed: it does not count.
async fn circular_buffer(spawning: Spawning, fixed: bool) {
    const ROUNDS: usize = 7;
    struct Buffer {
        items: VecDeque<usize>,
        may_send: bool,
        may_receive: bool,
    }
    let buffer = Buffer { items: VecDeque::new(), may_send: true, may_receive: false };
    let buffer = Arc::new(Mutex::new(buffer));
    let other = buffer.clone();
    let tasks = vec![
        boxed(async move {
            let mut item = 0;
            for _ in 0..ROUNDS {
                let mut buffer = other.lock().await;
                let sends = buffer.may_send;
                if sends {
                    buffer.items.push_back(item);
                    (buffer.may_send, buffer.may_receive) = (false, true);
                }
                item += usize::from(sends || !fixed);
            }
        }),
        boxed(async move {
            let mut expected = 0;
            for _ in 0..ROUNDS {
                let mut buffer = buffer.lock().await;
                let receives = buffer.may_receive;
                if receives {
                    assert_eq!(buffer.items.pop_front(), Some(expected));
                    (buffer.may_send, buffer.may_receive) = (true, false);
                }
                expected += usize::from(receives || !fixed);
            }
        }),
    ];
    together(spawning, tasks).await;
}

/// Buggy: the flag is set at the first item and never cleared. Fixed: removing the last item clears it.
async fn stack(spawning: Spawning, fixed: bool) {
    const ROUNDS: usize = 10;
    let stack = Arc::new(Mutex::new((0, false)));
    let other = stack.clone();
    let tasks = vec![
        boxed(async move {
            for _ in 0..ROUNDS {
                let (height, filled) = &mut *other.lock().await;
                (*height, *filled) = (*height + 1, true);
            }
        }),
        boxed(async move {
            for _ in 0..ROUNDS {
                let (height, filled) = &mut *stack.lock().await;
                if *filled {
                    assert!(*height > 0, "taken from an empty stack");
                    *height -= 1;
                    *filled = !fixed || *height > 0;
                }
            }
        }),
    ];
    together(spawning, tasks).await;
}
