"""calls.table and events.table: the wrapped calls, and what the tracer does with each."""

import re

CLASSES = ("point-to-point", "wait", "collective", "one-sided", "other")
SINCE = {
    "-": None,
    # Open MPI 5 has these calls although it announces MPI 3.1.
    "MPI-4": "MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)",
    "MPI-4.1": "MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)",
}
COUNTS = {"count", "sendcount", "recvcount", "origin_count", "result_count", "target_count",
          "sendcounts", "recvcounts"}
DISPLACEMENTS = {"displs", "sdispls", "rdispls", "disp_unit"}  # MPI_Aint in the form for large counts
# Handles that are recorded, by type: T of MPI_T_f2c.
HANDLES = {"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Op": "Op", "MPI_Request": "Request", "MPI_Win": "Win",
           "MPI_Message": "Message"}


class Argument:
    """One argument of a call: as it is declared, and as it is handed to the functions that record."""

    def __init__(self, declaration):
        match = re.fullmatch(r"(const )?(\w+) (\*?)(\w+)(\[\])?", declaration)
        if not match:
            raise ValueError(f"cannot read the argument `{declaration}`")
        const, self.type, pointer, self.name, array = match.groups()
        self.is_const, self.is_pointer, self.is_array = bool(const), bool(pointer), bool(array)

    def grows(self):
        """Whether the form for large counts has a wider type here."""
        return self.type == "int" and self.name in COUNTS | DISPLACEMENTS

    def parameter(self, large):
        """Its declaration in the macros of src/calls/; `large`: the call has a form for large counts."""
        const = "const " if self.is_const else ""
        if self.type in ("void", "char"):
            return f"{const}{self.type} *{self.name}"
        if large and self.grows():
            word = "COUNT" if self.name in COUNTS else "DISPLACEMENT"
            return f"{word}{'_LIST' if self.is_array else ''} {self.name}"
        if self.type in ("MPI_Aint", "MPI_Count"):
            return f"{const}{self.type} *{self.name}" if self.is_array else f"WIDE({self.type}) {self.name}"
        direction = "LIST" if self.is_const else "OUT" if self.is_array or self.is_pointer else "IN"
        return f"{direction}({self.type}) {self.name}"

    def value(self):
        """What is recorded of it, in the macros of src/calls/."""
        if self.type == "void":
            return f"DATA({self.name})"
        if self.is_array:
            word = "DATATYPES" if self.type == "MPI_Datatype" else "COUNTS" if self.name in COUNTS else None
            return f"{word}({self.name})" if word else self.name
        if self.type in HANDLES:
            return f"{'MADE' if self.is_pointer else 'HANDLE'}({HANDLES[self.type]}, {self.name})"
        if self.type not in ("int", "MPI_Count"):
            raise ValueError(f"`{self.name}`: {self.type} cannot be recorded")
        return f"*{self.name}" if self.is_pointer else f"VALUE({self.name})"


class Call:
    """One line of calls.table, with its line of events.table."""

    def __init__(self, name, class_name, since, arguments, record):
        if class_name not in CLASSES:
            raise ValueError(f"found the class `{class_name}`, expected {', '.join(CLASSES)}")
        self.name, self.condition = name, SINCE[since]
        self.class_word = class_name.upper().replace("-", "_")
        self.is_collective = class_name == "collective"
        self.arguments = [] if arguments == "void" else [Argument(text) for text in arguments.split(", ")]
        self.is_large = (any(argument.grows() for argument in self.arguments)
                         and any(a.type == "MPI_Datatype" or a.name == "disp_unit" for a in self.arguments))
        self.record = self.statement("rw_record", record, lambda argument: argument.value())
        self.before, self.event = None, f"if (ok) rw_event_other(call, RW_CLASS_{self.class_word})"

    def statement(self, prefix, text, value, first="call"):
        """`name(argument, ...)` of a table as a call in C; None for `-`. Small letters: arguments of the call."""
        if text == "-":
            return None
        name, inner = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
        by_name = {argument.name: argument for argument in self.arguments}
        values = [re.sub(r"\b[a-z]\w*", lambda match: value(by_name[match[0]]), part)
                  for part in inner.split(", ") if part]
        return f"{prefix}_{name}({', '.join(([first] if first else []) + values)})"

    def add_events(self, before, after):
        """What its line of events.table says."""
        if self.is_collective:
            raise ValueError("collectives write their events where they are recorded")
        self.before = before_call(self, before)
        self.event = after_call(self, after)

    def kind(self):
        """What its Fortran entry points depend on."""
        names = {argument.name for argument in self.arguments}
        if any(argument.type == "void" and argument.name != "baseptr" for argument in self.arguments):
            return "WITH_BUFFER"
        if any(argument.type == "char" for argument in self.arguments):
            return "WITH_STRING"
        return "WITH_ADDRESS" if "baseptr" in names else "PLAIN" if names else "WITHOUT_ARGUMENTS"

    def functions(self):
        """The names without MPI_ of all functions that the line stands for."""
        lower = self.name[0].lower() + self.name[1:]
        names = [self.name, f"I{lower}", f"{self.name}_init"] if self.is_collective else [self.name]
        return names + [f"{name}_c" for name in names if self.is_large]


def before_call(call, text):
    """events.table's second column: a statement, or None."""
    def value(argument):
        is_passed_on = argument.type in ("MPI_Status", "MPI_Request")
        return argument.name if is_passed_on else argument.value()

    statement = call.statement("rw", text, value, first=None)
    if not statement or not (match := re.search(r"\b(status(es)?)\)$", statement)):
        return statement
    function, arguments = statement.split("(", 1)
    return f"{match[1]} = FORM({function})({arguments}"


def after_call(call, text):
    """events.table's third column: a statement, or None."""
    def value(argument):
        if argument.type == "MPI_Status":
            return f"STATUS({argument.name})"
        return argument.name if argument.name == "index" else argument.value()

    statement = call.statement("rw_event", text, value)
    if not statement or not statement.startswith("rw_event_completed("):
        return statement and f"if (ok) {statement}"
    # Also after a failure, and knowing of it: some requests may be complete.
    statement = re.sub(r"^rw_event_completed\(call, (\w+), ", r"FORM(rw_event_completed)(call, \1, ok, ", statement)
    return statement


def lines(path, columns):
    """Line number and fields of each line that is neither empty nor a comment."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            fields = [field.strip() for field in line.split(" | ")]
            if len(fields) != columns:
                raise SystemExit(f"{path.name}:{number}: found {len(fields)} columns, expected {columns}")
            yield number, fields


def read(folder):
    """The calls of calls.table in its order."""
    calls, path = {}, folder / "calls.table"
    for number, fields in lines(path, 5):
        try:
            calls[fields[0]] = Call(*fields)
        except (KeyError, ValueError, AttributeError) as error:
            raise SystemExit(f"{path.name}:{number}: not a call: {error}")
    path = folder / "events.table"
    for number, (name, before, after) in lines(path, 3):
        try:
            calls[name].add_events(before, after)
        except (KeyError, ValueError, AttributeError) as error:
            raise SystemExit(f"{path.name}:{number}: {name}: not a line for a wrapped call: {error}")
    return list(calls.values())
