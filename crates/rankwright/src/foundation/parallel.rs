//! Independent pieces of work on several threads. Results do not depend on the number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The result of `work` for each item, in the order of the items. Items are begun in that order;
/// the calling thread is one of the threads.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    threads: NonZeroUsize,
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    if threads.get() == 1 {
        return items.iter().enumerate().map(|(position, item)| work(position, item)).collect();
    }
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let waiting = Mutex::new(items.iter().enumerate().zip(&mut results));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_turns = || {
        while let Some(((position, item), result)) = next() {
            *result = Some(work(position, item));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(items.len()) {
            // If no thread can be started, those that run do all items.
            if thread::Builder::new().spawn_scoped(scope, take_turns).is_err() {
                break;
            }
        }
        take_turns();
    });
    results.into_iter().flatten().collect()
}

/// Threads for work that divides again and again in two: both halves of a division run at the same
/// time while a thread is free.
#[derive(Debug)]
pub struct Forks {
    /// How many threads may still be started.
    free: AtomicUsize,
}

impl Forks {
    /// Forks on up to `threads` threads, the calling one included.
    #[must_use]
    pub fn new(threads: NonZeroUsize) -> Self {
        Self { free: AtomicUsize::new(threads.get() - 1) }
    }

    /// Does both, at the same time if a thread is free; returns when both are done.
    pub fn join(&self, first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
        let take = |free: usize| free.checked_sub(1);
        if self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            first();
            second();
            return;
        }
        // The half that ends first gives its thread to other forks, because the other only waits.
        let other_is_done = AtomicBool::new(false);
        let done = || {
            if !other_is_done.swap(true, Ordering::Relaxed) {
                self.free.fetch_add(1, Ordering::Relaxed);
            }
        };
        let second = Mutex::new(Some(second));
        let run_second = || {
            let second = second.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(second) = second {
                second();
            }
            done();
        };
        thread::scope(|scope| {
            let started = thread::Builder::new().spawn_scoped(scope, run_second).is_ok();
            first();
            done();
            if !started {
                run_second();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    #[test]
    fn results_keep_the_order_of_the_items() {
        for count in [1, 3] {
            let squares = map(&[3, 1, 2], threads(count), |position, item| (position, item * item));
            assert_eq!(squares, [(0, 9), (1, 1), (2, 4)]);
            assert!(map(&[0; 0], threads(count), |_, item: &i32| *item).is_empty());
        }
    }

    /// The sum of a range, by halves. `running`: the parts that run now, and the most that ran at once.
    fn sum(forks: &Forks, range: std::ops::Range<u64>, running: &[AtomicUsize; 2]) -> u64 {
        let length = range.end - range.start;
        if length == 1 {
            let now = running[0].fetch_add(1, Ordering::SeqCst) + 1;
            running[1].fetch_max(now, Ordering::SeqCst);
            thread::yield_now();
            running[0].fetch_sub(1, Ordering::SeqCst);
            return range.start;
        }
        // Uneven halves, so that some threads are done early.
        let middle = range.start + length.div_ceil(3);
        let (mut low, mut high) = (0, 0);
        forks.join(
            || low = sum(forks, range.start..middle, running),
            || high = sum(forks, middle..range.end, running),
        );
        low + high
    }

    #[test]
    fn forks_inside_forks_keep_to_their_threads() {
        for count in [1, 2, 5] {
            let running = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let forks = Forks::new(threads(count));
            assert_eq!(sum(&forks, 0..300, &running), 44_850);
            assert!(running[1].load(Ordering::SeqCst) <= count);
            assert_eq!(forks.free.load(Ordering::SeqCst), count - 1, "all threads are free again");
        }
    }
}
