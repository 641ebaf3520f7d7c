//! How long messages wait for one server.

use crate::units::Seconds;

/// Mean waiting time at a server with general arrivals and exponential service, approximated:
/// Eq. (6), Soryani et al. 2013. `ca2` is the square of the coefficient of variation of the gaps
/// between arrivals, `utilisation` that of the server by all messages, `service` how long it serves a
/// message of the class asked for. Infinite from a utilisation of 1 on.
#[must_use]
pub fn waiting_time(ca2: f64, utilisation: f64, service: Seconds) -> Seconds {
    if utilisation >= 1.0 {
        return Seconds(f64::INFINITY);
    }
    let square = utilisation * utilisation;
    Seconds((ca2 + square) / (1.0 + square) * utilisation * service.0 / (1.0 - utilisation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_arrivals_wait_as_in_theory() {
        // M/M/1: W = ρS/(1 − ρ).
        assert!((waiting_time(1.0, 0.5, Seconds(2.0)).0 - 2.0).abs() < 1e-12);
        assert_eq!(waiting_time(1.0, 0.0, Seconds(2.0)).0, 0.0);
        assert_eq!(waiting_time(1.0, 1.0, Seconds(2.0)).0, f64::INFINITY);
    }
}
