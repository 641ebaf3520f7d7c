//! The mappings that the search starts from.

use crate::map::{Budget, MAPPERS, MapError, Problem, Role};
use crate::placement::Mapping;

/// The mappings of all independent strategies, without duplicates, in the order of the table. Mappings
/// that the caller has are not computed again, and others only while the search may go on. Under a time limit a caller
/// that has some had no time for the others. All are adjusted to the balance of computing times
/// ([`Problem::compute_balance`]). Strategies that fail are left out unless all fail.
pub(super) fn starts(problem: &Problem, budget: &Budget) -> Result<Vec<Mapping>, MapError> {
    let mut starts: Vec<Mapping> = Vec::new();
    let mut failure = None;
    let had_no_time = budget.time_passed().is_some() && !budget.starts().is_empty();
    for entry in MAPPERS.iter().filter(|entry| entry.role == Role::Independent) {
        let mapping = match budget.start(entry) {
            Some(mapping) => Ok(mapping.clone()),
            None if !starts.is_empty() && (had_no_time || budget.is_over()) => continue,
            None => match entry.plain() {
                Ok(Some(mapper)) => mapper.map(problem, &Budget::default()),
                Ok(None) | Err(_) => continue,
            },
        };
        let checked = mapping.and_then(|mapping| {
            let mapping = problem.by_class(mapping);
            problem.check(mapping.as_indices())?;
            Ok(Mapping::from(problem.balanced(mapping.into_indices())))
        });
        match checked {
            Ok(mapping) if starts.contains(&mapping) => (),
            Ok(mapping) => starts.push(mapping),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(error) if starts.is_empty() => Err(error),
        _ => Ok(starts),
    }
}
