//! The selection modes of PSM2 (`HFI_SELECTION_ALG`), and its selection before it knew where processes
//! run.

use super::SelectionError;
use super::device_affinity::Turns;
use super::node_view::NodeView;

/// How many processes use each device of a node.
#[derive(Debug)]
pub(super) struct DeviceUse<'a> {
    view: &'a NodeView,
    /// The node's name.
    node: &'a str,
    /// Index: position in [`NodeView::devices`].
    counts: Vec<usize>,
}

impl<'a> DeviceUse<'a> {
    pub(super) fn new(view: &'a NodeView, node: &'a str) -> Self {
        Self { view, node, counts: vec![0; view.devices.len()] }
    }

    /// Gives a rank the active device with a free context and the least key, a function of the device
    /// and its number of users; devices without a key are not considered.
    pub(super) fn take<K: Ord>(
        &mut self,
        rank: usize,
        key: impl Fn(usize, usize) -> Option<K>,
    ) -> Result<usize, SelectionError> {
        let counts = &self.counts;
        let free = |device: &usize| {
            self.view.devices[*device].contexts.is_none_or(|most| counts[*device] < most as usize)
        };
        let keyed = self.view.active().filter(free);
        let keyed = keyed.filter_map(|device| Some((key(device, counts[device])?, device)));
        let best = keyed.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, device)| device);
        let device = best.ok_or_else(|| exhausted(self.view, self.node))?;
        debug_assert!(rank < self.view.ranks.len());
        self.counts[device] += 1;
        Ok(device)
    }
}

/// The error for more ranks than contexts.
pub(super) fn exhausted(view: &NodeView, node: &str) -> SelectionError {
    let contexts = view.active().filter_map(|device| view.devices[device].contexts);
    let contexts = contexts.map(u64::from).sum();
    SelectionError::ContextsExhausted { node: node.to_owned(), ranks: view.ranks.len(), contexts }
}

/// `Round Robin`: in turn among the devices beside the NUMA node of the process, else among all; each
/// job begins with the first.
pub(super) fn round_robin(view: &NodeView, node: &str) -> Result<Vec<usize>, SelectionError> {
    let mut turns = Turns::default();
    let mut used = DeviceUse::new(view, node);
    let of_rank = |rank: usize| {
        let local: Vec<usize> =
            view.active().filter(|device| view.is_local(rank, *device)).collect();
        let (numa, units) = if local.is_empty() {
            (None, view.active().collect())
        } else {
            (view.ranks[rank].numa.first().copied(), local)
        };
        let first = turns.next(view.ranks[rank].job, numa, &units);
        let after = |device: usize| (device + view.devices.len() - first) % view.devices.len();
        used.take(rank, |device, _| Some((!units.contains(&device), after(device))))
    };
    (0..view.ranks.len()).map(of_rank).collect()
}

/// `Round Robin All`: the local rank modulo the number of devices. PSM2 adds a number derived from the
/// job's id; here it is 0.
pub(super) fn round_robin_all(view: &NodeView, node: &str) -> Result<Vec<usize>, SelectionError> {
    let units: Vec<usize> = view.active().collect();
    let mut turns = Turns::default();
    let mut used = DeviceUse::new(view, node);
    let of_rank = |rank: usize| {
        let first = turns.next(view.ranks[rank].job, None, &units);
        let after = |device: usize| (device + view.devices.len() - first) % view.devices.len();
        used.take(rank, |device, _| Some(after(device)))
    };
    (0..view.ranks.len()).map(of_rank).collect()
}

/// `Packed`: the contexts of the first device, then those of the next.
pub(super) fn packed(view: &NodeView, node: &str) -> Result<Vec<usize>, SelectionError> {
    all_contexts_known(view, node)?;
    let mut used = DeviceUse::new(view, node);
    (0..view.ranks.len()).map(|rank| used.take(rank, |device, _| Some(device))).collect()
}

/// # Errors
/// If the contexts of a device are not known.
pub(super) fn all_contexts_known(view: &NodeView, node: &str) -> Result<(), SelectionError> {
    match view.active().find(|device| view.devices[*device].contexts.is_none()) {
        None => Ok(()),
        Some(device) => {
            let device = view.devices[device].name.clone();
            Err(SelectionError::ContextsUnknown { node: node.to_owned(), device })
        }
    }
}

/// Before the paper (section II.C.2): the first device while all are idle, then the one with most free
/// contexts, so that processes are spread over all, wherever they run.
pub(super) fn free_contexts(view: &NodeView, node: &str) -> Result<Vec<usize>, SelectionError> {
    // Devices without a known number count as those with most.
    let most = view.devices.iter().filter_map(|device| device.contexts).max().unwrap_or(u32::MAX);
    let mut used = DeviceUse::new(view, node);
    let of_rank = |rank: usize| {
        used.take(rank, |device, count| {
            let contexts = view.devices[device].contexts.unwrap_or(most) as usize;
            Some((std::cmp::Reverse(contexts.saturating_sub(count)), device))
        })
    };
    (0..view.ranks.len()).map(of_rank).collect()
}
