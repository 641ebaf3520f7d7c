//! Scripts with Windows line endings (CRLF), which neither batch systems nor shells accept.

use super::systems;
use crate::launch::shell::quote;

/// The script with Unix line endings (LF); `None` if it has no CRLF or is not a script.
pub(in crate::lint) fn of_unix(text: &str) -> Option<String> {
    let is_script = || text.starts_with("#!") || !systems(text).is_empty();
    (text.contains("\r\n") && is_script()).then(|| text.replace("\r\n", "\n"))
}

/// The number of the first line that ends with CRLF, from 1.
pub(in crate::lint) fn first(text: &str) -> Option<usize> {
    let before = text.split_once("\r\n")?.0;
    Some(before.split('\n').count())
}

/// What happens to such a script, and what to do.
pub(in crate::lint) fn effect(text: &str, file: &str) -> String {
    let effect = match systems(text)[..] {
        ["slurm"] => "sbatch refuses the script (\"Batch script contains DOS line breaks\")",
        _ => {
            "the carriage return is a part of the last word of the line, also of the program behind #!, \
             which is then not found"
        }
    };
    let file = quote(file);
    format!(
        "a line ends with CR LF, as on Windows; {effect}; convert the file: `dos2unix {file}`, or \
         `sed -i 's/\\r$//' {file}`"
    )
}

#[cfg(test)]
mod tests {
    use crate::lint::read_guessed;

    #[test]
    fn scripts_with_other_line_ends_are_refused_and_read() {
        for (script, told) in [
            ("#SBATCH -N 2\n#SBATCH --ntasks-per-node=2\nsrun ./a\n", "sbatch refuses the script"),
            ("#PBS -l select=2:mpiprocs=2\nmpirun -n 4 ./a\n", "the last word of the line"),
            ("#BSUB -n 4 -R span[ptile=2]\nmpirun ./a\n", "the last word of the line"),
        ] {
            let script = format!("#!/bin/bash\n{script}");
            let right = read_guessed(&script, "job", &[], None).unwrap().reading;
            let windows = script.replace('\n', "\r\n");
            let mut wrong = read_guessed(&windows, "a job", &[], None).unwrap().reading;
            let warning = wrong.warnings.remove(0);
            assert_eq!((warning.trap.code, warning.line), ("carriage-return", Some(1)));
            assert!(warning.refused && warning.text.contains(told), "{}", warning.text);
            assert!(warning.text.contains("`dos2unix 'a job'`"), "{}", warning.text);
            assert_eq!(wrong, right);
        }
    }

    #[test]
    fn an_error_has_the_line_ends_too() {
        let script = "#!/bin/bash\r\n#SBATCH -N 1\r\nsrun -n $(nproc) ./a\r\n";
        let error = read_guessed(script, "job", &[], None).unwrap_err().to_string();
        assert!(error.contains("; also, a line ends with CR LF, as on Windows"), "{error}");
    }

    #[test]
    fn one_line_is_enough() {
        let script = "#!/bin/bash\n#SBATCH -N 1 -n 2\n\r\nsrun ./a\n";
        let reading = read_guessed(script, "job", &[], None).unwrap().reading;
        assert_eq!(reading.warnings[0].line, Some(3), "{:?}", reading.warnings);
        let reading = read_guessed("n0 slots=2\r\n", "hosts", &[], None).unwrap().reading;
        assert_eq!(reading.warnings, []);
    }
}
