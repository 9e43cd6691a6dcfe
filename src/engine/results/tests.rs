//! Files of results that were cut off, damaged, written twice or by another program.

use super::*;
use crate::run::Condition;
use crate::run::ids::Spot;
use crate::run::program::Omitted;
use crate::run::statistics::Statistics;
use crate::strategy::divided::Slice;
use crate::strategy::search::Apart;

fn header() -> ResultsHeader {
    let subject = Subject {
        test: "t".to_owned(),
        package: "p 1".to_owned(),
        target: "lib".to_owned(),
        must_fail: MustFail::No,
        settings: vec![
            ("strategy".to_owned(), "random".to_owned()),
            ("cancel".to_owned(), "a \"b\"*".to_owned()),
        ],
        build: "sim".to_owned(),
        binary: "0123456789abcdef".to_owned(),
        command: "cargo test".to_owned(),
    };
    ResultsHeader {
        subject,
        first: 0,
        count: 100,
        shard: 1,
        of: 1,
        search: None,
        must_prove: false,
        plain_threads: false,
    }
}

/// A file with this content, in a folder of the process.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sim-results-{}", std::process::id()));
    let path = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// Opens a file of seeds. Returns its segments from position 0 on.
fn open(path: &Path, header: &ResultsHeader) -> Result<(File, bool, Vec<Segment>), String> {
    let OpenedFile { file, is_torn, part, .. } = super::open(path, header)?;
    Ok((file, is_torn, chain(part.map_or_else(Vec::new, |part| part.segments))))
}

fn reached(segments: &[Segment]) -> u64 {
    segments.last().map_or(0, |segment| segment.to)
}

/// Counts that identify their runs.
fn tally(positions: Range<u64>) -> Tally {
    let condition = |name, runs| Condition { name, place: Spot::new("f", 1, 1), percent: 3, runs };
    Tally {
        runs: positions.end - positions.start,
        steps: positions.clone().map(|n| n * n).sum(),
        conditions: vec![condition("odd", positions.filter(|n| n % 2 == 1).count() as u64)],
        ..Tally::default()
    }
}

fn counts(tally: &Tally) -> (u64, u64, u64) {
    (tally.runs, tally.steps, tally.conditions.first().map_or(0, |condition| condition.runs))
}

fn segment(positions: Range<u64>) -> Segment {
    Segment { from: positions.start, to: positions.end, tally: tally(positions) }
}

#[test]
fn a_file_is_gone_on_from_whatever_ended_it() {
    let failed = r#"{"failed":3,"file":null,"kind":"panic","place":"","what":"","trace":null,"replay":null}"#;
    let lines = [
        header().line() + "\n",
        segment(0..7).line(),
        format!("{failed}\n"),
        segment(7..12).line(),
    ];
    let content = lines.concat();
    for length in 0..=content.len() {
        let path = file("cut", &content.as_bytes()[..length]);
        let (mut opened, torn, segments) = open(&path, &header()).unwrap();
        // A line that lacks only its line feed is complete, too.
        let whole = |count: usize| content[..length].len() + 1 >= lines[..count].concat().len();
        let expected = if whole(4) {
            12
        } else if whole(2) {
            7
        } else {
            0
        };
        assert_eq!(reached(&segments), expected, "{length}");
        // An added line begins with a line feed if the last line of the file was cut off.
        let begin = if torn { "\n" } else { "" };
        let next = expected..expected + 5;
        opened.write_all(format!("{begin}{}", segment(next.clone()).line()).as_bytes()).unwrap();
        let (_, _, segments) = open(&path, &header()).unwrap();
        assert_eq!(reached(&segments), next.end, "{length}");
        let mut sum = Tally::default();
        segments.into_iter().for_each(|segment| sum.merge(segment.tally));
        assert_eq!(counts(&sum), counts(&tally(0..next.end)));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_contradicts_its_header_is_not_believed() {
    let own = header().line();
    let whole = segment(0..7).line();
    let damaged =
        format!("{own}\n{{\"from\":0,\"done\"{whole}{whole}\u{0}x\n{{\"failed\":GARBAGE\n");
    let path = file("damaged", damaged.as_bytes());
    assert_eq!(reached(&open(&path, &header()).unwrap().2), 7);
    for (name, lines, said) in [
        (
            "seeds",
            own.replace("100", "20"),
            "it is of another run (seeds: 20 from 0 on there, 100 from 0 on here)",
        ),
        ("program", own.replace("abcdef", "000000"), "results of another program do not apply"),
        ("version", own.replace("\"sim\":4", "\"sim\":1"), "another version of unpause"),
        ("history", "{\"type\":\"invoke\"}".to_owned(), "is not a file of results"),
        ("bytes", "\u{1}\u{2}".to_owned(), "is not a file of results"),
        ("beyond", format!("{own}\n{}", segment(0..101).line()), "line 2: seeds 0 to 101 cannot"),
        (
            "empty",
            format!("{own}\n{}", whole.replace("done\":7", "done\":0")),
            "line 2: seeds 0 to 0",
        ),
        (
            "signed",
            format!("{own}\n{{\"from\":0,\"done\":\"5\",\"steps\":1}}"),
            "line 2: `done` is not",
        ),
        ("held", format!("{own}\n{}", whole.replace(",3]", ",8]")), "at most 7 runs"),
        (
            "failed",
            format!("{own}\n{{\"failed\":100}}"),
            "line 2: seed 100 does not belong to this shard",
        ),
        ("kind", format!("{own}\n{{\"failed\":1}}"), "line 2: `kind` is not text"),
        ("twice", format!("{own}\n{}", own.replace("100", "20")), "line 2: it begins again"),
        ("unknown", format!("{own}\n{{}}"), "line 2: neither `done` nor `failed`"),
    ] {
        let path = file(name, format!("{lines}\n").as_bytes());
        let opened = open(&path, &header()).map(|(_, _, segments)| reached(&segments));
        assert!(opened.as_ref().is_err_and(|why| why.contains(said)), "{name}: {opened:?}");
        assert_eq!(fs::read(&path).unwrap(), format!("{lines}\n").as_bytes(), "it was changed");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_file_is_begun_as_long_as_it_has_no_first_line() {
    let own = header().line();
    for text in ["", "\n", "{", "{\n{\"sim", "{\"sim\":2,\"pack\n\n{\"si\n{\"sim\":2"] {
        assert_eq!(ResultsFile::read(text.as_bytes()).unwrap_err(), Unread::Begun, "{text:?}");
        let (_, _, segments) = open(&file("begun", text.as_bytes()), &header()).unwrap();
        assert_eq!(reached(&segments), 0);
        let whole = fs::read(file("begun", format!("{text}\n{own}\n").as_bytes())).unwrap();
        assert_eq!(ResultsFile::read(&whole).unwrap().header, header());
    }
    for text in ["x", "{\"type\":", "{}", "{\"sim\nx"] {
        assert_eq!(ResultsFile::read(text.as_bytes()).unwrap_err(), Unread::Foreign, "{text:?}");
    }
    // Some editors write a byte-order mark at the beginning of a file.
    assert_eq!(
        ResultsFile::read(format!("\u{feff}{own}\n\n").as_bytes()).unwrap().header,
        header()
    );
}

#[test]
fn two_processes_may_begin_and_write_one_file() {
    let own = header().line() + "\n";
    // Both processes begin at 0. The first then continues from 4 to 10, the second from 6 to 8. A third process
    // continues from 10 to 12, and the second from 8 to 11.
    let lines: Vec<_> =
        [0..4, 0..6, 4..10, 6..8, 10..12, 8..11].map(segment).iter().map(Segment::line).collect();
    let path = file("two", format!("{own}{own}\n{}", lines.concat()).as_bytes());
    let (_, _, segments) = open(&path, &header()).unwrap();
    let ranges: Vec<_> = segments.iter().map(|segment| (segment.from, segment.to)).collect();
    assert_eq!(ranges, [(0, 4), (4, 10), (10, 12)]);
}

#[test]
fn two_processes_with_other_limits_may_begin_one_search() {
    let with = |runs| {
        let command = "SIM_CANCEL='a \"b\"*' cargo test --release".to_owned();
        let search = Some(SearchCommand { command, runs });
        ResultsHeader { search, must_prove: runs > 10, plain_threads: true, ..header() }
    };
    for [first, second] in [[10, 20], [20, 10]] {
        let text = format!("{}\n{}\n", with(first).line(), with(second).line());
        assert_eq!(ResultsFile::read(text.as_bytes()).unwrap().header, with(first));
    }
}

#[test]
fn the_classes_of_a_slice_are_one_text_with_16_digits_for_each() {
    let line = |classes: &[u64]| {
        let slice = Slice { runs: 9, classes: classes.to_vec(), ..Slice::default() };
        let tally = Tally::default();
        let (untried, warnings, notes) = Default::default();
        let seen = SeenBySlice { tally: &tally, untried, warnings, notes, stuck: None };
        SliceLine::write((0, 3, 7), &slice, u64::MAX, &seen)
    };
    let classes = [0, 0xfedc_ba98_7654_3210, 17, u64::MAX - 1];
    let whole = line(&classes);
    assert_eq!(read_back(&whole).unwrap().classes, classes);
    assert!(read_back(&line(&[])).unwrap().classes.is_empty());
    assert_eq!(whole.len(), line(&[]).len() + 16 * classes.len());
    for (digits, wrong) in [("fedc", "fed"), ("fedc", "fedx"), ("fedc", "+edc"), ("0011", "1é1")] {
        let read = read_back(&whole.replace(digits, wrong));
        assert!(read.as_ref().is_err_and(|why| why.contains("`classes`")), "{wrong}: {read:?}");
    }
    let audit = AuditLine {
        generation: 2,
        classes: classes.to_vec(),
        agrees: true,
        begins_again: false,
        clash: None,
    };
    let text = format!("{}\n{}", header().line(), audit.write());
    let read = ResultsFile::read(text.as_bytes()).unwrap();
    assert_eq!(read.search.audits.into_values().collect::<Vec<_>>(), [audit]);
}

#[test]
fn a_last_line_without_its_end_is_not_the_line_of_another_process() {
    let slice = r#"{"slice":[0,0,0],"runs":[4,0,0],"rest":null,"steps":4}"#;
    let path = file("unended", format!("{}\n{slice}", header().line()).as_bytes());
    let opened = super::open(&path, &header()).unwrap();
    let about = ("unended".to_owned(), header(), Apart::NOTHING);
    let log = SearchLog::new(about, opened, false).unwrap();
    assert!(log.take((0, 0, 0)).is_some());
    // This write ends the incomplete line.
    log.write("{\"estimate\":7}\n");
    assert!(!log.follow());
    // Another process writes another slice.
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(format!("{}\n", slice.replace("[0,0,0]", "[0,0,1]")).as_bytes()).unwrap();
    assert!(log.follow());
    fs::remove_file(path).unwrap();
}

/// The first slices of such a search belong to its second generation.
#[test]
fn a_search_of_each_order_is_complete_according_to_its_lines() {
    let slice = r#"{"slice":[1,0,0],"runs":[4,0,0],"rest":null,"steps":4}"#;
    let text = format!("{}\n{slice}\n", header().line());
    let is_through = |each_order: bool| {
        let lines = ResultsFile::read(text.as_bytes()).unwrap().search;
        let ledger = Ledger::follow(lines, (1, 1), None, each_order).unwrap();
        assert_eq!(ledger.progress().by_step, each_order);
        ledger.is_through()
    };
    assert_eq!([true, false].map(is_through), [true, false]);
}

#[test]
fn a_part_of_a_search_may_have_two_lines_if_they_are_equal() {
    let line = |runs: u64| {
        let slice =
            format!("{{\"slice\":[0,0,0],\"runs\":[{runs},0,0],\"rest\":null,\"steps\":4}}\n");
        let audit = AuditLine {
            generation: 0,
            classes: vec![runs],
            agrees: true,
            begins_again: false,
            clash: None,
        };
        [slice, audit.write()]
    };
    let file = |lines: [String; 2]| {
        ResultsFile::read(format!("{}\n{}", header().line(), lines.concat()).as_bytes())
    };
    let [[slice, audit], others] = [line(4), line(5)];
    assert_eq!(file([slice.clone(), slice.clone()]).unwrap().search.slices.len(), 1);
    assert_eq!(file([audit.clone(), audit.clone()]).unwrap().search.audits.len(), 1);
    for (one, other) in [slice, audit].into_iter().zip(others) {
        let read = file([one, other]);
        let is_refused =
            matches!(&read, Err(Unread::Line(3, why)) if why.contains("not a function"));
        assert!(is_refused, "{read:?}");
    }
}

#[test]
fn commands_that_were_left_out_are_counted_in_a_file() {
    let omitted = Omitted { refused: 3, precondition: 2, trusted: true, ..Omitted::default() };
    let of = |omitted| Statistics { runs: 2, omitted, at_once: vec![2], ..Statistics::new() };
    let text = |omitted| {
        let tally = Tally { runs: 2, statistics: Some(of(omitted)), ..Tally::default() };
        format!("{}\n{}", header().line(), Segment { from: 0, to: 2, tally }.line())
    };
    for omitted in [omitted, Omitted::default()] {
        let file = ResultsFile::read(text(omitted).as_bytes()).unwrap();
        assert_eq!(file.segments[0].tally.statistics(), Some(&of(omitted)));
    }
    for wrong in ["[3,2]", "[3,2,0,0,0,0,2]", "[3,2,0,0,0,4294967296,1]", "7"] {
        let text = text(omitted).replace("[3,2,0,0,0,0,1]", wrong);
        let read = ResultsFile::read(text.as_bytes());
        let is_refused = matches!(&read, Err(Unread::Line(2, why)) if why.contains("`omitted`"));
        assert!(is_refused, "{read:?}");
    }
}

#[test]
fn a_hole_ends_what_is_known() {
    let known = |ranges: &[(u64, u64)]| {
        reached(&chain(ranges.iter().map(|(from, to)| segment(*from..*to)).collect()))
    };
    assert_eq!(known(&[(3, 5)]), 0);
    assert_eq!(known(&[(0, 3), (4, 9)]), 3);
    assert_eq!(known(&[(4, 9), (0, 3), (3, 4)]), 9);
    assert_eq!(known(&[(0, 3), (0, 3), (0, 2)]), 3);
}

#[test]
fn a_disk_that_is_full_for_a_moment_loses_nothing() {
    let path = file("full", b"");
    let (opened, torn, _) = open(&path, &header()).unwrap();
    let mut ledger = ResultsLedger::new(opened, torn, Tally::default(), 0);
    ledger.add(0..4, tally(0..4));
    ledger.write("", "");
    // The file contains the part of a line that was written before the disk was full, and no further bytes can be
    // written.
    let left = OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"from\":4,\"don");
    left.unwrap();
    let own = std::mem::replace(&mut ledger.file, File::open(&path).unwrap());
    ledger.add(4..9, tally(4..9));
    ledger.write("", "");
    assert!(ledger.lost.is_some());
    ledger.add(9..11, tally(9..11));
    ledger.write("", "");
    ledger.file = own;
    ledger.write("", "");
    assert!(ledger.lost.is_none());
    let (_, _, segments) = open(&path, &header()).unwrap();
    assert_eq!(reached(&segments), 11);
    assert_eq!(counts(&ledger.whole), counts(&tally(0..11)));
}

#[test]
fn what_is_counted_is_of_all_seeds_up_to_the_first_that_is_not_done() {
    // Batches come in any order. After each batch, the known positions equal the brute-force result over the batches so
    // far.
    let mut random = crate::run::rng::Rng::new(7);
    for round in 0..200 {
        let path = file("ledger", b"");
        let (opened, torn, _) = open(&path, &ResultsHeader { count: 1000, ..header() }).unwrap();
        let mut ledger = ResultsLedger::new(opened, torn, Tally::default(), 0);
        let mut bounds: Vec<u64> = (0..12).map(|_| random.below(100)).collect();
        bounds.extend([0, 100]);
        bounds.sort();
        bounds.dedup();
        let mut batches: Vec<Range<u64>> = bounds.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let mut came = Set::new();
        while !batches.is_empty() {
            let batch = batches.swap_remove(random.below(batches.len() as u64) as usize);
            came.extend(batch.clone());
            ledger.add(batch.clone(), tally(batch));
            if random.below(3) == 0 {
                ledger.write("", "");
            }
            let through = (0..).find(|n| !came.contains(n)).unwrap();
            assert_eq!(ledger.through, through, "round {round}");
            assert!(ledger.islands.len() <= 13);
        }
        ledger.write("", "");
        let (_, _, segments) = open(&path, &ResultsHeader { count: 1000, ..header() }).unwrap();
        let mut sum = Tally::default();
        segments.into_iter().for_each(|segment| sum.merge(segment.tally));
        assert_eq!(counts(&sum), counts(&tally(0..100)));
        assert_eq!(counts(&ledger.whole), counts(&sum));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_seed_that_is_none_of_the_shard_is_not_its_business() {
    let header = ResultsHeader { count: 2, shard: 3, of: 4, ..header() };
    assert_eq!((header.positions(), header.has(0), header.has(2)), (0, false, false));
    let path = file("without seeds", b"");
    let (opened, torn, _) = open(&path, &header).unwrap();
    let ledger = Mutex::new(ResultsLedger::new(opened, torn, Tally::default(), 0));
    let log = ResultsLog { path: path.clone(), name: "it".to_owned(), header, ledger };
    let results = Results { log: Some(log), search: None, begin: 0 };
    let mut counted = tally(0..1);
    results.passed(0..1, &mut counted);
    assert_eq!(counted.runs, 1, "it was taken");
    assert_eq!((results.left(), results.counted().map(|tally| tally.runs)), (0, Some(0)));
    results.end(&mut Report { runs: 1, ..Report::default() });
    assert_eq!(ResultsFile::read(&fs::read(&path).unwrap()).unwrap().segments.len(), 0);
}
