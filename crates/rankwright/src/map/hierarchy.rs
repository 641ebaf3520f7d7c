//! The machine of a bare graph, as the mapping literature writes it: `4:8:32` with distances
//! `1:10:100`.

use crate::cluster::{
    Cluster, ClusterDescription, Core, LevelKind, Machine, Node, NodeGroup, NumaNode, Pu, Rates,
    Switch,
};
use crate::ids::{CoreId, NumaId, PuId};

/// A uniform machine: how many parts each part is made of, from the core up, and the distance of two
/// cores that first meet at each level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// The number of parts, at least 2: levels of one part are left out. Index: level, from the
    /// core up.
    sizes: Vec<u32>,
    /// Ascending. Index: level, from the core up.
    distances: Vec<u64>,
}

const MAX_CORES: u64 = 1 << 24;

/// Why two texts are not a hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HierarchyError {
    /// A part that is not a number, or 0.
    #[error(
        "{what} `{text}`: found `{found}`, expected whole numbers from 1 to 4294967295 with colons between, like {example}"
    )]
    NotNumbers {
        /// `hierarchy` or `distances`.
        what: &'static str,
        /// The whole text.
        text: String,
        /// The part.
        found: String,
        /// How it could look.
        example: &'static str,
    },
    /// Not as many distances as levels.
    #[error("distances: found {distances} for {levels} levels, expected one for each")]
    LengthsDiffer {
        /// How many levels there are.
        levels: usize,
        /// How many distances there are.
        distances: usize,
    },
    /// A level whose distance is not larger than that of the level below it.
    #[error(
        "distances: found {found} after {before}, expected distances that grow from the core up"
    )]
    NotGrowing {
        /// The distance.
        found: u32,
        /// The one before.
        before: u32,
    },
    /// More than 2^24 cores.
    #[error("hierarchy `{text}`: found more than {MAX_CORES} cores, expected at most that many")]
    TooManyCores {
        /// The text.
        text: String,
    },
}

impl Hierarchy {
    /// Reads `4:8:32` and `1:10:100`: 4 cores at distance 1 in a package, 8 packages at distance 10
    /// in a node, 32 nodes at distance 100.
    ///
    /// # Errors
    /// If they differ in length, hold anything but whole numbers above 0, or the distances do not
    /// grow.
    pub fn parse(hierarchy: &str, distances: &str) -> Result<Self, HierarchyError> {
        let sizes = numbers("hierarchy", hierarchy, "4:8:32")?;
        let distances = numbers("distances", distances, "1:10:100")?;
        if sizes.len() != distances.len() {
            let (levels, distances) = (sizes.len(), distances.len());
            return Err(HierarchyError::LengthsDiffer { levels, distances });
        }
        if let Some(pair) = distances.windows(2).find(|pair| pair[1] <= pair[0]) {
            return Err(HierarchyError::NotGrowing { found: pair[1], before: pair[0] });
        }
        let cores = sizes.iter().fold(1_u64, |cores, size| cores.saturating_mul((*size).into()));
        if cores > MAX_CORES {
            return Err(HierarchyError::TooManyCores { text: hierarchy.to_owned() });
        }
        let levels = sizes.into_iter().zip(distances).filter(|(size, _)| *size > 1);
        let (sizes, distances) = levels.map(|(size, distance)| (size, u64::from(distance))).unzip();
        Ok(Self { sizes, distances })
    }

    /// The cluster with these levels. The highest level is the cluster and the one below it the
    /// nodes; a single level is one node. With more than five levels, those above the fourth are
    /// switches. Core L# counted over all nodes is the position in the hierarchy.
    ///
    /// # Panics
    /// Never: every hierarchy is a valid cluster.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        let in_node = self.sizes.len().saturating_sub(1).clamp(1, MAX_LEVELS_IN_NODE);
        let (in_node, above) = self.sizes.split_at(in_node.min(self.sizes.len()));
        let nodes: usize = above.iter().map(|size| *size as usize).product();
        let (switches, leaf_size) = switches(above);
        let node = |index: usize| Node {
            name: format!("n{index}"),
            group: 0,
            switch: leaf_size.map(|size| index / size),
        };
        let machine = machine(in_node);
        let description = ClusterDescription {
            name: "hierarchy".to_owned(),
            emulated: false,
            invented: false,
            rates: Rates::default(),
            groups: vec![NodeGroup::all_free(machine)],
            nodes: (0..nodes).map(node).collect(),
            switches,
        };
        description.build().expect("levels of whole numbers of equal parts are a cluster")
    }

    /// The distance of each level of [`Hierarchy::cluster`], from 0 on a core up.
    #[must_use]
    pub fn distances(&self) -> Vec<u64> {
        std::iter::once(0).chain(self.distances.iter().copied()).collect()
    }
}

/// Cores in a cache, caches in a NUMA node, NUMA nodes in a package, packages in a node.
const MAX_LEVELS_IN_NODE: usize = 4;

fn numbers(
    what: &'static str,
    text: &str,
    example: &'static str,
) -> Result<Vec<u32>, HierarchyError> {
    let number = |part: &str| {
        part.trim().parse().ok().filter(|number| *number > 0).ok_or_else(|| {
            HierarchyError::NotNumbers {
                what,
                text: text.to_owned(),
                found: part.to_owned(),
                example,
            }
        })
    };
    text.split(':').map(number).collect()
}

/// A node of up to [`MAX_LEVELS_IN_NODE`] levels, from the core up; the last is the node itself.
fn machine(sizes: &[u32]) -> Machine {
    let cores: u32 = sizes.iter().product();
    let inner = &sizes[..sizes.len().saturating_sub(1)];
    let kinds = [LevelKind::Cache, LevelKind::Numa, LevelKind::Package];
    let kinds = &kinds[kinds.len() - inner.len()..];
    // Cores of a part of each level; a level that does not exist is as large as the one above it.
    let cores_in = |kind: LevelKind| {
        let level = kinds.iter().position(|other| *other == kind);
        level.map_or(cores, |level| inner[..=level].iter().product()).max(1)
    };
    let package = cores_in(LevelKind::Package);
    let numa = cores_in(LevelKind::Numa).min(package);
    let cache = kinds.contains(&LevelKind::Cache).then(|| cores_in(LevelKind::Cache));
    let core = |index: u32| Core {
        package: (index / package) as usize,
        numa: NumaId(index / numa),
        cache: cache.map(|size| index / size),
        pus: vec![PuId(index)],
    };
    Machine {
        packages: (cores / package) as usize,
        numa_nodes: (0..cores / numa).map(NumaNode::new).collect(),
        cores: (0..cores).map(core).collect(),
        pus: (0..cores).map(|index| Pu { id: PuId(index), core: CoreId(index) }).collect(),
        ..Machine::default()
    }
}

/// The switches for the levels above the nodes except the last, which is the cluster; and how many
/// nodes are at each of the lowest.
fn switches(above: &[u32]) -> (Vec<Switch>, Option<usize>) {
    let levels = &above[..above.len().saturating_sub(1)];
    let nodes: usize = above.iter().map(|size| *size as usize).product();
    let mut switches = Vec::new();
    let mut nodes_each = 1;
    for (height, size) in levels.iter().enumerate() {
        nodes_each *= *size as usize;
        let count = nodes / nodes_each;
        let first_above = switches.len() + count;
        let parent =
            |index: usize| levels.get(height + 1).map(|size| first_above + index / *size as usize);
        switches.extend((0..count).map(|index| Switch {
            name: format!("s{}-{index}", height + 1),
            parent: parent(index),
            uplink: None,
        }));
    }
    (switches, levels.first().map(|size| *size as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Levels;

    #[test]
    fn every_hierarchy_has_its_levels_and_distances() {
        let cases = [
            ("1", "5", 1),
            ("7", "5", 7),
            ("4:8", "1:10", 32),
            ("4:8:32", "1:10:100", 1024),
            ("2:1:3", "1:10:100", 6),
            ("2:2:2:2:2:2:2", "1:2:3:4:5:6:7", 128),
        ];
        for (sizes, distances, cores) in cases {
            let hierarchy = Hierarchy::parse(sizes, distances).unwrap();
            let levels = Levels::new(&hierarchy.cluster());
            assert_eq!(levels.core_count(), cores, "{sizes}");
            assert_eq!(levels.as_slice().len(), hierarchy.distances().len(), "{sizes}");
            let levels = levels.with_distances(&hierarchy.distances());
            // Two cores first meet at the level whose parts are large enough to hold both.
            let all: Vec<usize> = sizes.split(':').map(|size| size.parse().unwrap()).collect();
            let steps: Vec<u64> = distances.split(':').map(|step| step.parse().unwrap()).collect();
            for core in 1..cores {
                let mut size = 1;
                let meet = all.iter().position(|parts| {
                    size *= parts;
                    core < size
                });
                assert_eq!(levels.distance(0, core), steps[meet.unwrap()], "{sizes} core {core}");
            }
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let message =
            |sizes, distances| Hierarchy::parse(sizes, distances).unwrap_err().to_string();
        assert!(message("4:x", "1:2").starts_with("hierarchy `4:x`: found `x`, expected"));
        assert!(message("4:0", "1:2").contains("found `0`"));
        assert!(message("4:2", "0:2").contains("distances `0:2`: found `0`"));
        assert!(message("4:2", "1").starts_with("distances: found 1 for 2 levels"));
        assert!(message("4:2", "3:3").starts_with("distances: found 3 after 3"));
        assert!(message("65536:65536", "1:2").contains("more than 16777216 cores"));
        assert!(message("", "").contains("found ``"));
    }
}
