//! Histories of runs as files: read back, they are the recorded histories and have their verdicts.

use sim::check::history::HistoryRecord;
use sim::check::models::{
    Counter, NilRead, Queue, Register, RegisteredModel, Set, Stack, Visitor, registry,
};
use sim::check::{Budget, Model, linearizable};
use sim::{History, Runner};
use unpause_histories::{format_named, operations, read};

/// A history of three clients of two calls each, answered with any result in the alphabet of the
/// model.
fn recorded<M: RegisteredModel>(seed: u64, initial: &M) -> HistoryRecord {
    let run = Runner::new().hermetic().strategy("random").run_seed(seed, async || {
        let history = History::new(initial.clone());
        sim::map_concurrently(0..3, |_| {
            let history = history.clone();
            async move {
                for _ in 0..2 {
                    let alphabet = M::alphabet();
                    let (op, rets) = &alphabet[sim::rand::below(alphabet.len() as u64) as usize];
                    let ret = rets[sim::rand::below(rets.len() as u64) as usize].clone();
                    let work = async move {
                        sim::task::yield_now().await;
                        ret
                    };
                    history.call(op.clone(), work).await;
                }
            }
        })
        .await;
        history.check();
    });
    run.histories[0].clone()
}

/// Reads files back. Returns the numbers of consistent histories and of others.
fn read_back<M: RegisteredModel>(initial: &M) -> [u32; 2] {
    let before = initial.written_before().expect("it is written").len();
    let mut verdicts = [0; 2];
    for seed in 0..250 {
        let record = recorded(seed, initial);
        // A file cannot express a compare-and-swap that failed, or an answer of another kind.
        let Some(lines) = &record.lines else { continue };
        let recording = read(lines.as_bytes(), format_named("json").unwrap()).unwrap();
        let found = operations::<M>(&recording, NilRead::Nothing).unwrap().operations;
        let told = |op: &str, ret: Option<&str>| format!("{op} {}", ret.unwrap_or("?"));
        let written: Vec<String> = found[before..]
            .iter()
            .map(|o| {
                let ret = o.returned.as_ref().map(|(ret, _)| M::Recorded::ret_text(ret));
                told(&M::Recorded::op_text(&o.op), ret.as_deref())
            })
            .collect();
        let expected: Vec<String> = record
            .operations
            .iter()
            .map(|o| told(&o.op, o.returned.as_ref().map(|(ret, _)| ret.as_str())))
            .collect();
        assert_eq!(written, expected, "{lines}");
        let start = M::recorded(None).unwrap();
        let verdict = linearizable(&start, &found, &Budget::nodes(1_000_000)).unwrap();
        let consistent = record.verdict.unwrap().is_consistent();
        assert_eq!(verdict.is_consistent(), consistent, "{lines}");
        verdicts[usize::from(consistent)] += 1;
    }
    verdicts
}

#[cfg_attr(feature = "sim", test)]
fn a_history_that_is_written_and_read_is_the_one_that_was_recorded() {
    struct Verdicts(Vec<[u32; 2]>);
    impl Visitor for Verdicts {
        fn visit<M: RegisteredModel>(&mut self) {
            let initial = M::initial();
            if initial.written_before().is_some() {
                self.0.push(read_back(&initial));
            }
        }
    }
    let mut verdicts = Verdicts(Vec::new());
    registry(&mut verdicts);
    assert!(verdicts.0.len() >= 8, "fewer models are written than there were");
    verdicts.0.extend([
        read_back(&Counter::new(7)),
        read_back(&[1, 2].into_iter().collect::<Queue>()),
        read_back(&[1, 2].into_iter().collect::<Stack>()),
        read_back(&[1].into_iter().collect::<Set>()),
    ]);
    for [violated, consistent] in verdicts.0 {
        assert!(violated > 0 && violated + consistent >= 10, "{violated} and {consistent}");
    }
}

#[test]
fn what_no_file_has_is_not_written() {
    let lines = |initial: Register<Option<u64>>| {
        let run = Runner::new().hermetic().run_seed(0, async || {
            let history = History::new(initial.clone());
            let write = sim::check::models::RegisterOp::Write(Some(1));
            history.call(write, async { sim::check::models::RegisterRet::Done }).await;
        });
        run.histories[0].lines.clone()
    };
    assert_eq!(lines(Register::new(None)), None);
}
