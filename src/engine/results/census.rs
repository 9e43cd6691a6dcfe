//! Coverage counts in the lines of result files.

use super::json::{Json, list, quoted};
use super::tally::{interned, numbers, read_spot, spot, sums_to};
use crate::census::{Census, Object, Tried, Visit, Visitors};
use crate::run::ids::TaskPath;

/// Returns the JSON object with the coverage of a line.
pub(super) fn entries(census: &Census) -> String {
    let classes = census.classes.iter();
    let classes = classes.map(|(class, (count, first))| format!("[{class},{count},{first}]"));
    let Tried { objects, tasks, draws } = &census.tried;
    let objects = objects.iter().map(|((kind, place, ordinal), object)| {
        let seen = match object {
            // A reader recognizes a contested object by the number of its entries.
            Object::Contested => String::new(),
            Object::Quiet { visitors, pairs } => {
                let visitor = match visitors {
                    Visitors::One(task) => quoted(&task.to_string()),
                    Visitors::Several => "null".to_owned(),
                };
                let visit = |(task, nth): &Visit| format!("\"{task}\",{nth}");
                let pairs = pairs.iter().map(|(a, b)| format!("[{},{}]", visit(a), visit(b)));
                format!(",{visitor},{}", list(pairs))
            }
        };
        format!("[{},{},{ordinal}{seen}]", quoted(kind), spot(*place))
    });
    let tasks = tasks.iter().map(|(task, preempted)| format!("[\"{task}\",{preempted}]"));
    let draws = draws.iter();
    let draws =
        draws.map(|((task, nth, bound), values)| format!("[\"{task}\",{nth},{bound},{values}]"));
    format!(
        "{{\"foreign\":{},\"classes\":{},\"objects\":{},\"tasks\":{},\"draws\":{}}}",
        census.foreign,
        list(classes),
        list(objects),
        list(tasks),
        list(draws),
    )
}

/// Reads the coverage of `runs` runs that begin at position `from`.
///
/// # Errors
/// If the entries contradict each other, the positions, or the number of runs.
pub(super) fn read(line: &Json, from: u64, runs: u64) -> Result<Census, String> {
    let mut census = Census { runs, foreign: line.flag("foreign")?, ..Census::default() };
    for class in line.list("classes")? {
        let Json::List(entries) = class else { return Err("a class is no list".to_owned()) };
        let [class, count, first] = numbers(entries)?[..] else {
            return Err("a class is not three numbers".to_owned());
        };
        // The first run of a class is one of the runs of this line.
        if count == 0 || first.checked_sub(from).is_none_or(|at| at >= runs) {
            return Err("a class was first seen in a run of another line".to_owned());
        }
        census.classes.insert(class, (count, first));
    }
    // Each run belongs to exactly one class.
    let counts: Vec<u64> = census.classes.values().map(|(count, _)| *count).collect();
    if !sums_to(&counts, runs) {
        return Err(format!("`classes` are not of {runs} runs"));
    }
    let wrong = |what: &str| format!("`{what}` has an entry that is none");
    for entry in line.list("objects")? {
        read_object(entry, &mut census.tried).ok_or_else(|| wrong("objects"))?;
    }
    for entry in line.list("tasks")? {
        read_task(entry, &mut census.tried).ok_or_else(|| wrong("tasks"))?;
    }
    for entry in line.list("draws")? {
        read_draw(entry, &mut census.tried).ok_or_else(|| wrong("draws"))?;
    }
    Ok(census)
}

fn read_object(entry: &Json, tried: &mut Tried) -> Option<()> {
    let Json::List(entries) = entry else { return None };
    let (Json::Text(kind), place) = (entries.first()?, read_spot(entries.get(1..4)?)?) else {
        return None;
    };
    // `get(1..4)` has checked the length.
    let object = match &entries[4..] {
        [_] => Object::Contested,
        [_, visitor, Json::List(pairs)] => {
            let visitors = match visitor {
                Json::Null => Visitors::Several,
                task => Visitors::One(read_path(task)?),
            };
            let pair = |pair: &Json| {
                let Json::List(pair) = pair else { return None };
                let [a, nth_a, b, nth_b] = &pair[..] else { return None };
                Some(((read_path(a)?, read_small(nth_a)?), (read_path(b)?, read_small(nth_b)?)))
            };
            Object::Quiet { visitors, pairs: pairs.iter().map(pair).collect::<Option<_>>()? }
        }
        _ => return None,
    };
    tried.objects.insert((interned(kind), place, read_small(entries.get(4)?)?), object);
    Some(())
}

fn read_task(entry: &Json, tried: &mut Tried) -> Option<()> {
    let Json::List(entries) = entry else { return None };
    let [task, Json::Bool(preempted)] = &entries[..] else { return None };
    tried.tasks.insert(read_path(task)?, *preempted);
    Some(())
}

fn read_draw(entry: &Json, tried: &mut Tried) -> Option<()> {
    let Json::List(entries) = entry else { return None };
    let [task, nth, Json::Number(bound), Json::Number(values)] = &entries[..] else { return None };
    let possible = match bound {
        1..64 => (1 << bound) - 1,
        // 64 is a separate case, because a shift by 64 bits overflows.
        64 => u64::MAX,
        _ => return None,
    };
    (values & !possible == 0).then_some(())?;
    tried.draws.insert((read_path(task)?, read_small(nth)?, *bound), *values);
    Some(())
}

fn read_path(task: &Json) -> Option<TaskPath> {
    match task {
        Json::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn read_small(number: &Json) -> Option<u32> {
    match number {
        Json::Number(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}
