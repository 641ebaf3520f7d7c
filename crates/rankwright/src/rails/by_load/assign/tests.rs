//! Small assignments, held against all ways.

use proptest::prelude::*;

use super::*;

fn choice(device: usize, out: f64, into: f64) -> Choice {
    let mut choice = Choice::default();
    choice.add(device, [out, into]);
    choice
}

fn longest(work: &[Vec<Choice>], devices: usize, taken: &[usize]) -> f64 {
    let mut times = vec![[0.0_f64; 2]; devices];
    for (choices, taken) in work.iter().zip(taken) {
        for (device, [out, into], _) in &choices[*taken].devices {
            times[*device] = [times[*device][0] + out, times[*device][1] + into];
        }
    }
    times.iter().flatten().fold(0.0, |most, time| most.max(*time))
}

#[test]
fn devices_take_no_more_ranks_than_they_serve() {
    let work = vec![vec![choice(0, 1.0, 0.0), choice(1, 5.0, 0.0)]; 3];
    assert_eq!(assign(&work, &[Some(1), Some(2)], None), Ok(vec![0, 1, 1]));
    assert_eq!(assign(&work, &[Some(1), Some(1)], None), Err(NoRoom { work: 2 }));
}

proptest! {
    /// Work is beside one of three devices, and may be striped over the next and over all.
    #[test]
    fn striped_answers_are_the_best_that_contexts_allow(
        times in prop::collection::vec((0.1_f64..10.0, 0_usize..3), 1..7),
        capacities in prop::collection::vec(prop::option::of(0_u32..5), 3),
    ) {
        let way = |time: f64, near: usize, devices: &[usize]| {
            let mut choice = Choice::default();
            for device in devices {
                let factor = if *device == near { 1.0 } else { 1.1 };
                choice.add(*device, [factor * time / devices.len() as f64, 0.0]);
            }
            choice
        };
        let work: Vec<Vec<Choice>> = times.iter().map(|(time, near)| {
            let sets = [&[0][..], &[1], &[2], &[*near, (near + 1) % 3], &[0, 1, 2]];
            sets.iter().map(|devices| way(*time, *near, devices)).collect()
        }).collect();
        let fits = |taken: &[usize]| (0..3).all(|device| {
            let uses = work.iter().zip(taken).flat_map(|(choices, taken)| &choices[*taken].devices);
            let users = uses.filter(|(used, ..)| *used == device).count();
            capacities[device].is_none_or(|most| users <= most as usize)
        });
        let count = 5_usize.pow(u32::try_from(work.len()).unwrap());
        let of = |mut code: usize| -> Vec<usize> {
            work.iter().map(|_| { let way = code % 5; code /= 5; way }).collect()
        };
        let ways = (0..count).map(of).filter(|taken| fits(taken));
        let best = ways.map(|taken| longest(&work, 3, &taken)).reduce(f64::min);
        let ours = assign(&work, &capacities, None);
        prop_assert_eq!(ours.is_ok(), best.is_some());
        if let (Ok(ours), Some(best)) = (ours, best) {
            prop_assert!(fits(&ours));
            let ours = longest(&work, 3, &ours);
            prop_assert!(ours <= best * (1.0 + 1e-6), "{} against {}", ours, best);
        }
    }

    #[test]
    fn answers_are_the_best_there_is_where_there_is_little_work(
        times in prop::collection::vec((0.0_f64..10.0, 0.0_f64..10.0, 0_usize..3), 1..8),
    ) {
        // Each piece of work is beside one of three devices; through the others it takes longer.
        let work: Vec<Vec<Choice>> = times.iter().map(|(out, into, near)| {
            let factor = |device| if device == *near { 1.0 } else { 1.3 };
            (0..3).map(|device| choice(device, out * factor(device), into * factor(device))).collect()
        }).collect();
        let ours = longest(&work, 3, &assign(&work, &[None; 3], None).unwrap());
        let count = 3_usize.pow(u32::try_from(work.len()).unwrap());
        let of = |mut code: usize| {
            let taken: Vec<usize> = work.iter().map(|_| { let d = code % 3; code /= 3; d }).collect();
            longest(&work, 3, &taken)
        };
        let best = (0..count).map(of).fold(f64::INFINITY, f64::min);
        prop_assert!(ours <= best * (1.0 + 1e-6) + 1e-9, "{ours} against {best}");
    }
}
