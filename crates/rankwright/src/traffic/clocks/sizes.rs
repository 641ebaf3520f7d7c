//! Message sizes of a pair: a few classes that add up to exactly its messages and bytes.

use crate::traffic::Flow;
use crate::traffic::profile::FlowRecord;

/// Messages of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeClass {
    pub(super) messages: u64,
    /// Bytes per message.
    pub(super) length: u64,
}

/// Messages of `length` to `longest` bytes each.
#[derive(Debug, Clone, Copy)]
struct Range {
    messages: u64,
    length: u64,
    longest: u64,
}

/// Size classes of a recorded pair, the longest first: one per bin of its size histogram. All bins
/// use the same relative position within their bounds, chosen so that the bytes add up. A single
/// class if there is no histogram or it contradicts the amounts.
pub(super) fn of_record(record: &FlowRecord) -> Vec<SizeClass> {
    let Flow { messages, bytes, largest, .. } = record.flow;
    let bins = record.size_histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let range = |(bin, count): (usize, &u64)| {
        let shift = u32::try_from(bin).unwrap_or(u32::MAX);
        // Bin 0 holds empty messages, bin k + 1 those of 2^k to 2^(k+1) - 1 bytes.
        let below = 1_u64.checked_shl(shift).map_or(u64::MAX, |end| end - 1);
        let length = shift.checked_sub(1).map_or(Some(0), |k| 1_u64.checked_shl(k))?;
        let longest = below.min(largest);
        (length <= longest).then_some(Range { messages: *count, length, longest })
    };
    let ranges: Option<Vec<Range>> = bins.rev().map(range).collect();
    let ranges = ranges.filter(|ranges| {
        let count = ranges.iter().map(|range| u128::from(range.messages)).sum::<u128>();
        count == u128::from(messages)
    });
    ranges.and_then(|ranges| fill(ranges, bytes)).unwrap_or_else(|| alike(messages, bytes, largest))
}

/// Messages of equal size, up to one byte; at most `largest` if possible.
pub(super) fn alike(messages: u64, bytes: u64, largest: u64) -> Vec<SizeClass> {
    let most = bytes.div_ceil(messages.max(1)).max(largest);
    let range = Range { messages, length: 0, longest: most };
    fill(vec![range], bytes).unwrap_or_default()
}

/// Chooses the length of each class so that all together have exactly `bytes`. `None` if
/// impossible.
fn fill(mut ranges: Vec<Range>, bytes: u64) -> Option<Vec<SizeClass>> {
    let total = |length: fn(&Range) -> u64| {
        let sum = ranges.iter().map(|range| u128::from(range.messages) * u128::from(length(range)));
        sum.reduce(u128::saturating_add).unwrap_or_default()
    };
    let (least, most) = (total(|range| range.length), total(|range| range.longest));
    let missing = u128::from(bytes).checked_sub(least)?;
    let room = most - least;
    if missing > room {
        return None;
    }
    let mut left = u128::from(bytes);
    for range in &mut ranges {
        let width = u128::from(range.longest - range.length);
        let share = (width.checked_mul(missing)?).checked_div(room).unwrap_or_default();
        range.length += u64::try_from(share).ok()?;
        left -= u128::from(range.messages) * u128::from(range.length);
    }
    // Rounding leaves less than one byte per message that may still grow.
    let mut left = u64::try_from(left).ok()?;
    for range in &mut ranges {
        if range.length < range.longest && range.messages <= left {
            range.length += 1;
            left -= range.messages;
        }
    }
    let some_longer =
        |range: &Range| left > 0 && range.length < range.longest && left < range.messages;
    let longer = ranges.iter().position(some_longer);
    let mut classes = Vec::new();
    for (position, range) in ranges.iter().enumerate() {
        let Range { messages, length, longest } = *range;
        // One message takes the whole remainder if its class allows it: that splits the fewest
        // rounds.
        let (some, more) = match longer == Some(position) {
            true if left <= longest - length => (1, left),
            true => (left, 1),
            false => (0, 0),
        };
        classes.push(SizeClass { messages: some, length: length + more });
        classes.push(SizeClass { messages: messages - some, length });
    }
    classes.retain(|class| class.messages > 0);
    Some(classes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Rank;

    fn record(messages: u64, bytes: u64, largest: u64, size_histogram: &[u64]) -> FlowRecord {
        let (source, destination) = (Rank(0), Rank(1));
        let flow = Flow { source, destination, messages, bytes, largest };
        FlowRecord { size_histogram: size_histogram.to_vec(), ..FlowRecord::of_flow(flow) }
    }

    fn classes(record: &FlowRecord) -> Vec<(u64, u64)> {
        of_record(record).iter().map(|class| (class.messages, class.length)).collect()
    }

    #[test]
    fn messages_of_one_size_are_one_class() {
        assert_eq!(classes(&record(10, 640, 64, &[0, 0, 0, 0, 0, 0, 0, 10])), [(10, 64)]);
        assert_eq!(classes(&record(10, 640, 64, &[])), [(10, 64)]);
        assert_eq!(classes(&record(3, 0, 0, &[3])), [(3, 0)]);
    }

    #[test]
    fn each_bin_is_a_class_and_the_bytes_come_out() {
        // 2 empty, 4 of 4 to 7 bytes, 1 of 8 to 11 bytes: 24 to 39 in all.
        let bins = [2, 0, 0, 4, 1];
        assert_eq!(classes(&record(7, 24, 11, &bins)), [(1, 8), (4, 4), (2, 0)]);
        assert_eq!(classes(&record(7, 39, 11, &bins)), [(1, 11), (4, 7), (2, 0)]);
        assert_eq!(classes(&record(7, 33, 11, &bins)), [(1, 10), (3, 6), (1, 5), (2, 0)]);
    }

    #[test]
    fn a_histogram_that_contradicts_the_amounts_is_passed_over() {
        assert_eq!(classes(&record(4, 40, 10, &[0, 0, 0, 0, 3])), [(4, 10)]);
        assert_eq!(classes(&record(4, 4000, 1000, &[0, 0, 0, 0, 4])), [(4, 1000)]);
        assert_eq!(classes(&record(4, 41, 10, &[0; 200])), [(1, 11), (3, 10)]);
    }

    proptest! {
        #[test]
        fn messages_and_bytes_are_exact(lengths in prop::collection::vec(0_u64..5000, 1..60)) {
            let mut bins = [0; 14];
            for length in &lengths {
                bins[(u64::BITS - length.leading_zeros()) as usize] += 1;
            }
            let (count, bytes) = (lengths.len() as u64, lengths.iter().sum::<u64>());
            let largest = lengths.iter().copied().max().unwrap_or_default();
            for bins in [&bins[..], &[]] {
                let classes = of_record(&record(count, bytes, largest, bins));
                let messages: u64 = classes.iter().map(|class| class.messages).sum();
                let sum: u64 = classes.iter().map(|class| class.messages * class.length).sum();
                prop_assert_eq!((messages, sum), (count, bytes));
                prop_assert!(classes.is_sorted_by(|a, b| a.length >= b.length));
                prop_assert!(classes[0].length <= largest);
                for (bin, count) in bins.iter().enumerate() {
                    let is_in_bin = |class: &&SizeClass| {
                        (u64::BITS - class.length.leading_zeros()) as usize == bin
                    };
                    let messages_in_bin = classes.iter().filter(is_in_bin).map(|class| class.messages);
                    prop_assert_eq!(messages_in_bin.sum::<u64>(), *count);
                }
            }
        }

        #[test]
        fn no_amounts_make_it_panic(messages: u64, bytes: u64, largest: u64, bins: Vec<u64>) {
            let _ = of_record(&record(messages, bytes, largest, &bins));
        }
    }
}
