//! PUs, and the sets of PUs that share a core, a die, a package or a cache.

use std::collections::HashSet;

use super::set::Set;
use super::tree::Tree;
use crate::cluster::read::tree::{Kind, processor_name};
use crate::files::InputError;

/// The folder of the PUs.
const CPU: &str = "sys/devices/system/cpu";

/// The PUs of a machine.
pub(super) struct Processors {
    /// The PUs that are online.
    pub(super) online: Set,
    /// What contains PUs, by kind: packages, groups, dies, caches from the outermost, cores; each set once.
    pub(super) parts: Vec<(Kind, Set)>,
    pub(super) model: Option<String>,
    /// Whether it is a Xeon Phi, whose NUMA nodes without PUs are MCDRAM.
    pub(super) is_xeon_phi: bool,
}

/// The data caches that the kernel may list for a PU.
const MOST_CACHES: u32 = 10;

impl Processors {
    /// Reads the topology of the PUs that are online.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub(super) fn read(tree: &Tree) -> Result<Self, InputError> {
        let missing = || {
            let found = "no list of PUs";
            let expected = "the kernel's /sys, mounted (in a chroot: `mount -t sysfs sysfs /sys`)";
            InputError::new(tree.name(&format!("{CPU}/online")), found, expected)
        };
        let there: Set = tree.numbered(CPU, "cpu").into_iter().collect();
        let is_online = |pu: u32| tree.number(&format!("{CPU}/cpu{pu}/online")) != Some(0);
        let online = match tree.list(&format!("{CPU}/online")) {
            Some(online) => online,
            None => there.iter().filter(|pu| is_online(*pu)).collect(),
        };
        let has_topology = |pu: &u32| tree.exists(&format!("{CPU}/cpu{pu}/topology"));
        let described: Set = online.iter().filter(has_topology).collect();
        let known = if described.is_empty() { online } else { described };
        if known.is_empty() {
            return Err(missing());
        }
        let info = CpuInfo::read(tree);
        let mut reader = Reader { tree, online: &known, seen: HashSet::new(), parts: Vec::new() };
        for pu in known.iter() {
            reader.add_topology(pu, info.has_compute_units);
            reader.add_caches(pu);
        }
        // From the outside in; within a kind in the order of PUs.
        let mut parts = reader.parts;
        parts.sort_by_key(|(kind, _)| rank(*kind));
        let parts = parts.into_iter().map(|(kind, set)| (kind.kind(), set)).collect();
        let CpuInfo { model, is_xeon_phi, .. } = info;
        Ok(Self { online: known, parts, model, is_xeon_phi })
    }
}

/// What contains PUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Package,
    /// Drawers and books of s390.
    Group,
    Die,
    Cluster,
    Cache(u8),
    Core,
}

impl Part {
    fn kind(self) -> Kind {
        match self {
            Self::Package => Kind::Package,
            Self::Group | Self::Die | Self::Cluster => Kind::Other,
            Self::Cache(level) => Kind::Cache(Some(level)),
            Self::Core => Kind::Core,
        }
    }
}

/// The nesting of parts with the same PUs, from the outside in.
fn rank(part: Part) -> u8 {
    match part {
        Part::Group => 0,
        Part::Package => 1,
        Part::Die => 2,
        Part::Cluster => 3,
        Part::Cache(level) => 20 - level.min(15),
        Part::Core => 21,
    }
}

struct Reader<'a> {
    tree: &'a Tree,
    online: &'a Set,
    seen: HashSet<(Part, Set)>,
    parts: Vec<(Part, Set)>,
}

impl Reader<'_> {
    fn add(&mut self, part: Part, set: Set) {
        if !set.is_empty() && self.seen.insert((part, set.clone())) {
            self.parts.push((part, set));
        }
    }

    /// The PUs of a topology file that are online: the name since Linux 5.3, else the older one.
    fn siblings(&self, pu: u32, names: &[&str]) -> Option<Set> {
        let file = |name: &&str| self.tree.mask(&format!("{CPU}/cpu{pu}/topology/{name}"));
        names.iter().find_map(file).map(|set| set.and(self.online))
    }

    fn add_topology(&mut self, pu: u32, has_compute_units: bool) {
        if let Some(core) = self.siblings(pu, &["core_cpus", "thread_siblings"]) {
            let id = |pu: u32| self.tree.number(&format!("{CPU}/cpu{pu}/topology/core_id"));
            // The cores of a compute unit of AMD's Bulldozer call each other threads.
            let own = has_compute_units && core.iter().any(|other| id(other) != id(pu));
            self.add(Part::Core, if own { Set::only(pu) } else { core });
        }
        if let Some(package) = self.siblings(pu, &["package_cpus", "core_siblings"]) {
            self.add(Part::Package, package);
        }
        let groups = [
            (Part::Cluster, "cluster_cpus"),
            (Part::Die, "die_cpus"),
            (Part::Group, "book_siblings"),
            (Part::Group, "drawer_siblings"),
        ];
        for (part, name) in groups {
            // Where there are none, the kernel lists each PU alone.
            if let Some(set) = self.siblings(pu, &[name]).filter(|set| set.len() > 1) {
                self.add(part, set);
            }
        }
    }

    fn add_caches(&mut self, pu: u32) {
        for index in 0..MOST_CACHES {
            let folder = format!("{CPU}/cpu{pu}/cache/index{index}");
            let Some(shared) = self.tree.mask(&format!("{folder}/shared_cpu_map")) else {
                continue;
            };
            // An empty set stands for the core.
            let shared = match shared.is_empty() {
                false => Some(shared.and(self.online)),
                true => self.siblings(pu, &["core_cpus", "thread_siblings"]),
            };
            let level = self.tree.number(&format!("{folder}/level"));
            let level = level.and_then(|level| u8::try_from(level).ok());
            let kind = self.tree.text(&format!("{folder}/type")).unwrap_or_default();
            if let (Some(shared), Some(level @ 1..=9), false) =
                (shared, level, kind.starts_with("Instruction"))
            {
                self.add(Part::Cache(level), shared);
            }
        }
    }
}

/// What `/proc/cpuinfo` says.
struct CpuInfo {
    model: Option<String>,
    /// Whether cores come in pairs that share units (AMD, family 21).
    has_compute_units: bool,
    is_xeon_phi: bool,
}

impl CpuInfo {
    fn read(tree: &Tree) -> Self {
        let text = tree.text("proc/cpuinfo").unwrap_or_default();
        let value = |wanted: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            let mut values = lines.filter(|(name, _)| name.trim() == wanted);
            values.next().map(|(_, value)| value.trim())
        };
        // POWER has `cpu`, old Arm kernels `Processor`.
        let model = value("model name").or_else(|| value("cpu")).or_else(|| value("Processor"));
        let model = processor_name(model, value("CPU implementer"), value("CPU part"));
        let amd = value("vendor_id").is_some_and(|vendor| vendor == "AuthenticAMD");
        let has_compute_units = amd && value("cpu family") == Some("21");
        let intel = value("vendor_id").is_some_and(|vendor| vendor == "GenuineIntel");
        // Knights Landing and Knights Mill.
        let is_xeon_phi = intel
            && value("cpu family") == Some("6")
            && matches!(value("model"), Some("87" | "133"));
        Self { model, has_compute_units, is_xeon_phi }
    }
}
