//! Where values came from that the user did not give: told with `--verbose`, and after an error.

use std::sync::{Mutex, PoisonError};

use super::{Verbosity, note};

/// What is still to be told.
static UNTOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Remembers a sentence about a value that is used.
pub(crate) fn remember(sentence: String) {
    let mut untold = UNTOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !untold.contains(&sentence) {
        untold.push(sentence);
    }
}

/// Tells what has been remembered since the last time.
pub(crate) fn tell(verbosity: &Verbosity) {
    let untold = std::mem::take(&mut *UNTOLD.lock().unwrap_or_else(PoisonError::into_inner));
    untold.iter().for_each(|sentence| note(verbosity, format_args!("note: {sentence}")));
}
