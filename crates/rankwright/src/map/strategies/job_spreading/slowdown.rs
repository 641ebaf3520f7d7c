//! How much longer messages take that come in bursts: f of Eq. (13), Soryani et al. 2013.

use crate::cluster::Cluster;
use crate::estimate::slowdown_by_variation;
use crate::traffic::classes::LengthClass;
use crate::traffic::demand::MessageMeans;
use crate::units::Bytes;

/// f, in percent of the time without bursts: a x² + b x of the coefficient of variation x.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Slowdown {
    /// a
    square: f64,
    /// b
    linear: f64,
}

impl Slowdown {
    /// The functions that the paper prints; they were fitted for 1 MB and 64 kB at 10 messages per
    /// second, over 1 GB/s and memories of 4 GB/s.
    pub(super) fn printed(class: LengthClass) -> Self {
        match class {
            LengthClass::Large => Self { square: 0.85, linear: 0.01 },
            LengthClass::Medium => Self { square: 0.12, linear: 0.0 },
            LengthClass::Small => Self::default(),
        }
    }

    /// f from Eqs. (1) to (6) for a single rank that sends such messages to another node. The higher
    /// the utilisation of a server, the closer this comes to 100 x², which is the value at saturation.
    pub(super) fn modelled(cluster: &Cluster, messages: &MessageMeans) -> Self {
        let length = Bytes(messages.length.round() as u64);
        let square = slowdown_by_variation(cluster, length, messages.rate).unwrap_or(100.0);
        Self { square, linear: 0.0 }
    }

    /// f of a coefficient of variation.
    pub(super) fn percent(self, cv: f64) -> f64 {
        self.square * cv * cv + self.linear * cv
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::built_in;
    use crate::units::PerSecond;

    fn square(cluster: &str, rate: f64, length: f64) -> f64 {
        let cluster = built_in::find(cluster).unwrap().cluster();
        let messages = MessageMeans { rate: PerSecond(rate), length, cv: 1.0 };
        Slowdown::modelled(&cluster, &messages).percent(1.0)
    }

    #[test]
    fn the_model_comes_close_to_the_printed_function_of_large_messages() {
        let modelled = square("paper:2013-model", 10.0, f64::from(1 << 20));
        assert!((0.7..0.95).contains(&modelled), "{modelled} against 0.85");
        assert!((Slowdown::printed(LengthClass::Large).percent(2.0) - 3.42).abs() < 1e-12);
    }

    #[test]
    fn the_model_says_less_than_printed_of_medium_messages() {
        // 0.057 is what the paper's own Fig. 5 implies.
        let modelled = square("paper:2013-model", 10.0, 65536.0);
        assert!((0.04..0.07).contains(&modelled), "{modelled} against 0.12");
    }

    #[test]
    fn at_saturation_the_slowdown_ends() {
        let near = square("paper:2013", 0.9999e9 / 1e6, 1e6);
        assert!((99.0..100.1).contains(&near), "{near}");
        assert_eq!(square("paper:2013", 2e9 / 1e6, 1e6), 100.0);
    }
}
