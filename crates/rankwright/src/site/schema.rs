//! The tables of `site.toml` as written. Values keep their position in the file, so that errors about
//! their meaning can name the line.

use ::toml::Spanned;
use serde::Deserialize;

use crate::cluster::read::toml::WrittenRates;

/// A text with its position in the file.
type Text = Spanned<String>;

/// The whole file: the values for all partitions, and the partitions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    cluster: Option<Text>,
    launcher: Option<Text>,
    fabric: Option<Text>,
    rates: Option<WrittenRates>,
    record: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) partition: Vec<Partition>,
}

/// `[[partition]]`: the values for one partition or several.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Partition {
    pub(super) name: Text,
    pub(super) default: Option<Spanned<bool>>,
    cluster: Option<Text>,
    launcher: Option<Text>,
    fabric: Option<Text>,
    rates: Option<WrittenRates>,
    record: Option<Spanned<bool>>,
}

/// The values that a file and a partition have in common. (serde's `flatten` loses positions.)
#[derive(Debug)]
pub(super) struct Written<'a> {
    pub(super) cluster: Option<&'a Text>,
    pub(super) launcher: Option<&'a Text>,
    pub(super) fabric: Option<&'a Text>,
    pub(super) rates: Option<&'a WrittenRates>,
    pub(super) record: Option<&'a Spanned<bool>>,
}

impl<'a> Written<'a> {
    fn of(
        [cluster, launcher, fabric]: [&'a Option<Text>; 3],
        rates: &'a Option<WrittenRates>,
        record: &'a Option<Spanned<bool>>,
    ) -> Self {
        let (cluster, launcher, fabric) = (cluster.as_ref(), launcher.as_ref(), fabric.as_ref());
        Self { cluster, launcher, fabric, rates: rates.as_ref(), record: record.as_ref() }
    }
}

impl File {
    pub(super) fn written(&self) -> Written<'_> {
        Written::of([&self.cluster, &self.launcher, &self.fabric], &self.rates, &self.record)
    }
}

impl Partition {
    pub(super) fn written(&self) -> Written<'_> {
        Written::of([&self.cluster, &self.launcher, &self.fabric], &self.rates, &self.record)
    }
}
