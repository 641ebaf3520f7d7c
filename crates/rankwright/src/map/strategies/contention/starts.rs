//! What the search begins with.

use crate::map::{Budget, MAPPERS, MapError, Part, Problem};

/// The answers of all other strategies of the table, each once, in the order of the table; those
/// that the caller knows are not found again. All are made to keep the balance of what ranks compute
/// ([`Problem::compute_balance`]). One that fails is left out unless all do.
pub(super) fn starts(problem: &Problem, budget: &Budget) -> Result<Vec<Vec<usize>>, MapError> {
    let mut starts: Vec<Vec<usize>> = Vec::new();
    let mut failure = None;
    for entry in MAPPERS.iter().filter(|entry| entry.part == Part::Alone) {
        let slot_of = match budget.known(entry.name) {
            Some(known) => Ok(known.to_vec()),
            None => match entry.plain() {
                Ok(mapper) => mapper.map(problem, &Budget::default()),
                Err(_) => continue,
            },
        };
        let checked = slot_of.and_then(|slot_of| problem.check(&slot_of).map(|()| slot_of));
        match checked.map(|slot_of| problem.balanced(slot_of)) {
            Ok(slot_of) if starts.contains(&slot_of) => (),
            Ok(slot_of) => starts.push(slot_of),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) if starts.is_empty() => Err(error),
        _ => Ok(starts),
    }
}
