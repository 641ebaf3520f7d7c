//! Which ranks each node has, in a few lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::ids::CoreId;
use crate::placement::{PlacementFile, RankEntry};
use crate::units::counted;

/// The most characters of a list of ranks or cores.
const LONGEST: usize = 60;

/// The ranks of each node: the columns, and one row per node in the order of the cluster. Ranks are in the
/// order of their cores, with how many each has if that differs; long lists are cut.
#[must_use]
pub fn ranks_of_nodes(file: &PlacementFile) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut nodes: Vec<(&str, Vec<(usize, &RankEntry)>)> = Vec::new();
    let mut positions: BTreeMap<&str, usize> = BTreeMap::new();
    for (job, entry) in file.jobs.iter().enumerate() {
        for rank in &entry.ranks {
            let at = *positions.entry(&rank.node).or_insert_with(|| {
                nodes.push((&rank.node, Vec::new()));
                nodes.len() - 1
            });
            nodes[at].1.push((job, rank));
        }
    }
    let place = |node: &str| file.nodes.iter().position(|it| it.name == node);
    nodes.sort_by_cached_key(|(node, _)| place(node));
    let row = |(node, mut ranks): (&str, Vec<(usize, &RankEntry)>)| {
        ranks.sort_by(|(_, a), (_, b)| a.cores.cmp(&b.cores));
        let mut used: Vec<CoreId> = ranks.iter().flat_map(|(_, it)| it.cores.clone()).collect();
        used.sort_unstable();
        used.dedup();
        let is_bound = ranks.iter().any(|(_, rank)| rank.bound);
        let used: Vec<u32> = used.iter().map(|core| core.0).collect();
        let commas = |(at, (run, count)): (usize, (String, usize))| {
            (format!("{}{run}", if at > 0 { "," } else { "" }), count)
        };
        let used: Vec<_> = runs(&used).enumerate().map(commas).collect();
        let used = if is_bound { cut(&used) } else { "not bound".to_owned() };
        vec![node.to_owned(), cut(&listed(file, &ranks)), used]
    };
    let header = vec!["node", "ranks in the order of their cores", "cores L#"];
    (header, nodes.into_iter().map(row).collect())
}

/// Runs of numbers, each with what is in front of it, and how many numbers it has: `0-3`, `,9`; with
/// several jobs `a: 0-3`, `, b: 9`; where ranks have different numbers of cores `3 (4 cores)`, `, 0-2 (1 core)`.
fn listed(file: &PlacementFile, ranks: &[(usize, &RankEntry)]) -> Vec<(String, usize)> {
    let all = || file.jobs.iter().flat_map(|job| &job.ranks);
    let size = |rank: &RankEntry| rank.cores.len();
    let alike = all().any(|rank| !rank.bound) || all().map(size).is_sorted_by(|a, b| a == b);
    let mut parts: Vec<(String, usize)> = Vec::new();
    let together = |a: &(usize, &RankEntry), b: &(usize, &RankEntry)| {
        a.0 == b.0 && (alike || size(a.1) == size(b.1))
    };
    let mut job = None;
    for ranks in ranks.chunk_by(together) {
        let mut before = if parts.is_empty() { String::new() } else { ", ".to_owned() };
        if file.jobs.len() > 1 && job.replace(ranks[0].0) != Some(ranks[0].0) {
            let _ = write!(before, "{}: ", file.jobs[ranks[0].0].name);
        }
        let numbers: Vec<u32> = ranks.iter().map(|(_, rank)| rank.rank.0).collect();
        for run in runs(&numbers) {
            parts.push((format!("{before}{}", run.0), run.1));
            before = ",".to_owned();
        }
        if let Some((last, _)) = parts.last_mut().filter(|_| !alike) {
            let _ = write!(last, " ({})", counted(size(ranks[0].1), "core"));
        }
    }
    parts
}

/// Runs of successive numbers, as text, each with its length.
fn runs(numbers: &[u32]) -> impl Iterator<Item = (String, usize)> {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    runs.map(|run| match run {
        [first, .., last] => (format!("{first}-{last}"), run.len()),
        _ => (run.iter().map(ToString::to_string).collect(), run.len()),
    })
}

/// The parts in one line; how many numbers follow those that fit in [`LONGEST`].
fn cut(parts: &[(String, usize)]) -> String {
    let length = |parts: &[(String, usize)]| -> usize {
        parts.iter().map(|(text, _)| text.chars().count()).sum()
    };
    let fits = |shown: &usize| length(&parts[..*shown]) <= LONGEST;
    let shown = (1..=parts.len()).rev().find(fits).unwrap_or_else(|| parts.len().min(1));
    let mut text: String = parts[..shown].iter().map(|(text, _)| text.as_str()).collect();
    let more: usize = parts[shown..].iter().map(|(_, count)| count).sum();
    if more > 0 {
        let _ = write!(text, ", and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::testing::random_placement::placements;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

        /// Every rank is on one line, on that of its node, unless the line is cut.
        #[test]
        fn every_rank_is_on_the_line_of_its_node(mut file in placements()) {
            file.jobs.truncate(1);
            let (_, rows) = ranks_of_nodes(&file);
            for entry in &file.jobs[0].ranks {
                let row = rows.iter().find(|row| row[0] == entry.node).expect("a row");
                if !row[1].ends_with(" more") {
                    let ranks = crate::ids::parse_index_list(&row[1]).expect("a list");
                    prop_assert!(ranks.contains(&entry.rank.0), "{:?}", row);
                }
            }
            prop_assert!(rows.iter().all(|row| row[1].len() <= LONGEST + ", and 100 more".len()));
        }
    }

    #[test]
    fn a_long_list_is_cut_between_numbers() {
        let numbers: Vec<u32> = (100..).step_by(2).take(40).collect();
        let commas = |(run, count)| (format!(",{run}"), count);
        let mut parts: Vec<_> = runs(&numbers).map(commas).collect();
        let text = cut(&parts);
        assert!(text.ends_with(",126,128, and 25 more"), "{text}");
        parts.truncate(15);
        assert!(cut(&parts).ends_with(",126,128"));
        assert_eq!(cut(&[]), "");
        let mut long = vec![("n".repeat(100), 4)];
        assert_eq!(cut(&long), "n".repeat(100));
        long.push((",9".to_owned(), 1));
        assert!(cut(&long).ends_with("n, and 1 more"));
    }
}
