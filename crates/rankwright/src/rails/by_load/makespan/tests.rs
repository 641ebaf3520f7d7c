//! Small schedules, compared with all possible ones.

use proptest::prelude::*;

use super::{CapacityExceeded, Mode, schedule};

/// A mode of one rank on one machine.
fn mode(machine: usize, out: f64, into: f64) -> Mode {
    let mut mode = Mode::default();
    mode.add(machine, [out, into]);
    mode
}

fn makespan(tasks: &[Vec<Mode>], machines: usize, mode_of: &[usize]) -> f64 {
    let mut times = vec![[0.0_f64; 2]; machines];
    for (modes, mode) in tasks.iter().zip(mode_of) {
        for used in &modes[*mode].uses {
            let times = &mut times[used.machine];
            *times = [times[0] + used.times[0], times[1] + used.times[1]];
        }
    }
    times.iter().flatten().fold(0.0, |most, time| most.max(*time))
}

#[test]
fn machines_take_no_more_ranks_than_they_have_contexts() {
    let tasks = vec![vec![mode(0, 1.0, 0.0), mode(1, 5.0, 0.0)]; 3];
    assert_eq!(schedule(&tasks, &[Some(1), Some(2)], None), Ok(vec![0, 1, 1]));
    assert_eq!(schedule(&tasks, &[Some(1), Some(1)], None), Err(CapacityExceeded { task: 2 }));
}

proptest! {
    /// Ranks are beside one of three devices, and may be striped over the next and over all.
    #[test]
    fn striped_schedules_are_the_best_within_the_contexts(
        times in prop::collection::vec((0.1_f64..10.0, 0_usize..3), 1..7),
        capacities in prop::collection::vec(prop::option::of(0_u32..5), 3),
    ) {
        let striped = |time: f64, near: usize, devices: &[usize]| {
            let mut mode = Mode::default();
            for device in devices {
                let factor = if *device == near { 1.0 } else { 1.1 };
                mode.add(*device, [factor * time / devices.len() as f64, 0.0]);
            }
            mode
        };
        let tasks: Vec<Vec<Mode>> = times.iter().map(|(time, near)| {
            let sets = [&[0][..], &[1], &[2], &[*near, (near + 1) % 3], &[0, 1, 2]];
            sets.iter().map(|devices| striped(*time, *near, devices)).collect()
        }).collect();
        let fits = |mode_of: &[usize]| (0..3).all(|device| {
            let uses = tasks.iter().zip(mode_of).flat_map(|(modes, mode)| &modes[*mode].uses);
            let users = uses.filter(|used| used.machine == device).count();
            capacities[device].is_none_or(|most| users <= most as usize)
        });
        let count = 5_usize.pow(u32::try_from(tasks.len()).unwrap());
        let modes_of = |mut code: usize| -> Vec<usize> {
            tasks.iter().map(|_| { let mode = code % 5; code /= 5; mode }).collect()
        };
        let possible = (0..count).map(modes_of).filter(|mode_of| fits(mode_of));
        let best = possible.map(|mode_of| makespan(&tasks, 3, &mode_of)).reduce(f64::min);
        let ours = schedule(&tasks, &capacities, None);
        prop_assert_eq!(ours.is_ok(), best.is_some());
        if let (Ok(ours), Some(best)) = (ours, best) {
            prop_assert!(fits(&ours));
            let ours = makespan(&tasks, 3, &ours);
            prop_assert!(ours <= best * (1.0 + 1e-6), "{} against {}", ours, best);
        }
    }

    #[test]
    fn schedules_of_few_tasks_are_optimal(
        times in prop::collection::vec((0.0_f64..10.0, 0.0_f64..10.0, 0_usize..3), 1..8),
    ) {
        // Each rank is beside one of three devices; through the others it takes longer.
        let tasks: Vec<Vec<Mode>> = times.iter().map(|(out, into, near)| {
            let factor = |device| if device == *near { 1.0 } else { 1.3 };
            (0..3).map(|device| mode(device, out * factor(device), into * factor(device))).collect()
        }).collect();
        let ours = makespan(&tasks, 3, &schedule(&tasks, &[None; 3], None).unwrap());
        let count = 3_usize.pow(u32::try_from(tasks.len()).unwrap());
        let makespan_of = |mut code: usize| {
            let modes: Vec<usize> =
                tasks.iter().map(|_| { let mode = code % 3; code /= 3; mode }).collect();
            makespan(&tasks, 3, &modes)
        };
        let best = (0..count).map(makespan_of).fold(f64::INFINITY, f64::min);
        prop_assert!(ours <= best * (1.0 + 1e-6) + 1e-9, "{ours} against {best}");
    }
}
