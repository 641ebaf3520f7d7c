//! The mean waiting time at one server.
//!
//! `waiting_time` is the approximation of Soryani et al. 2013. [`exact_waiting_time`] is exact for
//! gaps from a gamma distribution and exponential service times; [`approximation_error`] compares
//! the two.

use crate::units::Seconds;

/// Mean waiting time in front of a server, Eq. (6), Soryani 2013: the approximation
/// (Ca² + ρ²) / (1 + ρ²) · ρS / (1 − ρ) for a G/G/1 queue with the service times of G/M/1.
///
/// `cv` is Ca, the coefficient of variation of the gaps between the messages of the class;
/// `utilisation` is ρ of the server over all classes, and `service` is S, the mean service time of
/// this class alone. For Ca = 1 and one class it is exact (M/M/1).
///
/// `None` if the server is saturated: with ρ ≥ 1 its queue grows as long as messages arrive.
#[must_use]
pub(crate) fn waiting_time(cv: f64, utilisation: f64, service: Seconds) -> Option<Seconds> {
    let squared = utilisation * utilisation;
    let variation = (cv * cv + squared) / (1.0 + squared);
    (utilisation < 1.0).then(|| Seconds(variation * utilisation * service.0 / (1.0 - utilisation)))
}

/// Mean waiting time of a GI/M/1 queue, without approximation: service times are exponential with
/// mean `service`; the gaps are independent, from the gamma distribution with coefficient of
/// variation `cv`, all equal if `cv` is 0 (D/M/1), exponential if it is 1 (M/M/1).
///
/// An arriving message finds others with probability σ, the root below 1 of σ = A*(μ(1 − σ)), and
/// waits σ / (μ(1 − σ)) on average (Kleinrock, Queueing Systems 1, 1975, Eqs. 6.24 and 6.30).
///
/// `None` if the server is saturated.
#[must_use]
pub fn exact_waiting_time(cv: f64, utilisation: f64, service: Seconds) -> Option<Seconds> {
    let variance = cv * cv;
    let idle = (utilisation < 1.0).then(|| idle_probability(variance, utilisation))?;
    // Not 1 - idle, which cancels if almost every message finds the server idle.
    let busy = (-exponent(variance, idle / utilisation)).exp();
    Some(Seconds(busy / idle * service.0))
}

/// The relative error of the approximation: 0.5 is 50 % more than the exact waiting time. `None` if the server is saturated.
#[must_use]
pub fn approximation_error(cv: f64, utilisation: f64) -> Option<f64> {
    let approximate = waiting_time(cv, utilisation, Seconds(1.0))?;
    let exact = exact_waiting_time(cv, utilisation, Seconds(1.0))?;
    Some(approximate.0 / exact.0 - 1.0)
}

/// 1 − σ of GI/M/1 below saturation, where `variance` is Ca².
///
/// With y = 1 − σ the equation reads y + A*(μy) − 1 = 0. Its left side is convex with roots 0 and
/// the one that is sought, so Newton's method from 1 descends to that without ever passing it.
fn idle_probability(variance: f64, utilisation: f64) -> f64 {
    let mut y = 1.0_f64;
    loop {
        let scaled = y / utilisation;
        let exponent = exponent(variance, scaled);
        // Not exp() - 1, which has no digits left where y is small, near saturation.
        let left = y + (-exponent).exp_m1();
        let slope = 1.0 - (-exponent).exp() / (1.0 + variance * scaled) / utilisation;
        let next = y - left / slope;
        // Not `next >= y`: the loop must also end if `next` is NaN.
        if !(next < y && next > 0.0) {
            return y;
        }
        y = next;
    }
}

/// −ln A* of gaps with mean 1 at `at`: ln(1 + Ca² at) / Ca², and `at` itself for equal gaps.
fn exponent(variance: f64, at: f64) -> f64 {
    if variance > 0.0 { (variance * at).ln_1p() / variance } else { at }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(cv: f64, utilisation: f64) -> f64 {
        exact_waiting_time(cv, utilisation, Seconds(1.0)).unwrap().0
    }

    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        let error = (found - expected).abs();
        assert!(error <= tolerance * expected.abs(), "found {found}, expected {expected}");
    }

    #[test]
    fn equation_6_by_hand() {
        let wait = |cv, rho| waiting_time(cv, rho, Seconds(2.0)).map(|wait| wait.0);
        assert_eq!(wait(1.0, 0.5), Some(2.0));
        assert_near(wait(0.0, 0.5).unwrap(), 0.25 / 1.25 * 2.0, 1e-15);
        assert_near(wait(3.0, 0.5).unwrap(), 9.25 / 1.25 * 2.0, 1e-15);
        assert_eq!(wait(3.0, 0.0), Some(0.0));
        for saturated in [1.0, 7.0, f64::INFINITY, f64::NAN] {
            assert_eq!(wait(1.0, saturated), None);
            assert_eq!(exact_waiting_time(1.0, saturated, Seconds(2.0)), None);
        }
    }

    #[test]
    fn poisson_arrivals_are_mm1() {
        for rho in [1e-9, 0.1, 0.5, 0.9, 0.99, 1.0 - 1e-6] {
            assert_near(exact(1.0, rho), rho / (1.0 - rho), 1e-9);
        }
        assert_near(exact(1.0, 1.0 - 1e-9), 1e9, 1e-6);
    }

    #[test]
    fn equal_gaps_are_dm1() {
        // The roots of σ = exp(−(1 − σ)/ρ), to 15 digits.
        for (rho, sigma) in [(0.5, 0.203_187_869_979_980), (0.8, 0.628_629_796_496_947)] {
            assert_near(exact(0.0, rho), sigma / (1.0 - sigma), 1e-12);
        }
        assert_eq!(exact(0.0, 1e-3), 0.0);
        // Heavy traffic: half as long as M/M/1.
        assert_near(exact(0.0, 1.0 - 1e-9), 0.5e9, 1e-6);
    }

    #[test]
    fn gaps_of_two_phases_are_e2m1() {
        for rho in [0.05_f64, 0.3, 0.5, 0.8, 0.99] {
            let sigma = f64::midpoint(1.0 + 4.0 * rho, -(1.0 + 8.0 * rho).sqrt());
            assert_near(exact(0.5_f64.sqrt(), rho), sigma / (1.0 - sigma), 1e-9);
        }
    }

    #[test]
    fn without_load_messages_do_not_wait() {
        for cv in [0.0, 0.3, 1.0, 20.0] {
            assert!(exact(cv, 0.0) < 1e-12, "{cv}");
        }
    }

    #[test]
    fn the_approximation_is_exact_for_poisson_arrivals_only() {
        assert!(approximation_error(1.0, 0.7).unwrap().abs() < 1e-12);
        // Regular gaps: too long while the server is idle mostly, but little is waited then.
        assert!(approximation_error(0.5, 0.1).unwrap() > 1.0);
        assert!(waiting_time(0.5, 0.1, Seconds(1.0)).unwrap().0 < 0.03);
        // Bursts: too short while the server is idle mostly.
        assert!(approximation_error(3.0, 0.1).unwrap() < -0.5);
        for cv in [0.0, 0.5, 2.0, 3.0] {
            assert!(approximation_error(cv, 0.99).unwrap().abs() < 0.005);
        }
        assert_eq!(approximation_error(1.0, 1.0), None);
    }

    proptest! {
        #[test]
        fn the_root_is_one(cv in 0.0..100.0_f64, load in 0.0..30.0_f64) {
            // From almost nothing to 1 - 1e-9.
            let utilisation = 1.0 / (1.0 + (-(load - 9.0)).exp());
            let utilisation = utilisation.min(1.0 - 1e-9);
            let y = idle_probability(cv * cv, utilisation);
            prop_assert!(y > 0.0 && y <= 1.0);
            // The left side changes sign around the root.
            let left = |y: f64| y + (-exponent(cv * cv, y / utilisation)).exp_m1();
            let step = 1e-6;
            prop_assert!(left(y * (1.0 + step)) >= 0.0);
            prop_assert!(left(y * (1.0 - step)) <= 0.0);
        }

        #[test]
        fn waits_grow_with_utilisation_and_variation(
            cv in 0.0..30.0_f64, more in 0.01..3.0_f64, rho in 0.01..0.98_f64,
        ) {
            prop_assert!(exact(cv, rho) < exact(cv + more, rho) + 1e-12);
            prop_assert!(exact(cv, rho) < exact(cv, rho + 0.01) + 1e-12);
        }
    }
}
