//! Names with options, as users write them: `kway:seed=7,weights=rate`.

/// A name and the options behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedOptions<'a> {
    /// The part before the first colon.
    pub(crate) name: &'a str,
    options: &'a str,
}

/// One of the options behind a name; blanks around its parts do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedOption<'a> {
    /// The option as it was written.
    pub(crate) text: &'a str,
    /// The part before `=`, or all.
    pub(crate) key: &'a str,
    /// The part after `=`; `None` without one.
    pub(crate) value: Option<&'a str>,
}

impl<'a> NamedOptions<'a> {
    /// Reads `name` or `name:key=value,key=value`.
    pub(crate) fn new(text: &'a str) -> Self {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        Self { name, options }
    }

    /// The options in the order written; an empty part between two commas is not an option.
    pub(crate) fn options(self) -> impl Iterator<Item = NamedOption<'a>> {
        self.options.split(',').map(str::trim).filter(|text| !text.is_empty()).map(|text| {
            let (key, value) = match text.split_once('=') {
                Some((key, value)) => (key.trim_end(), Some(value.trim_start())),
                None => (text, None),
            };
            NamedOption { text, key, value }
        })
    }
}

/// What is expected instead of an unknown name: `one of a, b, c`.
pub(crate) fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!("one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_behind_a_colon_and_between_commas() {
        let options = |text| -> Vec<(&str, Option<&str>)> {
            NamedOptions::new(text).options().map(|option| (option.key, option.value)).collect()
        };
        assert_eq!(NamedOptions::new("drb:seed=7").name, "drb");
        assert_eq!(NamedOptions::new("drb").name, "drb");
        assert_eq!(options("drb"), []);
        assert_eq!(
            options("a:x=1, y = 2,flag,,z="),
            [("x", Some("1")), ("y", Some("2")), ("flag", None), ("z", Some("")),]
        );
        assert_eq!(options("a:b:c=d=e"), [("b:c", Some("d=e"))]);
        assert_eq!(one_of(["a", "b"]), "one of a, b");
    }
}
