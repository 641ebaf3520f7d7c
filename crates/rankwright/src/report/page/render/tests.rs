//! Names in reports are text, in every form.

use super::super::data::{
    Cell, Column, Command, FactGroup, JobRanks, Kind, Outcome, Table, Verdict,
};
use super::super::findings::{Found, Unmeasured};
use super::super::{Names, Report};
use super::ReportForm;

/// Names that a program, a host or a job may have, and that do harm where they are markup.
const HOSTILE: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a|b`c`d\n# heading\n- item",
    "\u{2028}\u{2029}\u{202e}",
    "\u{1b}[31mred\u{7}",
    "[link](javascript:alert(1)) ![x](http://example.org)",
    "\"'&amp;<!--",
    "```\nrm -rf /\n```` @everybody #1",
];

fn hostile() -> Report {
    let verdict = Verdict {
        text: HOSTILE.join(" "),
        outcome: Outcome::Unknown,
        details: HOSTILE.map(str::to_owned).to_vec(),
    };
    let mut report = Report::new(Kind::Workload, HOSTILE[0], verdict);
    for name in HOSTILE {
        report.fact(FactGroup::Run, name, name);
        let command = Command { title: name.to_owned(), text: name.to_owned(), file: None };
        report.commands.push(command);
        report.jobs.push(JobRanks { name: name.to_owned(), first_rank: 0, ranks: 1 });
        report.find([Found::new("pair-note", name).remedy(name).finding()]);
    }
    report.tables.push(Table {
        title: HOSTILE[2].to_owned(),
        caption: HOSTILE[1].to_owned(),
        columns: vec![Column { name: HOSTILE[2].to_owned(), unit: None, numeric: false }],
        rows: HOSTILE.map(|name| vec![Cell::Text(name.to_owned())]).to_vec(),
    });
    report.lack(Unmeasured::Counted);
    report.with_names(&Names {
        workload: HOSTILE[0].to_owned(),
        cluster: HOSTILE[7].to_owned(),
        placement: HOSTILE[2].to_owned(),
        program: HOSTILE[1].to_owned(),
        ranks: 1,
        entry: String::new(),
    })
}

#[test]
fn the_page_has_no_element_of_a_name_and_its_data_are_whole() {
    let report = hostile();
    let page = report.render(ReportForm::Html);
    let template = include_str!("../page.html");
    for markup in ["<script", "</script", "<img", "<!--", "onerror"] {
        let expected = template.matches(markup).count();
        let found = page.matches(markup).count();
        // `onerror` is harmless text inside the data.
        assert!(found == expected || markup == "onerror", "{markup}: {found}, not {expected}");
    }
    let (before, after) = template.split_once("__REPORT_DATA__").unwrap();
    let data = page.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{data}");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let json: serde_json::Value = serde_json::from_str(&report.render(ReportForm::Json)).unwrap();
    assert_eq!(data, json);
    assert_eq!(json["title"], HOSTILE[0]);
    assert_eq!(json["version"], 1);
}

#[test]
fn markdown_has_no_markup_of_a_name() {
    let text = hostile().render(ReportForm::Markdown);
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if ticks == open && line == ticks => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                let own = line.replace("@<!-- -->", "");
                assert!(!own.contains(['<', '>']) || own.starts_with("&lt;"), "{line}");
                let unescaped = own.replace("\\`", "").replace("\\[", "").replace("\\!", "");
                assert!(!unescaped.contains(['`', '[', '!']), "{line}");
                let cells = own.replace("\\|", "").matches('|').count();
                let is_row = own.starts_with('|');
                assert!(!is_row || cells <= 3, "{line}");
                assert!(is_row || cells == 0, "{line}");
            }
        }
    }
    assert_eq!(fence, None, "{text}");
}

#[test]
fn text_has_no_control_characters() {
    for form in [ReportForm::Text, ReportForm::Markdown] {
        let text = hostile().render(form);
        let control =
            |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(control), "{form:?}");
        assert!(text.ends_with('\n'), "{form:?}");
    }
}
