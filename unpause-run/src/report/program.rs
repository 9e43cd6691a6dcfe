//! The generated program of a failing run: a line for each part, with concurrent parts below each
//! other.

use crate::run::Run;
use crate::run::program::{CommandRecord, Part, ProgramRecord};
use unpause_check::picture::screen::{Line, Paint, Screen, clean, cut, plural};

/// The maximum number of parts shown.
const PARTS_MAX: usize = 40;
/// The maximum width of the text of a command.
const TEXT_MAX: usize = 60;

/// Draws the programs of a run that have remaining commands.
pub(super) fn draw(screen: &mut Screen, run: &Run) {
    for program in &run.programs {
        let left = program.left();
        if !left.is_empty() || program.unfinished.is_some() {
            draw_one(screen, program, &left);
        }
    }
}

fn draw_one(screen: &mut Screen, program: &ProgramRecord, left: &[&CommandRecord]) {
    let is_fault = |command: &CommandRecord| matches!(command.layout.part, Part::Nemesis { .. });
    let count = |faults: bool, word: &str| {
        let all = program.commands.iter().filter(|command| is_fault(command) == faults).count();
        let left = left.iter().filter(|command| is_fault(command) == faults).count();
        let of = if left < all { format!(" of {all}") } else { String::new() };
        (all > 0 || !faults).then(|| format!("{}{of}", plural(left as u64, word)))
    };
    let counts = [count(false, "command"), count(true, "fault")];
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    screen.heading("program", &format!("{}, {counts}", clean(&program.model)));
    if let Some(doing) = &program.unfinished {
        let why = format!("The model panicked while {}. The program was not run.", clean(doing));
        screen.paragraph(2, (Paint::Plain, ""), (Paint::Notice, &why));
    }
    let parts: Vec<&[&CommandRecord]> =
        left.chunk_by(|a, b| a.layout.part == b.layout.part).collect();
    let stage = |part: &[&CommandRecord]| part[0].layout.part.stage();
    for (n, part) in parts.iter().enumerate().take(PARTS_MAX) {
        let beside = n > 0 && stage(part).is_some() && stage(part) == stage(parts[n - 1]);
        let label = match n {
            _ if beside => "  ∥",
            0 => "first",
            _ => "then",
        };
        let texts: Vec<String> =
            part.iter().map(|command| cut(&clean(&command.tells()), TEXT_MAX)).collect();
        let label = format!("{label:<8}");
        screen.paragraph(2, (Paint::Faint, &label), (Paint::Plain, &texts.join("; ")));
    }
    if parts.len() > PARTS_MAX {
        let more = format!("  … {} more …", plural((parts.len() - PARTS_MAX) as u64, "part"));
        screen.line(Line::of(Paint::Notice, &more));
    }
}
