//! Items divided among bins at the least cost.

/// The bin of each item, such that the sum of `cost[item][bin]` is least. The item that comes to a bin
/// with `n` others costs `entry(bin, n)` more, which must not fall as `n` rises; `None`: the bin is
/// full. Shortest augmenting paths, one for each item: a new item may push others to other bins.
///
/// # Panics
/// If the bins have too little room.
pub(super) fn divide(
    cost: &[Vec<i64>],
    bins: usize,
    entry: impl Fn(usize, usize) -> Option<i64>,
) -> Vec<usize> {
    let mut bin_of: Vec<usize> = Vec::with_capacity(cost.len());
    let mut items: Vec<Vec<usize>> = vec![Vec::new(); bins];
    for (item, to) in cost.iter().enumerate() {
        // Cost of bringing the item to a bin, and from which bin which item has to go there for it.
        let mut path: Vec<i64> = to.clone();
        let mut from: Vec<Option<(usize, usize)>> = vec![None; bins];
        for _ in 1..bins {
            let mut changed = false;
            for (source, held) in items.iter().enumerate() {
                for &moved in held {
                    for target in 0..bins {
                        let length = path[source] + cost[moved][target] - cost[moved][source];
                        if length < path[target] {
                            (path[target], from[target]) = (length, Some((source, moved)));
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let end = (0..bins)
            .filter_map(|bin| Some((path[bin] + entry(bin, items[bin].len())?, bin)))
            .min();
        let (_, mut bin) = end.expect("the bins have room for all items");
        bin_of.push(bin);
        while let Some((source, moved)) = from[bin] {
            items[source].retain(|other| *other != moved);
            items[bin].push(moved);
            bin_of[moved] = bin;
            bin = source;
        }
        items[bin].push(item);
        bin_of[item] = bin;
    }
    bin_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_division_costs_no_more_than_any_other() {
        for case in 0_usize..300 {
            let (items, bins) = (1 + case % 6, 1 + case / 6 % 3);
            let entry_of = |item: usize, bin: usize| (case * 31 + item * item * 17 + bin * 13) % 97;
            let row = |item| (0..bins).map(|bin| (entry_of(item, bin) % 5) as i64).collect();
            let cost: Vec<Vec<i64>> = (0..items).map(row).collect();
            let most = items.div_ceil(bins);
            let room = |_: usize, held: usize| (held < most).then_some(10 * held as i64);
            let price = |bin_of: &[usize]| -> Option<i64> {
                let (mut held, mut sum) = (vec![0; bins], 0);
                for (item, bin) in bin_of.iter().enumerate() {
                    sum += cost[item][*bin] + room(*bin, held[*bin])?;
                    held[*bin] += 1;
                }
                Some(sum)
            };
            let all = (0..bins.pow(items as u32)).map(|number| {
                (0..items).map(|item| number / bins.pow(item as u32) % bins).collect::<Vec<_>>()
            });
            let least = all.filter_map(|bin_of| price(&bin_of)).min();
            assert_eq!(price(&divide(&cost, bins, room)), least, "{cost:?}");
        }
    }
}
