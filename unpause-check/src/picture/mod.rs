//! A recorded history as text: a lane for each client, operations as intervals, with the misfit
//! marked.

mod explained;
mod intervals;
// Lines and colours, also used by the screens of unpause.
#[doc(hidden)]
pub mod screen;
mod width;

#[doc(hidden)]
pub use self::explained::draw;
pub use self::screen::Style;

use self::screen::Screen;
use crate::history::HistoryRecord;

/// Draws a history and the contradiction in its verdict: a lane for each client, operations as
/// intervals. If the history is long, only operations around the misfit are drawn.
///
/// The texts of operations that are not drawn may be empty.
///
/// ```
/// use unpause_check::history::{HistoryRecord, Operation};
/// use unpause_check::picture::{Style, history_text};
/// let read = Operation {
///     client: 0,
///     op: "read".to_owned(),
///     invoked: 1,
///     returned: Some(("7".to_owned(), 2)),
/// };
/// let history = HistoryRecord {
///     model: "register".to_owned(),
///     clients: vec!["process 4".to_owned()],
///     operations: vec![read],
///     ..HistoryRecord::default()
/// };
/// let picture = history_text(&history, &Style::default());
/// assert!(picture.contains("process 4") && picture.contains("read → 7"));
/// ```
pub fn history_text(history: &HistoryRecord, style: &Style) -> String {
    let mut screen = Screen::new(style);
    draw(&mut screen, history, history.verdict.as_ref());
    screen.finish()
}
