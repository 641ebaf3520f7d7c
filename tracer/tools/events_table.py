"""events.table: what the wrappers of generate.py do for events, before a call and after it."""

import re

# These have a form of their own for the arguments of a Fortran call.
FORTRAN_FORMS = {"keep_status", "expect", "completed"}


class Hooks:
    """The lines of the table by call."""

    def __init__(self, path):
        self.rows = {}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = [field.strip() for field in line.split(" | ")]
            if len(fields) != 3 or fields[0] in self.rows:
                raise SystemExit(f"{path.name}:{number}: found `{line}`, expected a new call in three columns")
            self.rows[fields[0]] = fields[1:]

    def row(self, call):
        """What is written before and after the call."""
        found = self.rows.get(call.name) or self.rows.get(call.name.removesuffix("_c"))
        if found:
            return found
        if call.class_name == "RW_CLASS_COLLECTIVE" and not call.is_persistent:
            return ["-", "request(request)" if call.flags != "0" else "-"]
        return ["-", f"other({call.class_name})"]

    def concern(self, call):
        """Whether the call's wrapper has anything to do for events."""
        return self.row(call) != ["-", "-"]

    def before(self, call, fortran):
        """A statement, or None."""
        text = self.row(call)[0]
        if text == "-":
            return None
        name, expressions = self.parse(call, text, fortran, before=True)
        latest = expressions[-1]
        assigned = f"{latest} = " if latest.startswith("status") else ""
        return f"{assigned}rw_{name}({', '.join(expressions)});"

    def after(self, call, fortran, success):
        """A condition (None: always) and a statement; or None."""
        text = self.row(call)[1]
        if text == "-":
            return None
        name, expressions = self.parse(call, text, fortran, before=False)
        if name.startswith("completed"):
            expressions.insert(1, success)
            success = None
        return success, f"rw_event_{name}({', '.join(['&call'] + expressions)});"

    def parse(self, call, text, fortran, before):
        """The function's name, and its arguments in C."""
        name, inner = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
        by_name = {argument.name: argument for argument in call.arguments}

        def expression(match):
            return self.argument(by_name[match.group()], fortran, before)

        # What is written in small letters is an argument of the call.
        expressions = [re.sub(r"\b[a-z]\w*", expression, part) for part in inner.split(", ") if part]
        return name + ("_fortran" if fortran and name in FORTRAN_FORMS else ""), expressions

    @staticmethod
    def argument(argument, fortran, before):
        if argument.type == "MPI_Status":
            return f"rw_c_status({argument.name})" if fortran and not before else argument.name
        if argument.name == "index" or before and argument.type == "MPI_Request":
            return argument.name
        return argument.recorded_from_fortran() if fortran else argument.recorded()
