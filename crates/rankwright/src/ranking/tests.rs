//! What wins by each rule.

use super::*;
use crate::units::Seconds;

fn timed(times: &[(f64, f64)]) -> Vec<Score> {
    let score = |&(waiting, finish): &(f64, f64)| Score {
        waiting: Some(Waiting { total: Seconds(waiting), ..Waiting::default() }),
        finish: Some(Seconds(finish)),
        ..Score::default()
    };
    times.iter().map(score).collect()
}

fn by_objective(objective: Objective, closed_loop: bool, times: &[(f64, f64)]) -> Ranking {
    rank(&timed(times), &Rule::Objective(ObjectiveRule { objective, closed_loop, ranks: 10 }))
}

fn best(objective: Objective, closed_loop: bool, times: &[(f64, f64)]) -> usize {
    by_objective(objective, closed_loop, times).best()
}

/// The busiest network device in seconds, and bytes times hops.
fn loads(loads: &[(f64, u128)]) -> Vec<Score> {
    let score = |&(time, hop_bytes): &(f64, u128)| Score {
        busiest_nic: Some(Seconds(time)),
        hop_bytes: Some(hop_bytes),
        nodes: Some(2),
        ..Score::default()
    };
    loads.iter().map(score).collect()
}

#[test]
fn the_least_waiting_wins_unless_the_end_is_late() {
    let balanced = |times: &[(f64, f64)]| best(Objective::Balanced, false, times);
    assert_eq!(balanced(&[(100.0, 10.0), (99.0, 10.1)]), 1);
    // An end 10 % later is worth half the waiting, but not three quarters of it.
    assert_eq!(balanced(&[(100.0, 10.0), (75.0, 11.0)]), 0);
    assert_eq!(balanced(&[(100.0, 10.0), (50.0, 11.0)]), 1);
    // Next to no waiting is as good as none.
    assert_eq!(balanced(&[(0.001, 10.0), (0.0, 11.0)]), 0);
    assert_eq!(balanced(&[(0.001, 10.0), (0.0, 10.1)]), 1);
    assert_eq!(best(Objective::Waiting, false, &[(100.0, 10.0), (99.0, 11.0)]), 1);
    assert_eq!(best(Objective::Finish, false, &[(100.0, 10.0), (9.0, 10.1)]), 0);
    assert_eq!(best(Objective::Finish, true, &[(100.0, 10.0), (9.0, 10.0)]), 1);
}

#[test]
fn in_a_closed_loop_the_end_decides() {
    let balanced = |times: &[(f64, f64)]| best(Objective::Balanced, true, times);
    assert_eq!(balanced(&[(100.0, 10.0), (50.0, 10.1)]), 0);
    assert_eq!(balanced(&[(100.0, 10.0), (50.0, 10.001)]), 1);
    assert_eq!(balanced(&[(100.0, 10.0), (100.0, 9.999)]), 1);
}

#[test]
fn nothing_is_not_worse_than_nothing() {
    for (name, objective) in OBJECTIVES {
        for closed_loop in [false, true] {
            let ranking = by_objective(objective, closed_loop, &[(0.0, 0.0), (0.0, 0.0)]);
            assert_eq!([ranking.loss(0), ranking.loss(1)], [1.0, 1.0], "{name}");
            assert_eq!(ranking.best(), 0);
        }
        assert_eq!(name.parse(), Ok(objective));
        assert_eq!(objective.to_string(), name);
    }
    assert!("both".parse::<Objective>().is_err());
}

#[test]
fn loads_within_two_percent_are_equal_and_the_default_wins_among_them() {
    let mut scores = loads(&[(1.0, 100), (0.99, 110), (1.005, 101), (1.1, 10)]);
    assert_eq!(rank(&scores, &Rule::Static).order(), [0, 2, 1, 3]);
    scores[2].launcher_default = true;
    let ranking = rank(&scores, &Rule::Static);
    assert_eq!((ranking.best(), ranking.launcher_default()), (2, Some(2)));
    assert!(ranking.is_equal_to_best(0) && !ranking.is_equal_to_best(1) && ranking.matters());
    // More nodes are not compared, and who is excluded cannot win.
    scores[3] = Score { nodes: Some(4), busiest_nic: Some(Seconds(0.1)), ..scores[3] };
    scores[2].excluded = true;
    let ranking = rank(&scores, &Rule::Static);
    assert_eq!((ranking.on_more_nodes(), ranking.excluded()), (&[3][..], &[2][..]));
    assert_eq!((ranking.best(), ranking.loss(3)), (0, f64::INFINITY));
}

#[test]
fn where_all_are_excluded_all_are_compared() {
    let mut scores = timed(&[(2.0, 1.0), (1.0, 1.0)]);
    scores.iter_mut().for_each(|score| score.excluded = true);
    let objective = ObjectiveRule { objective: Objective::Waiting, closed_loop: false, ranks: 1 };
    let ranking = rank(&scores, &Rule::Objective(objective));
    assert_eq!((ranking.order(), ranking.excluded()), (&[1, 0][..], &[][..]));
}

#[test]
fn it_does_not_matter_where_the_default_is_as_good() {
    let matters = |times: &[(f64, f64)], default: usize| {
        let mut scores = timed(times);
        scores
            .iter_mut()
            .enumerate()
            .for_each(|(at, score)| score.launcher_default = at == default);
        let objective = Objective::Balanced;
        rank(&scores, &Rule::Objective(ObjectiveRule { objective, closed_loop: false, ranks: 10 }))
            .matters()
    };
    assert!(!matters(&[(100.0, 10.0), (101.0, 10.0), (300.0, 10.0)], 1));
    assert!(matters(&[(100.0, 10.0), (101.0, 10.0), (300.0, 10.0)], 2));
    assert!(matters(&[(100.0, 10.0), (300.0, 10.0)], 0));
    assert!(!matters(&[(100.0, 10.0), (101.0, 10.0)], 9));
    assert!(matters(&[(100.0, 10.0)], 9));
}

#[test]
fn run_times_and_node_hours_decide_between_numbers_of_nodes() {
    let on = |nodes: usize, finish: f64| Score {
        nodes: Some(nodes),
        finish: Some(Seconds(finish)),
        ..Score::default()
    };
    // 4 x 3, 8 x 1.5 and 16 x 1.48 node-seconds; the last two take equally long.
    let scores = [on(4, 3.0), on(8, 1.5), on(16, 1.48), Score::default()];
    assert_eq!(rank(&scores, &Rule::Fastest).best(), 1);
    assert_eq!(rank(&scores, &Rule::FewestNodeHours).best(), 1);
}

#[test]
fn sums_of_bytes_are_compared_exactly() {
    let large = 1 << 100;
    let scores = loads(&[(0.0, large + 1), (0.0, large), (0.0, large + 2)]);
    assert_eq!(rank(&scores, &Rule::HopBytes).order(), [1, 0, 2]);
}

#[test]
fn the_best_survive() {
    let objective = ObjectiveRule { objective: Objective::Finish, closed_loop: false, ranks: 1 };
    let scores = timed(&[(1.0, 3.0), (9.0, 1.0), (1.0, 2.0), (1.0, 1.0)]);
    let ranking = rank(&scores, &Rule::Objective(objective));
    assert_eq!(ranking.order(), [3, 1, 2, 0]);
    // Of equal losses the first.
    assert_eq!(ranking.survivors(1), [1]);
    assert_eq!(ranking.survivors(3), [1, 2, 3]);
}
