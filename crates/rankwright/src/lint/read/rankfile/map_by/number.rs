//! The numbers of ranks that are mapped to hosts: `--rank-by`.

use super::policy::Deal;

/// Ranks of hosts, each by host and position on it.
pub(super) type Order = Vec<(usize, usize)>;

/// The ranks of one host after the other; `counts` is their number on each host.
pub(super) fn by_slot(counts: &[usize]) -> Order {
    let hosts = counts.iter().enumerate();
    hosts.flat_map(|(host, count)| (0..*count).map(move |position| (host, position))).collect()
}

/// The first ranks of all hosts, then the second ones, and so on.
pub(super) fn by_node(counts: &[usize]) -> Order {
    let mut order = by_slot(counts);
    order.sort_by_key(|(host, position)| (*position, *host));
    order
}

/// The ranks of a host on its parts.
pub(super) struct OnParts<'a> {
    /// The number of ranks on the host.
    pub(super) count: usize,
    /// The number of parts of the host.
    pub(super) parts: usize,
    /// Whether the rank at this position is on this part.
    pub(super) is_on: Box<dyn Fn(usize, usize) -> bool + 'a>,
}

/// The ranks by the parts that they are on.
pub(super) fn by_part(hosts: &[OnParts<'_>], deal: Deal) -> Order {
    let mut order = Order::new();
    let mut left: Vec<Left<'_>> = hosts.iter().map(Left::new).collect();
    let total: usize = hosts.iter().map(|host| host.count).sum();
    match deal {
        Deal::Fill => {
            for (host, left) in left.iter_mut().enumerate() {
                for part in 0..left.on.parts {
                    while let Some(position) = left.next(part) {
                        order.push((host, position));
                    }
                }
            }
        }
        Deal::Turn => {
            for (host, left) in left.iter_mut().enumerate() {
                while left.round(&mut order, host) {}
            }
        }
        Deal::Span => {
            while order.len() < total {
                let mut any = false;
                for (host, left) in left.iter_mut().enumerate() {
                    any |= left.round(&mut order, host);
                }
                if !any {
                    break;
                }
            }
        }
    }
    order
}

/// The ranks of a host that have no number yet.
struct Left<'a> {
    on: &'a OnParts<'a>,
    numbered: Vec<bool>,
    /// For each part, the first position that may still be on it.
    from: Vec<usize>,
}

impl<'a> Left<'a> {
    fn new(on: &'a OnParts<'a>) -> Self {
        Self { on, numbered: vec![false; on.count], from: vec![0; on.parts] }
    }

    /// The next rank on a part.
    fn next(&mut self, part: usize) -> Option<usize> {
        let on = |position: &usize| !self.numbered[*position] && (self.on.is_on)(*position, part);
        let found = (self.from[part]..self.on.count).find(on);
        self.from[part] = found.map_or(self.on.count, |position| position + 1);
        self.numbered[found?] = true;
        found
    }

    /// Numbers one rank on each part; returns whether there was any.
    fn round(&mut self, order: &mut Order, host: usize) -> bool {
        let before = order.len();
        for part in 0..self.on.parts {
            order.extend(self.next(part).map(|position| (host, position)));
        }
        order.len() > before
    }
}
