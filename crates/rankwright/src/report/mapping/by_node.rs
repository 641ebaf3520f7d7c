//! Which ranks each node has, in a few lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::cores;
use crate::ids::CoreId;
use crate::placement::{PlacementFile, RankEntry};

/// The most characters of a list of ranks or cores.
const LONGEST: usize = 60;

/// The ranks of each node: the columns, and one row per node in the order of the cluster. Ranks are in the
/// order of their cores; long lists are cut.
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
        let used = if is_bound { cut(cores(&used)) } else { "not bound".to_owned() };
        vec![node.to_owned(), cut(listed(file, &ranks)), used]
    };
    let header = vec!["node", "ranks in the order of their cores", "cores L#"];
    (header, nodes.into_iter().map(row).collect())
}

/// `0-3,9,8`; with several jobs `a: 0-3, b: 9,8`.
fn listed(file: &PlacementFile, ranks: &[(usize, &RankEntry)]) -> String {
    let mut text = String::new();
    for of_job in ranks.chunk_by(|(a, _), (b, _)| a == b) {
        let separator = if text.is_empty() { "" } else { ", " };
        text += separator;
        if file.jobs.len() > 1 {
            let _ = write!(text, "{}: ", file.jobs[of_job[0].0].name);
        }
        let numbers: Vec<u32> = of_job.iter().map(|(_, rank)| rank.rank.0).collect();
        let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        let run = |run: &[u32]| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run.iter().map(ToString::to_string).collect(),
        };
        text += &runs.map(run).collect::<Vec<_>>().join(",");
    }
    text
}

/// A list without what is beyond [`LONGEST`].
fn cut(text: String) -> String {
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("..".chars()).collect()
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
                if !row[1].ends_with("..") {
                    let ranks = crate::ids::parse_index_list(&row[1]).expect("a list");
                    prop_assert!(ranks.contains(&entry.rank.0), "{:?}", row);
                }
            }
            prop_assert!(rows.iter().all(|row| row[1].len() <= LONGEST + 2));
        }
    }
}
