//! The weights that 32-bit partitioners can take.

/// The number of weights reaches the limit of their sum, so that they do not fit even if each is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) struct TooManyWeights;

/// Scales weights so that their sum stays below `limit`, which is at most 2^31. No weight
/// becomes 0, their order is kept, and weights that already fit are unchanged.
///
/// # Errors
/// If there are `limit` weights or more.
pub(in crate::map) fn scale_weights(
    weights: &[u64],
    limit: u32,
) -> Result<Vec<i32>, TooManyWeights> {
    let limit = u128::from(limit.min(1 << 31));
    let count = weights.len() as u128;
    if count >= limit {
        return Err(TooManyWeights);
    }
    let sum: u128 = weights.iter().map(|weight| u128::from((*weight).max(1))).sum();
    // Each weight is rounded down or up to 1, so the sum grows by less than 1 for each.
    let budget = limit - 1 - count;
    let scale = |weight: u64| {
        let weight = u128::from(weight.max(1));
        let scaled = if sum < limit { weight } else { (weight * budget / sum).max(1) };
        i32::try_from(scaled).expect("below the limit")
    };
    Ok(weights.iter().map(|weight| scale(*weight)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn scaled_weights_fit_and_keep_their_order(
            weights in prop::collection::vec(prop_oneof![0_u64..10, any::<u64>()], 0..200),
            limit in 201_u32..=1 << 31,
        ) {
            let scaled = scale_weights(&weights, limit).unwrap();
            prop_assert!(scaled.iter().all(|weight| *weight >= 1));
            prop_assert!(scaled.iter().map(|w| i64::from(*w)).sum::<i64>() < i64::from(limit));
            let mut pairs: Vec<_> = weights.iter().zip(&scaled).collect();
            pairs.sort();
            prop_assert!(pairs.is_sorted_by_key(|(_, scaled)| *scaled));
        }
    }

    #[test]
    fn what_fits_is_unchanged_and_too_many_are_refused() {
        assert_eq!(scale_weights(&[1, 5, 1000], 1 << 31), Ok(vec![1, 5, 1000]));
        assert_eq!(scale_weights(&[1, 1], 2), Err(TooManyWeights));
        let largest = scale_weights(&[u64::MAX; 4], u32::MAX).unwrap();
        assert_eq!(largest, [(i32::MAX - 4) / 4; 4]);
    }
}
