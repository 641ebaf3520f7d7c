//! Work for several threads, with results that do not depend on how many there are.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::map::MapError;

/// So many threads; none are started for one.
#[derive(Debug)]
pub(super) struct Threads {
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// # Errors
    /// If the system gives no threads.
    pub(super) fn new(threads: NonZeroUsize) -> Result<Self, MapError> {
        if threads.get() == 1 {
            return Ok(Self { pool: None });
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build();
        let failed = |error: rayon::ThreadPoolBuildError| MapError::Library {
            library: "rayon",
            what: error.to_string(),
        };
        Ok(Self { pool: Some(pool.map_err(failed)?) })
    }

    /// What `work` makes of each number below `count`, in order. The numbers are begun in order too,
    /// so that when time is over it is the last ones that lack.
    pub(super) fn map<T: Send>(&self, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let Some(pool) = &self.pool else { return (0..count).map(work).collect() };
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::with_capacity(count));
        pool.broadcast(|_| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                let result = work(number);
                let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                results.push((number, result));
            }
        });
        let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        results.sort_by_key(|(number, _)| *number);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for threads in [1, 3] {
            let threads = Threads::new(NonZeroUsize::new(threads).unwrap()).unwrap();
            assert_eq!(threads.map(20, |number| number * number)[19], 361);
            assert!(threads.map(20, |number| number).is_sorted());
        }
    }
}
