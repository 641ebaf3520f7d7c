//! The part of the load by which mappings are ranked without message timing, kept up to date while
//! ranks move.

use std::collections::BTreeMap;

use super::Direction;
use crate::cluster::{Cluster, Levels};
use crate::ids::{GlobalRank, SlotId};
use crate::network::FarDevice;
use crate::placement::{Mapping, Slot};
use crate::traffic::Workload;
use crate::units::Seconds;

/// The times of all network devices and the hop-bytes of a mapping, as [`Load`](super::Load) counts
/// them. Messages that leave the cluster are left out.
#[derive(Debug, Clone)]
pub(crate) struct MovingLoad {
    /// Index: [`SlotId`].
    places: Vec<Place>,
    distances: Distances,
    /// Index: [`GlobalRank`].
    peers: Vec<Vec<Peer>>,
    mapping: Mapping,
    /// Seconds that each device needs. Index: 2 × device + direction.
    times: Vec<f64>,
    totals: Totals,
    before: Before,
}

/// What a slot means for messages.
#[derive(Debug, Clone)]
struct Place {
    /// A position in the list of nodes with slots.
    node: u32,
    ports: Vec<Port>,
}

/// The distances of slots, as [`Levels::distance`].
#[derive(Debug, Clone)]
struct Distances {
    /// By level, from the top of the cluster down to the core.
    of_level: Vec<f64>,
    /// The group of each slot. Index: slot × levels + level, as in `of_level`.
    groups: Vec<u32>,
}

/// A network device of a slot; without named devices all devices of the node together.
#[derive(Debug, Clone, Copy)]
struct Port {
    device: u32,
    /// Seconds per byte of the rank, of which this device carries its share.
    time: f64,
}

/// The messages between a rank and another.
#[derive(Debug, Clone, Copy)]
struct Peer {
    rank: GlobalRank,
    /// Bytes to the other rank.
    out: f64,
    /// Bytes from the other rank.
    incoming: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// The sum of the eighth powers of all times.
    powers: f64,
    /// Bytes × distance.
    hop_bytes: f64,
}

/// The state before the last change.
#[derive(Debug, Clone, Default)]
struct Before {
    totals: Totals,
    /// Indices in [`MovingLoad::times`] with the times there, in the order of the changes.
    times: Vec<(usize, f64)>,
    slots: Vec<(GlobalRank, SlotId)>,
}

impl MovingLoad {
    /// The load of a workload under a mapping to these slots of a cluster with these levels.
    ///
    /// # Panics
    /// If the mapping has not one slot for each rank.
    pub(crate) fn new(
        cluster: &Cluster,
        levels: &Levels,
        workload: &Workload,
        slots: &[Slot],
        mapping: &Mapping,
    ) -> Self {
        assert_eq!(mapping.len(), workload.rank_count(), "one slot for each rank");
        let (mut nodes, mut devices) = (BTreeMap::new(), BTreeMap::new());
        let places = slots.iter().map(|slot| {
            let next = nodes.len() as u32;
            let node = *nodes.entry(slot.node).or_insert(next);
            let mut port = |name: Option<&'_ str>, time| {
                let next = devices.len() as u32;
                let key = (slot.node, name.map(str::to_owned));
                Port { device: *devices.entry(key).or_insert(next), time }
            };
            let machine = cluster.machine(slot.node);
            let numa = machine.cores[slot.cores[0].index()].numa;
            let nics = machine.nics.iter().enumerate();
            let used = nics.filter(|(_, nic)| slot.nics.contains(&nic.name));
            let mut ports: Vec<Port> = used
                .map(|(position, nic)| {
                    let factor = FarDevice::new(cluster, slot.node, numa, nic).device_factor();
                    let rate = cluster.nic_bandwidth(slot.node, position).value.0;
                    let rate = slot.nics.len() as f64 * rate;
                    port(Some(&nic.name), factor / rate)
                })
                .collect();
            if ports.is_empty() {
                ports.push(port(None, 1.0 / cluster.node_bandwidth(slot.node).0));
            }
            Place { node, ports }
        });
        let places = places.collect();
        let mut load = Self {
            places,
            distances: Distances::new(levels, slots),
            peers: peers(workload),
            mapping: mapping.clone(),
            times: vec![0.0; 2 * devices.len()],
            totals: Totals::default(),
            before: Before::default(),
        };
        load.count_all();
        load
    }

    /// Counts another mapping from the beginning, or the present one, which removes the rounding
    /// errors of the changes so far. `undo` must not follow.
    pub(crate) fn restart(&mut self, mapping: &Mapping) {
        self.mapping.clone_from(mapping);
        self.count_all();
    }

    fn count_all(&mut self) {
        self.times.fill(0.0);
        self.totals = Totals::default();
        for (rank, peers) in (0..).map(GlobalRank).zip(&self.peers) {
            let slot = self.mapping.slot(rank);
            let place = &self.places[slot.index()];
            for peer in peers {
                let of_peer = self.mapping.slot(peer.rank);
                let other = &self.places[of_peer.index()];
                // Each pair of ranks is counted at both.
                let distance = self.distances.between(slot, of_peer);
                self.totals.hop_bytes += 0.5 * distance * (peer.out + peer.incoming);
                if place.node != other.node {
                    for port in &place.ports {
                        self.times[index(port, Direction::Out)] += peer.out * port.time;
                        self.times[index(port, Direction::In)] += peer.incoming * port.time;
                    }
                }
            }
        }
        self.totals.powers = self.times.iter().copied().map(eighth_power).sum();
        self.before = Before::default();
    }

    /// The time that the busiest device needs.
    pub(crate) fn busiest(&self) -> Seconds {
        Seconds(self.times.iter().copied().fold(0.0, f64::max))
    }

    /// A smooth form of [`MovingLoad::busiest`]: the 8-norm of the times of all devices. It is above
    /// the largest, and falls with each that is nearly as large.
    pub(crate) fn smooth_busiest(&self) -> Seconds {
        Seconds(self.totals.powers.max(0.0).powf(0.125))
    }

    /// The sum over all messages of bytes × distance, with rounding errors of the changes so far.
    pub(crate) fn hop_bytes(&self) -> f64 {
        self.totals.hop_bytes
    }

    /// Whether a rank sends and receives nothing.
    pub(crate) fn is_silent(&self, rank: GlobalRank) -> bool {
        self.peers[rank.index()].is_empty()
    }

    /// Moves several ranks, each named once, to other slots, free or not. The moves are indices of
    /// [`GlobalRank`] and [`SlotId`].
    pub(crate) fn change(&mut self, moves: &[(usize, usize)]) {
        self.before.totals = self.totals;
        self.before.times.clear();
        self.before.slots.clear();
        for (rank, slot) in moves {
            self.relocate(GlobalRank::from_index(*rank), SlotId::from_index(*slot));
        }
    }

    /// Takes the last change back, exactly. Only one change can be taken back.
    pub(crate) fn undo(&mut self) {
        self.totals = self.before.totals;
        for (index, time) in self.before.times.drain(..).rev() {
            self.times[index] = time;
        }
        for (rank, slot) in self.before.slots.drain(..) {
            self.mapping.set(rank, slot);
        }
    }

    fn relocate(&mut self, rank: GlobalRank, slot: SlotId) {
        let old = self.mapping.slot(rank);
        self.before.slots.push((rank, old));
        self.mapping.set(rank, slot);
        let Self { places, distances, peers, mapping, times, totals, before } = self;
        let (from, to) = (&places[old.index()], &places[slot.index()]);
        let mut add = |port: &Port, direction: Direction, bytes: f64| {
            let index = index(port, direction);
            before.times.push((index, times[index]));
            let time = times[index] + bytes * port.time;
            totals.powers += eighth_power(time) - eighth_power(times[index]);
            times[index] = time;
        };
        // The rank's bytes to and from other nodes, before and after.
        let (mut was, mut is) = ([0.0; 2], [0.0; 2]);
        for Peer { rank: other, out, incoming } in &peers[rank.index()] {
            let of_other = mapping.slot(*other);
            let other = &places[of_other.index()];
            if from.node != to.node || from.node == other.node {
                let farther = distances.between(slot, of_other) - distances.between(old, of_other);
                totals.hop_bytes += farther * (out + incoming);
            }
            let (was_outside, is_outside) = (from.node != other.node, to.node != other.node);
            if was_outside {
                was = [was[0] + out, was[1] + incoming];
            }
            if is_outside {
                is = [is[0] + out, is[1] + incoming];
            }
            if was_outside != is_outside {
                let sign = if is_outside { 1.0 } else { -1.0 };
                for port in &other.ports {
                    add(port, Direction::Out, sign * incoming);
                    add(port, Direction::In, sign * out);
                }
            }
        }
        for (place, [out, incoming], sign) in [(from, was, -1.0), (to, is, 1.0)] {
            for port in &place.ports {
                add(port, Direction::Out, sign * out);
                add(port, Direction::In, sign * incoming);
            }
        }
    }
}

impl Distances {
    fn new(levels: &Levels, slots: &[Slot]) -> Self {
        let down = || levels.as_slice().iter().rev();
        let groups = |slot: &Slot| {
            let core = levels.core(slot.node, slot.cores[0]);
            down().map(move |level| level.group_of(core))
        };
        Self {
            of_level: down().map(|level| level.distance() as f64).collect(),
            groups: slots.iter().flat_map(groups).collect(),
        }
    }

    fn between(&self, a: SlotId, b: SlotId) -> f64 {
        let count = self.of_level.len();
        let groups = |slot: SlotId| &self.groups[slot.index() * count..][..count];
        let (a, b) = (groups(a), groups(b));
        // All slots share the top.
        let mut lowest = 0;
        while lowest + 1 < count && a[lowest + 1] == b[lowest + 1] {
            lowest += 1;
        }
        self.of_level[lowest]
    }
}

/// By rank, ascending by the other rank.
fn peers(workload: &Workload) -> Vec<Vec<Peer>> {
    let mut bytes: Vec<BTreeMap<GlobalRank, [f64; 2]>> =
        vec![BTreeMap::new(); workload.rank_count()];
    for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
        for flow in job.flows.iter().filter(|flow| flow.source != flow.destination) {
            let [from, to] = [flow.source, flow.destination].map(|rank| rank.global(first));
            bytes[from.index()].entry(to).or_default()[0] += flow.bytes as f64;
            bytes[to.index()].entry(from).or_default()[1] += flow.bytes as f64;
        }
    }
    let peer = |(rank, [out, incoming]): (GlobalRank, [f64; 2])| Peer { rank, out, incoming };
    bytes.into_iter().map(|peers| peers.into_iter().map(peer).collect()).collect()
}

fn index(port: &Port, direction: Direction) -> usize {
    2 * port.device as usize + direction as usize
}

fn eighth_power(time: f64) -> f64 {
    let square = time * time;
    let fourth = square * square;
    fourth * fourth
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::estimate::Load;
    use crate::placement::{Granularity, JobShape, Placement, slots};
    use crate::traffic::generate::pattern::Pattern;

    const CLUSTER: &str = "name = \"test\"\nrates = \"paper-2013\"\n[[node]]\nnames = \"n[0-3]\"\n\
                           topology = \"pack:2 numa:1 core:2 pu:1\"\n\
                           [[node.nic]]\nname = \"a\"\nnear = \"numa:0\"\nbandwidth = \"1 GB/s\"\n\
                           [[node.nic]]\nname = \"b\"\nnear = \"numa:1\"\nbandwidth = \"3 GB/s\"\n";

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    proptest! {
        #[test]
        fn changes_count_what_load_counts(
            names in prop::collection::vec(prop::sample::subsequence(vec!["a", "b"], 1..=2), 16),
            named in any::<bool>(),
            moves in prop::collection::vec((0..10_usize, 0..16_usize, any::<bool>()), 1..20),
        ) {
            let cluster = crate::cluster::read::toml::parse(CLUSTER, "t.toml", Path::new(".")).unwrap();
            let jobs = ["random:6:degree=3,seed=2", "linear:4"];
            let job = |text: &&str| Pattern::parse(text).unwrap().job().unwrap();
            let workload = Workload { name: "w".to_owned(), jobs: jobs.iter().map(job).collect() };
            let mut slots = slots(&cluster, Granularity::Cores(1), 16).unwrap();
            for (slot, names) in slots.iter_mut().zip(names).filter(|_| named) {
                slot.nics = names.into_iter().map(str::to_owned).collect();
            }
            let levels = Levels::new(&cluster);
            let first: Vec<usize> = (0..10).collect();
            let mut moving = MovingLoad::new(&cluster, &levels, &workload, &slots, &first[..].into());
            let mut slot_of = first;
            for (rank, slot, kept) in moves {
                let moves = match slot_of.iter().position(|taken| *taken == slot) {
                    Some(other) if other == rank => continue,
                    Some(other) => vec![(rank, slot), (other, slot_of[rank])],
                    None => vec![(rank, slot)],
                };
                let before = (moving.busiest(), moving.smooth_busiest(), moving.hop_bytes());
                moving.change(&moves);
                if kept {
                    moves.into_iter().for_each(|(rank, slot)| slot_of[rank] = slot);
                } else {
                    moving.undo();
                    let after = (moving.busiest(), moving.smooth_busiest(), moving.hop_bytes());
                    prop_assert_eq!(after, before);
                }
                let shapes = JobShape::of(&workload);
                let placement =
                    Placement::from_slots(&cluster, &shapes, "", &slots, &slot_of).unwrap();
                let load = Load::new(&cluster, &levels, &workload, &placement);
                prop_assert!(close(moving.busiest().0, load.busiest_nic_time().0));
                prop_assert!(close(moving.hop_bytes(), load.hop_bytes as f64));
                let smooth = moving.smooth_busiest().0;
                prop_assert!(smooth >= moving.busiest().0 * (1.0 - 1e-9));
            }
        }
    }
}
