//! The distances between NUMA nodes from the firmware (SLIT).

use std::collections::BTreeMap;

use super::Document;
use super::element::Element;
use crate::files::InputError;
use crate::ids::NumaId;

/// `HWLOC_DISTANCES_KIND_MEANS_LATENCY`.
const MEANS_LATENCY: u32 = 4;

/// The matrix by L#; `None` if the file has none for all NUMA nodes.
pub(super) fn numa_latency(
    file: &Document<'_>,
    root: &Element,
    logical: &BTreeMap<u32, NumaId>,
) -> Result<Option<Vec<Vec<u32>>>, InputError> {
    let Some(matrix) = file.topology.children.iter().find(|child| is_numa_latency(child)) else {
        return Ok(None);
    };
    let indexes = numbers(file, matrix, "indexes")?;
    let values = numbers(file, matrix, "u64values")?;
    let objects = root.by_number();
    let gp = matrix.attribute("indexing") == Some("gp");
    let position = |index: &u64| {
        let os = if gp {
            let node = objects.get(index).filter(|o| o.attribute("type") == Some("NUMANode"))?;
            node.attribute("os_index")?.parse().ok()?
        } else {
            u32::try_from(*index).ok()?
        };
        logical.get(&os).map(|numa| numa.index())
    };
    let positions: Vec<Option<usize>> = indexes.iter().map(position).collect();
    let count = indexes.len();
    if values.len() != count * count {
        let actual = format!("{} distances between {count} NUMA nodes", values.len());
        return Err(file.error(matrix, actual, &format!("{} numbers", count * count)));
    }
    let mut distance = vec![vec![0; logical.len()]; logical.len()];
    let mut has_row = vec![false; logical.len()];
    for (from, row) in positions.iter().zip(values.chunks(count.max(1))) {
        let Some(from) = *from else { continue };
        has_row[from] = true;
        for (to, value) in positions.iter().zip(row) {
            let Some(to) = *to else { continue };
            distance[from][to] = u32::try_from(*value).unwrap_or(u32::MAX);
        }
    }
    // A matrix of some NUMA nodes only cannot be used.
    Ok(has_row.iter().all(|has_row| *has_row).then_some(distance))
}

fn is_numa_latency(element: &Element) -> bool {
    let kind = element.attribute("kind").and_then(|kind| kind.parse::<u32>().ok()).unwrap_or(0);
    element.name == "distances2"
        && element.attribute("type") == Some("NUMANode")
        && match element.attribute("name") {
            Some(name) => name == "NUMALatency",
            // hwloc 2.0 writes no names.
            None => kind & MEANS_LATENCY != 0,
        }
}

/// The numbers of all children with this name; hwloc splits long lists.
fn numbers(file: &Document<'_>, matrix: &Element, name: &str) -> Result<Vec<u64>, InputError> {
    let mut numbers = Vec::new();
    for part in matrix.children.iter().filter(|child| child.name == name) {
        for word in part.text.split_whitespace() {
            let number = word.rsplit(':').next().and_then(|word| word.parse().ok());
            numbers.push(number.ok_or_else(|| {
                file.error(part, format!("`{word}` in <{name}>"), "whole numbers")
            })?);
        }
    }
    Ok(numbers)
}
