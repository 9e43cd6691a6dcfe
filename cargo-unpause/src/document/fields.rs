//! The structs of a report. docs/json.md describes them.

use serde_json::Value;
use sim::report::Pattern;
use sim::run::Failure as Failures;

use super::part::{self, Maybe, Part, Word, Wrong, objects};
use super::words;

/// An index into [`Document::places`]; `None` if the place is unknown.
pub type PlaceIndex = Option<u64>;

objects! {
    /// The report of a test.
    Document {
        format: String = words::FORMATS,
        version: u64,
        by: String,
        test: String,
        package: String,
        runs: u64,
        rehearsals: u64,
        seeds: Option<SeedRange>,
        steps: u64,
        settings: Vec<Setting>,
        real_threads: bool,
        replayed: Option<Origin>,
        warnings: Vec<String>,
        notes: Vec<String>,
        searched: Option<Searched>,
        coverage: Option<Coverage>,
        closure: Option<Closure>,
        statistics: Option<Statistics>,
        faults: Vec<FaultCount>,
        finding: Option<Finding>,
        screen: Screen,
        places: Vec<Place>,
    }
    /// The seeds that were requested.
    SeedRange { first: Word, last: Word }
    /// A setting that differs from its default.
    Setting { name: String, value: String }
    /// The source of the decisions of a run.
    Origin { kind: String = words::ORIGINS, seed: Option<Word>, file: Option<String> }
    /// A fault of a nemesis, by kind.
    FaultCount { kind: String, times: u64, met: u64, text: String }
    /// The printed screen: lines of pieces, each with its style.
    Screen { width: u64, lines: Vec<Vec<(String, String)>> }
    /// A place in the source.
    Place { text: String, file: String, line: Option<u64>, column: Option<u64>, source: Option<String> }
    /// A failure that was found.
    Finding {
        failure: Option<Failure>,
        from: Origin,
        size: Size,
        original_size: Size,
        shrunk: Option<Shrunk>,
        proof: Option<Proof>,
        strengthening: Option<Strengthening>,
        with_sc: Option<WithSc>,
        why: Option<Why>,
        pattern: Maybe<String> = Pattern::NAMES,
        quoted: Maybe<Vec<QuotedLine>>,
        called_from: Option<String>,
        needs_runtime: Option<String>,
        trace_file: Option<String>,
        trace_error: Option<String>,
        source_file: Option<String>,
        history_file: Option<String>,
        page_file: Maybe<Option<String>>,
        replay: Option<String>,
        record: Option<String>,
        run: Run,
    }
    /// A source line that the screen quotes.
    QuotedLine { place: PlaceIndex, text: String }
    /// The size of a run.
    Size { tasks: u64, steps: u64, switches: u64, preemptions: u64, draws: u64, commands: u64 }
    /// The result of shrinking.
    Shrunk { replays: u64, size: Size, complete: bool }
    /// A proof about preemptions.
    Proof {
        fewest: u64, complete: bool, runs: u64, saved: u64, longer: Option<u64>, same_stores: Maybe<bool>,
    }
    /// Stronger memory orders that prevented the failure in repeated runs.
    Strengthening { operations: Vec<Strengthened>, runs: u64, interleavings: Maybe<Option<u64>> }
    /// An operation with a stronger order.
    Strengthened { op: String, place: PlaceIndex, order: String }
    /// Runs with the memory `sc`, for a failing run with older stores.
    WithSc { fails: bool, complete: bool, runs: u64 }
    /// The explanation of a failing run by other runs.
    Why {
        runs: u64,
        cause: Option<Interruption>,
        remedy: Option<Remedy>,
        chances: Vec<Chance>,
        marks: Vec<u64>,
        no_return: Option<NoReturn>,
        passing: Maybe<Option<PassingRun>>,
        newest_stores: Maybe<bool>,
    }
    /// A region of lines that other tasks interrupted.
    Interruption {
        task: u64,
        region: Region,
        is_reached: bool,
        between: Vec<u64>,
        decisive: Maybe<Vec<u64>>,
    }
    /// Two operations of one task.
    Region { from_op: String, from: PlaceIndex, to_op: String, to: PlaceIndex }
    /// Regions that make the failure impossible if each is one step, or an order. Some numbers depend on the kind.
    Remedy {
        regions: Vec<Region>,
        waits: bool,
        order: Maybe<Option<Order>>,
        kind: String = words::REMEDIES,
        interleavings: Option<u64>,
        of: Option<u64>,
        left_out: Option<u64>,
        preemptions: Option<u64>,
        runs: Option<u64>,
        failed: Option<u64>,
    }
    /// An order of two operations: the first takes effect so many times before the second.
    Order { early_op: String, early: PlaceIndex, late_op: String, late: PlaceIndex, times: u64 }
    /// The chance of failure after the first steps.
    Chance { after: u64, share: f64, runs: u64 }
    /// A proof that every run with the same first steps fails.
    NoReturn { after: u64, interleavings: u64 }
    /// The passing run with the most first steps in common with the failing run, from its first step that differs.
    PassingRun { common: u64, step_count: u64, steps: Vec<PassingStep>, replay: Option<String> }
    /// A step of a passing run.
    PassingStep {
        step: u64,
        task: String,
        path: String,
        preempts: bool,
        operations: Vec<PassingOperation>,
        more: u64,
        draws: Vec<Draw>,
    }
    /// An operation of a passing run.
    PassingOperation { op: String, text: String, place: PlaceIndex }
    /// A failure: the fields of all failures, and one object whose fields depend on the kind.
    Failure {
        kind: String = Failures::KINDS,
        text: String,
        signature: Signature,
        panic: Maybe<Panic>,
        memory: Maybe<Memory>,
        error: Maybe<Message>,
        deadlock: Maybe<Deadlock>,
        invariant: Maybe<Invariant>,
        step_limit: Maybe<StepLimit>,
        starved: Maybe<Starved>,
        history: Maybe<Inconsistent>,
        diverged: Maybe<Diverged>,
        non_determinism: Maybe<NonDeterminism>,
        crash: Maybe<Crash>,
        hang: Maybe<Hang>,
        time_limit: Maybe<TimeLimit>,
        too_seldom: Maybe<TooSeldom>,
        unproven: Maybe<Unproven>,
        unreadable: Maybe<Message>,
        misuse: Maybe<Misuse>,
    }
    /// The identity of a failure.
    Signature { kind: String = Failures::KINDS, place: String }
    /// A panic of a task.
    Panic { task: u64, message: String, place: PlaceIndex }
    /// A wrong use of memory.
    Memory { problem: String, message: String, steps: Vec<MemoryStep>, remedy: String }
    /// A step of a wrong use of memory.
    MemoryStep { label: String, task: u64, place: PlaceIndex, called_from: PlaceIndex }
    /// A message.
    Message { message: String }
    /// A deadlock.
    Deadlock { waits: Vec<Wait> }
    /// A task that waits.
    Wait {
        task: u64,
        text: String,
        op: Option<String>,
        object: Option<u64>,
        target: Option<u64>,
        place: PlaceIndex,
        holder: Option<Holder>,
        unpolled: bool,
    }
    /// The task that holds the object for which another task waits.
    Holder { task: u64, step: u64, place: PlaceIndex }
    /// An invariant that does not hold.
    Invariant { name: String, task: u64, place: PlaceIndex }
    /// A run with too many steps.
    StepLimit { steps: u64, cycle: Vec<CycleStep> }
    /// A step of a cycle.
    CycleStep { task: u64, candidates: u64, preempts: bool }
    /// An operation whose task needed too many steps.
    Starved { task: u64, steps: u64, place: PlaceIndex }
    /// A history that no order of its model explains.
    Inconsistent { history: u64, condition: String, verdict: Option<Verdict>, place: PlaceIndex }
    /// A run that differs from its trace.
    Diverged { step: u64, expected: String, found: String }
    /// Two different runs with the same decisions.
    NonDeterminism { step: u64, first: String, second: String }
    /// A failure that ended the process.
    Crash { task: u64, cause: String, message: String, place: PlaceIndex }
    /// A task that did not return to the scheduler in time.
    Hang { task: u64, last: String, place: PlaceIndex, seconds: u64, unseen: Vec<String> }
    /// A run on real threads that did not end.
    TimeLimit { running: String, seconds: u64 }
    /// Conditions that held in too few runs.
    TooSeldom { conditions: Vec<Condition>, runs: u64, generated: bool }
    /// A proof that a test requires and a search did not give.
    Unproven { why: String }
    /// A wrong use of the library.
    Misuse { message: String, place: PlaceIndex }
    /// A condition of `sometimes!` or `cover!`.
    Condition { name: String, place: PlaceIndex, percent: u64, runs: u64 }
    /// The verdict of a checker. The fields after `kind` depend on it.
    Verdict {
        kind: String = words::VERDICTS,
        engine: Maybe<String>,
        order: Maybe<Option<Vec<u64>>>,
        anomaly: Maybe<Option<Anomaly>>,
        partial: Maybe<Vec<Vec<u64>>>,
        misfit: Maybe<u64>,
        expected: Maybe<Vec<String>>,
        state: Maybe<String>,
        part: Maybe<Vec<u64>>,
        text: Maybe<String>,
        nodes: Maybe<u64>,
        longest: Maybe<u64>,
        operations: Maybe<u64>,
        limit: Maybe<String> = words::LIMITS,
    }
    /// A contradiction with a name.
    Anomaly { name: String, text: String, edges: Vec<Edge> }
    /// One operation must come before another.
    Edge { from: u64, to: u64, why: String }
    /// A run.
    Run {
        seed: Word,
        strategy: String,
        passed: bool,
        tasks: Vec<Task>,
        objects: Vec<Object>,
        step_count: u64,
        omitted_steps: Option<OmittedSteps>,
        steps: Vec<Step>,
        draws: Vec<Draw>,
        events: Vec<Event>,
        calls: Vec<Call>,
        threads: Threads,
        histories: Vec<History>,
        programs: Vec<Program>,
        leaked: Vec<u64>,
        stuck: Vec<Stuck>,
        circle: Vec<Wait>,
        spins: Vec<Spin>,
        foreign: bool,
        time_moves: Vec<TimeMove>,
        output: String,
        panics: Vec<Panicked>,
        conditions: Vec<Condition>,
        faults: Vec<FaultCount>,
    }
    /// A panic that the failure does not contain.
    Panicked { task: u64, message: String, place: String }
    /// A task.
    Task {
        shown: String,
        path: String,
        name: Option<String>,
        place: PlaceIndex,
        node: Option<String>,
        from: Option<String>,
        message: Option<String>,
    }
    /// A shared object.
    Object {
        shown: String,
        kind: String,
        name: Option<String>,
        values: String = words::INTERPRETATIONS,
        place: PlaceIndex,
        creator: Option<Creator>,
        node: Option<String>,
        ordinal: u64,
    }
    /// The task that created an object.
    Creator { task: u64, nth: u64 }
    /// Steps that are not in the file.
    OmittedSteps { from: u64, to: u64 }
    /// A step.
    Step { step: u64, task: u64, candidates: u64, preempts: bool }
    /// A drawn value.
    Draw { step: u64, value: Word, bound: Word, given: bool, why: String }
    /// An operation that took effect.
    Event {
        event: u64,
        step: u64,
        task: u64,
        object: Option<u64>,
        op: String,
        access: String,
        text: String,
        order: Option<String>,
        quiet: bool,
        fault: bool,
        changes: bool,
        place: PlaceIndex,
        values: Option<Values>,
    }
    /// The values of an event. The fields after `kind` depend on it.
    Values {
        kind: String = words::VALUES,
        saw: Maybe<Bits>,
        left: Maybe<Bits>,
        wanted: Maybe<Bits>,
        task: Maybe<u64>,
        first: Maybe<u64>,
        after: Maybe<u64>,
        number: Maybe<Option<u64>>,
    }
    /// A value of an object.
    Bits { bits: Word, text: String }
    /// A call of a plain thread.
    Call {
        task: u64,
        function: String,
        place: PlaceIndex,
        events: Vec<u64>,
        through: Vec<String>,
        is_last: bool,
    }
    /// Facts about plain threads.
    Threads { spawns: Vec<Spawn>, holds: Vec<Hold>, own: Vec<u64>, panicked_from: PlaceIndex }
    /// A task of a runtime.
    Spawn { state: u64, place: PlaceIndex }
    /// A lock that a thread holds.
    Hold { lock: u64, event: u64, shared: bool }
    /// A history.
    History {
        model: String,
        clients: Vec<String>,
        operations: Vec<Operation>,
        verdict: Option<Verdict>,
        lines: Option<String>,
        remark: Option<String>,
    }
    /// A call of a client.
    Operation { client: u64, op: String, invoked: u64, result: Option<String>, returned: Option<u64> }
    /// A generated program.
    Program {
        model: String,
        initial: String,
        op_type: String,
        interleavings: Word,
        interleavings_max: Word,
        commands: Vec<Command>,
        draws: Vec<u64>,
        omitted: Omitted,
        work: u64,
        unfinished: Option<String>,
        blocks: bool,
        pins: Vec<Pin>,
    }
    /// A command of a program.
    Command {
        text: String,
        label: String,
        source: String,
        part: String,
        fate: String = words::FATES,
        points: Option<u64>,
        change: u64,
        simpler: Vec<u64>,
        candidates: Word,
        ran: Option<Ran>,
        drawn: Vec<u64>,
        faults: CommandFaults,
    }
    /// The steps in which a command ran.
    Ran { task: u64, first_step: u64, last_step: u64 }
    /// The faults of a command.
    CommandFaults { again: bool, crash: Option<u64>, timeout: bool }
    /// Commands that were left out of a program.
    Omitted {
        refused: u64,
        precondition: u64,
        reference: u64,
        waiting: u64,
        unchecked: u64,
        faults: u64,
        trusted: bool,
    }
    /// A victim of a fault, pinned to one node.
    Pin { draw: u64, value: Word }
    /// A task that was blocked for ever.
    Stuck { task: u64, text: String }
    /// A task that spins.
    Spin { task: u64, looks: Vec<u64>, times: u64 }
    /// An advance of the virtual time.
    TimeMove { step: u64, nanoseconds: Word, text: String }
    /// The progress of a search.
    Searched {
        is_proof: bool,
        assumption: Option<String>,
        blocked: u64,
        repeated: u64,
        complete: bool,
        part: Option<f64>,
        blind: bool,
        by_step: bool,
        cause: Option<Cause>,
        assumes: bool,
        beyond: Vec<String>,
        ignored: Vec<String>,
        unseen: Vec<String>,
        orders: String = words::ORDERS,
        bound: Option<Bound>,
        early_moves: Maybe<Option<u64>>,
        waits_for_time: Maybe<bool>,
        share: Maybe<Option<Share>>,
        estimate: Maybe<Option<RunsEstimate>>,
        excess: Maybe<Option<Excess>>,
        series: Maybe<Vec<ProgressPoint>>,
        audit: Option<Audit>,
        fallback: Option<Fallback>,
    }
    /// The reason for a search by steps: one of two kinds.
    Cause { clash: Option<Clash>, contact: Option<String> }
    /// Two steps that did not commute.
    Clash { steps: Vec<StepText>, shows: String, is_death: bool }
    /// A step in words.
    StepText { task: String, operations: String, place: PlaceIndex }
    /// A bound of a search.
    Bound { what: String, through: Option<u64> }
    /// The estimated number of all runs of a search. For a bounded search, of all runs within its next bound.
    RunsEstimate { runs: Word, low: Word, high: Word }
    /// The statement that a search needs more runs than its limit allows.
    Excess { limit: Word, fits: Option<FittingBound> }
    /// A bounded search that is complete within the run limit of another search.
    FittingBound { preemptions: u64, runs: Word }
    /// The progress of a search at one moment.
    ProgressPoint {
        runs: u64, part: Option<f64>, total: Option<Word>, low: Option<Word>, high: Option<Word>, milliseconds: u64,
    }
    /// The share of a search that is divided among processes.
    Share { number: u64, of: u64 }
    /// Sampled runs after a search.
    Audit {
        runs: u64, missed: Option<String>, failed: bool, unseen: bool, clash: Option<Clash>, captured: Maybe<bool>,
    }
    /// The search that used the second half of the runs.
    Fallback { runs: u64, searched: Box<Searched> }
    /// Coverage.
    Coverage {
        runs: u64,
        classes: u64,
        new_per_hundred: Vec<u64>,
        once: u64,
        twice: u64,
        unseen: f64,
        unseen_low: f64,
        unseen_high: f64,
        foreign: bool,
        blind_objects: Vec<BlindObject>,
        blind_tasks: Vec<String>,
        blind_draws: Vec<BlindDraw>,
    }
    /// An object without contention.
    BlindObject { kind: String, place: PlaceIndex, ordinal: u64 }
    /// A draw with values that no run has drawn.
    BlindDraw { task: String, nth: u64, bound: u64, never: Vec<u64> }
    /// Histories in other orders.
    Closure { runs: u64, orders: u64, open: u64, unconfirmed: u64 }
    /// The composition of generated programs.
    Statistics {
        runs: u64,
        labels: Vec<Label>,
        omitted: Omitted,
        operations: u64,
        overlapped: u64,
        at_once: Vec<u64>,
        conditions: Vec<Condition>,
        distinct_histories: u64,
    }
    /// The commands with the same label.
    Label { label: String, all: u64, beside: u64 }
}
