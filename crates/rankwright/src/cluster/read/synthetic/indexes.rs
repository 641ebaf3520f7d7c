//! The attribute `indexes=`: the P# of the objects of a level.

use super::parse::LevelKind;
use super::{SyntheticError, error};
use crate::ids::LARGEST_INDEX;

/// The P# of the objects of the last of `levels`, in tree order. `levels` has the type and the total
/// number of objects of each level down to that one.
///
/// Three forms, as in hwloc: a list (`0,4,1,5`); loops of `step*count` (`2*4:1*2`); level names, of
/// which the first varies fastest (`numa:core`).
pub(super) fn resolve(
    text: &str,
    levels: &[(LevelKind, usize)],
) -> Result<Vec<u32>, SyntheticError> {
    let total = levels.last().map_or(1, |(_, width)| *width);
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') {
        return listed(text, total);
    }
    let loops = if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.split(':').map(step_and_count).collect::<Result<Vec<_>, _>>()?
    } else {
        loops_by_level(text, levels)?
    };
    interleave(text, loops, total)
}

fn listed(text: &str, total: usize) -> Result<Vec<u32>, SyntheticError> {
    let number = |part: &str| part.parse().ok().filter(|number| *number <= LARGEST_INDEX);
    let numbers: Option<Vec<u32>> = text.split(',').map(number).collect();
    let numbers = numbers.ok_or_else(|| {
        error(format!("`indexes={text}`"), format!("numbers up to {LARGEST_INDEX} with commas"))
    })?;
    if numbers.len() == total {
        return Ok(numbers);
    }
    let actual = format!("{} numbers in `indexes={text}`", numbers.len());
    Err(error(actual, format!("{total}, one for each object of the level")))
}

fn step_and_count(text: &str) -> Result<(usize, usize), SyntheticError> {
    let parse = |part: &str| part.parse::<usize>().ok().filter(|number| *number > 0);
    let parts = text.split_once('*').and_then(|(step, count)| Some((parse(step)?, parse(count)?)));
    parts.ok_or_else(|| error(format!("the loop `{text}` of `indexes=`"), "a loop like 2*4"))
}

fn loops_by_level(
    text: &str,
    levels: &[(LevelKind, usize)],
) -> Result<Vec<(usize, usize)>, SyntheticError> {
    let (last, above) = levels.split_last().unwrap_or((&(LevelKind::Pu, 1), &[]));
    let mut positions = Vec::new();
    for name in text.split(':') {
        let kind = super::parse::level_kind(name)?;
        let position = above.iter().position(|(level, _)| *level == kind);
        match position {
            Some(position) if !positions.contains(&position) => positions.push(position),
            _ => {
                let actual = format!("`{name}` in `indexes={text}`");
                return Err(error(actual, "each level above at most once"));
            }
        }
    }
    let step_and_count = |&position: &usize| {
        let width = above[position].1;
        let outer = positions.iter().filter(|other| **other < position).max();
        (last.1 / width, width / outer.map_or(1, |outer| above[*outer].1))
    };
    Ok(positions.iter().map(step_and_count).collect())
}

/// The numbers of nested loops of (step, count), of which the first varies fastest. A missing last
/// loop is added.
fn interleave(
    text: &str,
    mut loops: Vec<(usize, usize)>,
    total: usize,
) -> Result<Vec<u32>, SyntheticError> {
    let wrong = || {
        let actual = format!("`{text}` in `indexes=`");
        error(actual, format!("loops over {total} objects, each once"))
    };
    let product = loops.iter().try_fold(1_usize, |product, (_, count)| product.checked_mul(*count));
    let product = product.filter(|product| *product <= total).ok_or_else(wrong)?;
    if product != total {
        let smallest = loops.iter().map(|(step, _)| *step).min().unwrap_or(total);
        if !total.is_multiple_of(product) || smallest != total / product {
            return Err(wrong());
        }
        loops.push((1, total / product));
    }
    let number = |object: usize| {
        let mut factor = 1;
        let mut number = 0;
        for (step, count) in &loops {
            number += (object / step) % count * factor;
            factor *= count;
        }
        u32::try_from(number).unwrap_or(u32::MAX)
    };
    let numbers: Vec<u32> = (0..total).map(number).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == total { Ok(numbers) } else { Err(wrong()) }
}
