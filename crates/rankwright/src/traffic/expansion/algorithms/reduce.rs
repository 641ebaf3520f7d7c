//! Reductions to one member.

use super::tree::Shape;
use super::vector::Vector;
use crate::traffic::expansion::schedule::Member;

/// The root receives from the last member to the first, one after the other.
pub(super) async fn linear(member: &Member<'_>, root: usize, bytes: u64) {
    if member.me != root {
        return member.send_now(root, bytes).await;
    }
    for other in (0..member.size).rev() {
        member.receive(other, bytes);
        member.complete().await;
    }
}

/// Segments travel up a tree: a member receives one from its children while it sends the one before.
pub(super) async fn tree(
    member: &Member<'_>,
    root: usize,
    vector: Vector,
    shape: Shape,
    segment: u64,
) {
    // The root of this tree is its own.
    let top = if shape == Shape::InOrderBinary { member.size - 1 } else { root };
    let place = shape.place(member.me, member.size, top);
    let per_segment = vector.per_segment(segment);
    let segments = vector.count.div_ceil(per_segment);
    let bytes = |number: u64| vector.bytes(vector.blocks(per_segment, number, 1));
    for number in 0..=segments {
        if number < segments {
            place.children.iter().for_each(|child| member.receive(*child, bytes(number)));
        }
        if let (Some(parent), Some(before)) = (place.parent, number.checked_sub(1)) {
            member.send(parent, bytes(before));
        }
        member.complete().await;
    }
    if top != root {
        to_root(member, top, root, vector.all()).await;
    }
}

/// Up a tree in which the root changes numbers with member 0.
pub(super) async fn tree_of_swapped(member: &Member<'_>, root: usize, bytes: u64, shape: Shape) {
    let place = shape.place_of_swapped(member.me, member.size, root);
    for child in place.children {
        member.receive_now(child, bytes).await;
    }
    if let Some(parent) = place.parent {
        member.send_now(parent, bytes).await;
    }
}

async fn to_root(member: &Member<'_>, from: usize, root: usize, bytes: u64) {
    if member.me == from {
        member.send_now(root, bytes).await;
    } else if member.me == root {
        member.receive_now(from, bytes).await;
    }
}

/// Members of the largest power of two not above the size, of which some stand for two members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folded {
    /// The power of two.
    pub(super) power: usize,
    /// Number of members that stand for two.
    pub(super) rest: usize,
}

impl Folded {
    pub(super) fn of(size: usize) -> Self {
        let power = size.checked_ilog2().map_or(1, |log| 1 << log);
        Self { power, rest: size - power }
    }

    /// Number of a member if of each pair the member of parity `standing` (0 even, 1 odd) stands for
    /// both; `None` for the other one.
    pub(super) fn number(self, member: usize, standing: usize) -> Option<usize> {
        match member {
            member if member >= 2 * self.rest => Some(member - self.rest),
            member => (member % 2 == standing).then_some(member / 2),
        }
    }

    /// The member with a number.
    pub(super) fn member(self, number: usize, standing: usize) -> usize {
        if number < self.rest { 2 * number + standing } else { number + self.rest }
    }

    /// Whether a member is one of a pair.
    pub(super) fn is_paired(self, member: usize) -> bool {
        member < 2 * self.rest
    }
}

/// What a member sends and keeps in one step of recursive halving, in elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Halving {
    pub(super) partner: usize,
    pub(super) sent: u64,
    pub(super) kept: u64,
}

/// How a library halves vectors and folds members beyond a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Halves {
    /// Parity of the member that stands for a pair.
    pub(in super::super) standing: usize,
    /// Whether members of a pair reduce one half each before; otherwise one sends its whole vector.
    pub(in super::super) fold_in_halves: bool,
    /// Whether vectors are made of one block per number, as equal as possible; otherwise of halves of
    /// halves.
    pub(in super::super) by_blocks: bool,
}

impl Halves {
    /// The steps of the member with a number.
    fn steps(self, vector: Vector, folded: Folded, number: usize) -> Vec<Halving> {
        let power = folded.power as u64;
        // Elements of the first blocks.
        let before = |blocks: u64| vector.count / power * blocks + blocks.min(vector.count % power);
        let (mut window, mut first, mut blocks) = (vector.count, 0, power);
        let step = |bit: u32| {
            let is_lower = number >> bit & 1 == 0;
            blocks /= 2;
            let middle = first + blocks;
            let lower = if self.by_blocks { before(middle) - before(first) } else { window / 2 };
            let upper = window - lower;
            first = if is_lower { first } else { middle };
            let (sent, kept) = if is_lower { (upper, lower) } else { (lower, upper) };
            window = kept;
            let partner = folded.member(number ^ 1 << bit, self.standing);
            Halving { partner, sent, kept }
        };
        (0..folded.power.trailing_zeros()).map(step).collect()
    }

    /// Folds members beyond a power of two.
    async fn fold(self, member: &Member<'_>, vector: Vector, folded: Folded) {
        if !folded.is_paired(member.me) {
            return;
        }
        let other = member.me ^ 1;
        let stands = member.me % 2 == self.standing;
        if !self.fold_in_halves {
            return match stands {
                true => member.receive_now(other, vector.all()).await,
                false => member.send_now(other, vector.all()).await,
            };
        }
        let (left, right) = (vector.count / 2, vector.count - vector.count / 2);
        let (left, right) = (vector.bytes(left), vector.bytes(right));
        if stands {
            member.exchange((other, right), (other, left)).await;
            member.receive_now(other, right).await;
        } else {
            member.exchange((other, left), (other, right)).await;
            member.send_now(other, right).await;
        }
    }
}

/// Folds, then reduces by recursive halving. Returns the steps of this member, if it stands for itself or
/// a pair.
pub(super) async fn reduce_scatter(
    member: &Member<'_>,
    vector: Vector,
    folded: Folded,
    halves: Halves,
) -> Option<Vec<Halving>> {
    halves.fold(member, vector, folded).await;
    let steps = halves.steps(vector, folded, folded.number(member.me, halves.standing)?);
    for Halving { partner, sent, kept } in &steps {
        let (sent, kept) = (vector.bytes(*sent), vector.bytes(*kept));
        member.exchange((*partner, sent), (*partner, kept)).await;
    }
    Some(steps)
}

/// Recursive halving, then the parts travel up a binomial tree. Even members stand for pairs.
pub(super) async fn rabenseifner(member: &Member<'_>, root: usize, vector: Vector, halves: Halves) {
    let folded = Folded::of(member.size);
    let steps = reduce_scatter(member, vector, folded, halves).await;
    let number = folded.number(member.me, halves.standing);
    // An odd root that another member stands for takes over number 0.
    let replaced = folded.is_paired(root) && root % 2 == 1;
    let lowest = halves.steps(vector, folded, 0);
    let last = lowest.last().map_or(vector.count, |halving| halving.kept);
    let (number, steps) = match (number, steps) {
        (None, _) if replaced && member.me == root => {
            member.receive_now(0, vector.bytes(last)).await;
            (0, lowest)
        }
        (Some(0), _) if replaced => return member.send_now(root, vector.bytes(last)).await,
        (Some(number), Some(steps)) => (number, steps),
        _ => return,
    };
    let top = if replaced { 0 } else { folded.number(root, halves.standing).unwrap_or_default() };
    for (step, halving) in steps.iter().enumerate().rev() {
        let other = number ^ (1 << step);
        let partner = if other == 0 && replaced { root } else { halving.partner };
        if other >> step == top >> step {
            return member.send_now(partner, vector.bytes(halving.kept)).await;
        }
        member.receive_now(partner, vector.bytes(halving.sent)).await;
    }
}
