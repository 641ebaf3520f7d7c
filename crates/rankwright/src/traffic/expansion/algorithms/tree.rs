//! Trees by shape: parent and children of one member.

/// The shape of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Shape {
    /// Binomial: the parent lacks the highest bit of the member's number.
    Binomial,
    /// Binomial: the parent lacks the lowest bit, so that a subtree is a range of members.
    InOrderBinomial,
    /// Every level has `fanout` times as many members as the one above.
    Complete {
        /// Children per member.
        fanout: usize,
    },
    /// Binary; a subtree is a range of members, and the last member is its root.
    InOrderBinary,
    /// As the in-order binomial tree, with digits in place of bits.
    Knomial {
        /// Base of the digits.
        radix: usize,
    },
    /// Chains that start at the root.
    Chains {
        /// Number of chains; one is a pipeline.
        chains: usize,
    },
}

/// Parent and children of a member, in the order in which the library lists them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
}

impl Shape {
    /// The place of member `me` of `size` in a tree with root `root`.
    pub(super) fn place(self, me: usize, size: usize, root: usize) -> Place {
        if self == Self::InOrderBinary {
            return in_order_binary(me, size);
        }
        let number = (me + size - root) % size;
        let mut place = match self {
            Self::Binomial => binomial(number, size),
            Self::InOrderBinomial => in_order_binomial(number, size),
            Self::Complete { fanout } => complete(number, size, fanout),
            Self::Knomial { radix } => knomial(number, size, radix.max(2)),
            Self::Chains { chains } => in_chains(number, size, chains.max(1)),
            Self::InOrderBinary => Place::default(),
        };
        let member = |number: usize| (number + root) % size;
        place.parent = place.parent.map(member);
        place.children.iter_mut().for_each(|child| *child = member(*child));
        place
    }
}

impl Shape {
    /// The place of member `me` if the root changes numbers with member 0 and the others keep theirs.
    pub(super) fn place_of_swapped(self, me: usize, size: usize, root: usize) -> Place {
        let swapped = |number: usize| match number {
            0 => root,
            number if number == root => 0,
            number => number,
        };
        let mut place = self.place(swapped(me), size, 0);
        place.parent = place.parent.map(swapped);
        place.children.iter_mut().for_each(|child| *child = swapped(*child));
        place
    }
}

fn powers(base: usize, size: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), move |power: &usize| power.checked_mul(base))
        .take_while(move |power| *power < size)
}

fn binomial(number: usize, size: usize) -> Place {
    let above = number.checked_ilog2().map_or(1, |log| 2 << log);
    let parent = (number > 0).then_some(number ^ (above >> 1));
    let children = powers(2, size).filter(|bit| *bit >= above).map(|bit| number | bit);
    Place { parent, children: children.take_while(|child| *child < size).collect() }
}

fn in_order_binomial(number: usize, size: usize) -> Place {
    let lowest = number & number.wrapping_neg();
    let below = powers(2, size).take_while(|bit| number == 0 || *bit < lowest);
    let children = below.map(|bit| number + bit).take_while(|child| *child < size).collect();
    Place { parent: (number > 0).then(|| number - lowest), children }
}

fn complete(number: usize, size: usize, fanout: usize) -> Place {
    // Members of a level have one parent after the other: the children of a level of w members
    // starting at s are s + w + k, s + 2w + k and so on for member s + k.
    let (mut start, mut width) = (0, 1);
    while number >= start + width {
        start += width;
        width *= fanout;
    }
    let children = (1..=fanout).map(|child| number + width * child);
    let above = width / fanout;
    let parent = (number > 0).then(|| start - above + (number - start) % above);
    Place { parent, children: children.take_while(|child| *child < size).collect() }
}

fn knomial(number: usize, size: usize, radix: usize) -> Place {
    let own = powers(radix, size).find(|power| !number.is_multiple_of(radix * power));
    let parent = own.map(|power| number / (radix * power) * (radix * power));
    let below: Vec<usize> =
        powers(radix, size).take_while(|p| own.is_none_or(|o| *p < o)).collect();
    let digits = |power: &usize| {
        let power = *power;
        (1..radix).map(move |digit| number + power * digit)
    };
    let children = below.iter().rev().flat_map(digits).filter(|child| *child < size);
    Place { parent, children: children.collect() }
}

/// The first chains are one member longer if the members cannot be divided evenly.
fn in_chains(number: usize, size: usize, chains: usize) -> Place {
    let chains = chains.min(size - 1);
    if chains == 0 {
        return Place::default();
    }
    let (short, longer) = ((size - 1) / chains, (size - 1) % chains);
    let head = |chain: usize| 1 + chain * short + chain.min(longer);
    if number == 0 {
        return Place { parent: None, children: (0..chains).map(head).collect() };
    }
    let in_longer = longer * (short + 1);
    let chain = match number - 1 {
        before if before < in_longer => before / (short + 1),
        before => longer + (before - in_longer) / short,
    };
    let parent = if number == head(chain) { 0 } else { number - 1 };
    let last = number + 1 == head(chain + 1);
    Place { parent: Some(parent), children: (!last).then_some(number + 1).into_iter().collect() }
}

/// The tree of a range is rooted at its last member; the lower half is its right subtree.
fn in_order_binary(me: usize, size: usize) -> Place {
    let (mut first, mut length, mut parent) = (0, size, None);
    loop {
        let root = first + length - 1;
        let right = length / 2;
        if me == root {
            let left = (length > 1).then(|| root - 1);
            let lower = (length > 2).then(|| first + right - 1);
            return Place { parent, children: left.into_iter().chain(lower).collect() };
        }
        parent = Some(root);
        if me >= first + right || length == 2 {
            // With two members, the other one is the left subtree.
            let below = if length == 2 { 0 } else { right };
            (first, length) = (first + below, length - 1 - below);
        } else {
            length = right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 9] = [
        Shape::Binomial,
        Shape::InOrderBinomial,
        Shape::Complete { fanout: 2 },
        Shape::Complete { fanout: 3 },
        Shape::InOrderBinary,
        Shape::Knomial { radix: 4 },
        Shape::Knomial { radix: 2 },
        Shape::Chains { chains: 4 },
        Shape::Chains { chains: 1 },
    ];

    #[test]
    fn every_member_has_one_parent_that_lists_it() {
        for shape in SHAPES {
            for size in 1..40 {
                for root in [0, size / 2, size - 1] {
                    let places: Vec<Place> =
                        (0..size).map(|me| shape.place(me, size, root)).collect();
                    let roots = places.iter().filter(|place| place.parent.is_none()).count();
                    assert_eq!(roots, 1, "{shape:?} {size}");
                    for (me, place) in places.iter().enumerate() {
                        for child in &place.children {
                            assert_eq!(places[*child].parent, Some(me), "{shape:?} {size} {child}");
                        }
                    }
                    let children: usize = places.iter().map(|place| place.children.len()).sum();
                    assert_eq!(children, size - 1, "{shape:?} {size}");
                }
            }
        }
    }

    #[test]
    fn the_trees_are_those_of_the_libraries() {
        let children = |shape: Shape, me, size| shape.place(me, size, 0).children;
        assert_eq!(children(Shape::Binomial, 1, 8), [3, 5]);
        assert_eq!(children(Shape::InOrderBinomial, 4, 8), [5, 6]);
        assert_eq!(children(Shape::Complete { fanout: 2 }, 1, 7), [3, 5]);
        assert_eq!(children(Shape::Knomial { radix: 3 }, 0, 10), [9, 3, 6, 1, 2]);
        assert_eq!(children(Shape::Chains { chains: 4 }, 0, 8), [1, 3, 5, 7]);
        let nine = |me| children(Shape::InOrderBinary, me, 9);
        assert_eq!(
            (nine(8), nine(7), nine(3), nine(5)),
            (vec![7, 3], vec![6, 5], vec![2, 1], vec![4])
        );
    }
}
