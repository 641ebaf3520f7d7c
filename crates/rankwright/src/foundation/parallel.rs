//! Independent pieces of work on several threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::thread;

/// What `work` makes of each item, in their order, whatever the number of threads. Items are begun
/// in their order.
pub fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    threads: NonZeroUsize,
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    if threads.get() == 1 {
        return items.iter().enumerate().map(|(position, item)| work(position, item)).collect();
    }
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let waiting = Mutex::new(items.iter().enumerate().zip(&mut results));
    let next = || waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..threads.get().min(items.len()) {
            scope.spawn(|| {
                while let Some(((position, item), result)) = next() {
                    *result = Some(work(position, item));
                }
            });
        }
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for threads in [1, 3] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let squares =
                side_by_side(&[3, 1, 2], threads, |position, item| (position, item * item));
            assert_eq!(squares, [(0, 9), (1, 1), (2, 4)]);
            assert!(side_by_side(&[0; 0], threads, |_, item: &i32| *item).is_empty());
        }
    }
}
