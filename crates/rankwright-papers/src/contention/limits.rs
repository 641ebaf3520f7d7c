//! What any mapping could gain on the synthetic workloads: whether both mappings of the authors place
//! a workload alike, what a search finds, and what no placement can exceed.

use super::bound::least_waiting;
use super::section_5::improvement;
use crate::built_in;
use crate::row::{Reading, Row};
use crate::simulation::{CLUSTER, Results, SEARCH, placement, short_name};

/// The rows of these workloads; those without simulations are left out.
pub(super) fn rows(results: &Results, workloads: &[&'static str]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for workload in workloads {
        if results.waiting(short_name(workload), "cyclic").is_none() {
            continue;
        }
        let name = short_name(workload);
        let apart = placed_differently(workload, Reading::Printed)?;
        let what =
            format!("{name}: ranks that mapping-2012 and -2013 as printed place differently");
        let row = Row::new("placements", what, apart as f64, "");
        rows.push(Row { reading: Reading::Printed, ..row });
        if let Some(gain) = improvement(results, name, SEARCH, &["cyclic"], 1.0) {
            let what = format!("{name}: the best placement that contention finds, over cyclic");
            rows.push(Row::new("search", what, gain, "%"));
        }
        if let Some(gain) = largest_gain(results, workload)? {
            let what = format!("{name}: no placement waits less than cyclic by more than");
            rows.push(Row::new("bound", what, gain, "%"));
        }
    }
    Ok(rows)
}

/// The number of ranks that `mapping-2012` and `mapping-2013` put on different cores.
pub(super) fn placed_differently(workload: &str, reading: Reading) -> anyhow::Result<usize> {
    let cluster = built_in::cluster(CLUSTER)?;
    let workload = built_in::workload(workload)?;
    let place = |mapping| placement(&cluster, &workload, reading.mapping(mapping));
    let (Some(old), Some(new)) = (place("mapping-2012")?, place("mapping-2013")?) else {
        return Ok(0);
    };
    let ranks = old.ranks().zip(new.ranks());
    Ok(ranks.filter(|(old, new)| (old.node, &old.cores) != (new.node, &new.cores)).count())
}

/// The percentage by which messages can wait less than under `cyclic` at most, under any placement;
/// `None` without the simulation of `cyclic`.
pub(super) fn largest_gain(results: &Results, workload: &str) -> anyhow::Result<Option<f64>> {
    let Some(cyclic) = results.waiting(short_name(workload), "cyclic") else { return Ok(None) };
    let least = least_waiting(&built_in::cluster(CLUSTER)?, &built_in::workload(workload)?)?;
    Ok(Some(100.0 * (1.0 - least / cyclic)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::workloads::mixed_2013;

    #[test]
    fn as_printed_both_mappings_place_five_of_six_mixed_workloads_alike() {
        let apart = mixed_2013().map(|name| placed_differently(name, Reading::Printed).unwrap());
        assert_eq!(apart[..5], [0; 5]);
        assert!(apart[5] > 0);
    }
}
