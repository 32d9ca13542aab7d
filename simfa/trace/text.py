"""Traces as text, one statement a line.

    trace       = "TRACE 1" , [ launch ] , { declaration } , { program } , cta , { cta }
    launch      = "LAUNCH" , { size "=" number } , [ "schedule=" ("one_tile" | "static" | "dynamic") ] , [ primed ]
    size        = "shared_memory" | "registers" | "cluster" | "ctas_per_sm"
    primed      = "primed=" list                                 with a schedule other than one_tile
    declaration = "DEF_TMAP" map rank dims strides box esz [ "base=" address ]
    program     = "PROGRAM" name , { instruction }
    instruction = MNEMONIC , { operand } , [ "tag=" number ] , { extra }                 operands as in Table 3
    extra       = ("cycles" | "multicast" | "stages" | "counter" | "advance" | "step") "=" number
    cta         = "CTA" name , { name } , { map "=" list } , [ "turns=" list ] a program for each logical thread
    list        = "[" [ number { "," number } ] "]"

Fields are separated by blanks, `#` begins a comment, numbers are decimal or 0x, mnemonics in any case. `simfa.isa`
has a row per instruction with the operands and their ranges.

DEF_TMAP: dims and box have `rank` numbers, strides `rank` - 1, in bytes, of the dimensions after the first; esz is
the element size in bytes, base the tensor's first byte (0 if absent). A gmem operand is the first element of a box:
coordinates, relative to the CTA's origin in that map (all 0 if absent), or the absolute address of an element,
then of a CTA without an origin. A bulk copy's gmem is an address. WGMMA: `acc` is the accumulator's type; `sp` 1
means 2:4 sparse A and twice the k; `cycles=` puts a measured time in place of the model's. BAR_WAIT's second
operand is k; TMA_WAIT's and WGMMA_WAIT's second is N. A group that TMA_COMMIT sealed takes no further store, until
a TMA_WAIT with N = 0 has proven it done. `tag` names activities on a timeline and has no effect on time.

TMA_TENSOR: `multicast=` is a mask of the cluster's CTAs, bit r the r-th of its CTA lines. The box is read once and
fills stage `sid` of each of them; a consumer's release of that stage then counts in every CTA that loads into it.

LOOP n count ... END_LOOP n runs what is between `count` times, which costs no issue; with a count of 0 as often as
`turns=[t0,t1]` of the CTA says for loop n, 0 times included. `stages=` makes sid the first of a ring of stages;
`counter=` (0 or 1) is the thread's counter that picks the stage and, with `step=`, moves a box by so many rows (of
its third dimension), a bulk copy by so many bytes, per count since the thread came to its CTA line; `advance=` is
added to it after the instruction. In a program with loops or rings, and in all programs of a persistent CTA, a load
stands right after an ACQUIRE_STAGE of its stage, and a filling takes one load of every thread that loads the stage.
PHASE: cycles alone, then of the FP32, MUFU and operand pipes.

LAUNCH: bytes of shared memory of a CTA, registers of one of the 128 threads of a logical thread, CTAs of a cluster.
CTAs start in the order of their lines. With `schedule=` static or dynamic the lines are tiles of persistent CTAs,
as many as the GPU holds at once: each begins with one line, in order, and each of its threads goes on, as soon as
it comes to its program's end, with its program for the CTA's next tile. That is (static) as many lines further down
as there are CTAs, or (dynamic) the first that no CTA has taken when the first of its threads asks. Counters,
stages, barriers and groups go on from tile to tile; `primed=[n0,n1,...]` are arrivals at named barriers 0, 1, ...
of every such CTA before it begins.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from presets.errors import PresetError
from simfa.engine import opcodes as op
from simfa.engine.dispatch import SCHEDULES
from simfa.engine.threads import NAMED_BARRIERS, STAGES
from simfa.isa import (
    ADDRESS,
    BY_NAME,
    EXTRAS,
    INSTRUCTIONS,
    TURNS_MAX,
    WGMMA_K,
    WGMMA_N_STEP,
    InstructionSpec,
    OperandSpec,
    Program,
)  # fmt: skip
from simfa.trace import loops, operands
from simfa.trace.model import Cta, Launch, Trace
from simfa.trace.tensor_map import TensorMap, TensorMapError

VERSION = "1"
LAUNCH_OPERANDS = {
    "shared_memory": OperandSpec("shared_memory", high=2**24),
    "registers": OperandSpec("registers", high=255),
    "cluster": OperandSpec("cluster", low=1, high=16),
    "ctas_per_sm": OperandSpec("ctas_per_sm", high=32),
    "schedule": OperandSpec("schedule", "choice", choices=SCHEDULES),
    "primed": OperandSpec("primed", "numbers", high=1024),
}
_ORIGIN = OperandSpec("origin", "numbers", low=-(2**30), high=2**30)
_TURNS = OperandSpec("turns", "numbers", high=TURNS_MAX)
_TAG = OperandSpec("tag")
_OPTIONS = {
    "tag": _TAG,
    "cycles": OperandSpec("cycles", low=1),
    "multicast": OperandSpec("multicast", low=1, high=2**16 - 1),
    "stages": OperandSpec("stages", low=1, high=STAGES),
    "counter": OperandSpec("counter", high=op.COUNTERS - 1),
    "advance": OperandSpec("advance", low=1, high=2**20),
    "step": OperandSpec("step", low=-(2**24), high=2**24),
    "base": OperandSpec("base", high=2**48),
}
_TOKEN = re.compile(r"[^\s\[\]#]*\[[^\]#]*\]|[^\s#]+")


class TraceError(PresetError):
    """A malformed trace; the message begins with file:line:column."""


def read(path: Path) -> Trace:
    """The trace in a file. Raises TraceError, or PresetError where the file cannot be read."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise PresetError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}:1:1: expected a text file in UTF-8") from None


def parse(text: str, name: str = "trace") -> Trace:
    """The trace that a text writes down; `name` stands for the file in messages."""
    reader = _Reader(name)
    for number, line in enumerate(text.splitlines(), start=1):
        reader.take(number, line)
    return reader.finish()


class _Reader:
    """Statements so far, and the line being read: its tokens with their columns."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.line, self.end, self.tokens = 0, 1, list[tuple[int, str]]()
        self.begun = False
        self.launch: Launch | None = None
        self.maps: list[TensorMap] = []
        self.map_numbers: dict[str, int] = {}
        self.programs: dict[str, Program] = {}
        self.program: Program | None = None
        self.sealed: dict[int, int] = {}  # store groups of the current program, and the line of their commit
        self.all_lines: dict[str, list[int]] = {}  # of the rows of each program
        self.ctas: list[Cta] = []
        self.sound: set[tuple[tuple[str, ...], tuple[int, ...]]] = set()  # programs and turns of CTAs so far
        self.absolute: dict[str, set[int]] = {}  # programs, and the maps in which they give addresses

    def take(self, number: int, line: str) -> None:
        """One line of the file."""
        self.tokens = [(match.start() + 1, match.group()) for match in _TOKEN.finditer(line.split("#")[0])]
        self.line, self.end = number, len(line.split("#")[0].rstrip()) + 1
        if not self.tokens:
            return
        column, word = self.tokens.pop(0)
        statement = {"LAUNCH": self._launch, "PROGRAM": self._program, "CTA": self._cta}.get(word)
        if not self.begun:
            self._header(column, word)
        elif statement is not None:
            statement(column)
        elif word.upper() in BY_NAME:
            self._instruction(column, BY_NAME[word.upper()])
        else:
            self._fail(column, "a statement (LAUNCH, PROGRAM, CTA) or an instruction", word, _close(word))
        if self.tokens:
            self._fail(self.tokens[0][0], "the end of the line", self.tokens[0][1])

    def finish(self) -> Trace:
        """The whole trace, once its last line is read."""
        self.line, self.tokens = self.line + 1, []
        if not self.begun:
            self._fail(1, f"TRACE {VERSION} on the first line", "")
        if not self.ctas:
            self._fail(1, "a CTA statement", "")
        return Trace(tuple(self.maps), self.programs, tuple(self.ctas), self.launch or Launch())

    def _fail(self, column: int, wanted: str, got: str, hint: str = "") -> NoReturn:
        found = f"'{got}'" if got else "nothing"
        raise TraceError(f"{self.name}:{self.line}:{column}: expected {wanted}; got {found}{hint}")

    def _wrong(self, column: int, sentence: str) -> NoReturn:
        raise TraceError(f"{self.name}:{self.line}:{column}: {sentence}")

    def _next(self, wanted: str) -> tuple[int, str]:
        if not self.tokens or "=" in self.tokens[0][1]:
            self._fail(*((self.tokens[0][0], wanted, self.tokens[0][1]) if self.tokens else (self.end, wanted, "")))
        return self.tokens.pop(0)

    def _header(self, column: int, word: str) -> None:
        version = self.tokens.pop(0) if self.tokens else (self.end, "")
        if (word, version[1]) != ("TRACE", VERSION):
            at = version[0] if word == "TRACE" else column
            self._fail(at, f"TRACE {VERSION} on the first line", version[1] if word == "TRACE" else word)
        self.begun = True

    def _launch(self, column: int) -> None:
        if self.launch is not None or self.maps or self.programs:
            self._wrong(column, "LAUNCH stands once, before DEF_TMAP and PROGRAM")
        columns = self._columns()
        self.launch = Launch(**self._keys(LAUNCH_OPERANDS))
        if self.launch.primed and not self.launch.is_persistent:
            self._wrong(columns["primed"], "primed= is about persistent CTAs; it needs schedule=static or dynamic")
        if len(self.launch.primed) > NAMED_BARRIERS:
            count = f"{len(self.launch.primed)} named barriers; a CTA has {NAMED_BARRIERS}"
            self._wrong(columns["primed"], f"primed= names {count}")

    def _columns(self) -> dict[str, int]:
        """Columns of what is left of the line, by key."""
        return {text.partition("=")[0]: column for column, text in self.tokens}

    def _keys(self, allowed: dict[str, OperandSpec]) -> dict[str, Any]:
        """The rest of the line as key=value."""
        found: dict[str, Any] = {}
        while self.tokens:
            column, text = self.tokens.pop(0)
            key, equals, value = text.partition("=")
            if not equals or key not in allowed or key in found:
                wanted = ", ".join(f"{name}=" for name in allowed if name not in found)
                self._fail(column, wanted or "the end of the line", text)
            found[key] = self._value(allowed[key], column + len(key) + 1, value)
        return found

    def _value(self, spec: OperandSpec, column: int, text: str) -> Any:
        value = operands.parse(spec, text, self.map_numbers)
        if value is None:
            self._fail(column, operands.expected(spec), text)
        return value

    def _program(self, column: int) -> None:
        at, name = self._next("the program's name")
        self._value(OperandSpec("name", "word"), at, name)
        if name in self.programs:
            self._wrong(at, f"program {name} is written twice")
        self._end_program()
        self.program = self.programs[name] = Program()
        self.row_lines: list[int] = []
        self.all_lines[name] = self.row_lines
        self.absolute[name] = set()
        self.sealed = {}

    def _instruction(self, column: int, spec: InstructionSpec) -> None:
        if spec.opcode != op.DECLARATION and self.program is None:
            self._wrong(column, f"{spec.name} before the first PROGRAM statement")
        columns, values = {}, {}
        for operand in spec.operands:
            columns[operand.name], text = self._next(operands.expected(operand))
            values[operand.name] = self._value(operand, columns[operand.name], text)
        if spec.opcode == op.DECLARATION:
            self._declare(columns, values)
            return
        allowed = {key: _OPTIONS[key] for key in ("tag", *EXTRAS.get(spec.name, ()))}
        at = self._columns()
        tag_and_extras = self._keys(allowed)
        self._check_mask(at, tag_and_extras.get("multicast", 0))
        self._check(spec.opcode, columns, values)
        if "step" in tag_and_extras and "map" in values and self.maps[values["map"]].rank <= op.STEP_AXIS:
            tensor = self.maps[values["map"]]
            self._wrong(
                at["step"], f"step= moves a box in its third dimension; map {tensor.name} has {tensor.rank}"
            )
        assert self.program is not None
        self.program.emit(spec.name, **values, **tag_and_extras)
        self.row_lines.append(self.line)

    def _end_program(self) -> None:
        """The program written so far is whole: its loops and rings must be sound."""
        recurring = self.launch is not None and self.launch.is_persistent
        found = loops.problem(self.program.rows, recurring) if self.program is not None else None
        if found is not None:
            self.line = self.row_lines[found[0]]
            self._wrong(1, found[1])
        self.program = None

    def _declare(self, columns: dict[str, int], values: dict[str, Any]) -> None:
        name, rank = values["map"], values["rank"]
        if name in self.map_numbers:
            self._wrong(columns["map"], f"tensor map {name} is declared twice")
        if name == "turns":
            self._wrong(columns["map"], "turns= of a CTA is not about a tensor map; give the map another name")
        for key, count in (("dims", rank), ("strides", rank - 1), ("box", rank)):
            if len(values[key]) != count:
                self._wrong(columns[key], f"expected {count} {key} for rank {rank}; got {len(values[key])}")
        base = self._keys({"base": _OPTIONS["base"]}).get("base", 0)
        self.map_numbers[name] = len(self.maps)
        self.maps.append(TensorMap(name, values["dims"], values["strides"], values["box"], values["esz"], base))

    def _check(self, opcode: int, columns: dict[str, int], values: dict[str, Any]) -> None:
        """What an instruction's operands must agree on."""
        if opcode in op.TENSOR_REQUESTS:
            self._check_box(columns["gmem"], self.maps[values["map"]], values["gmem"])
        if opcode == op.WGMMA:
            k = WGMMA_K[values["dtype"]] * (1 + values["sp"])
            if values["n"] % WGMMA_N_STEP:
                self._fail(columns["n"], f"n, a multiple of {WGMMA_N_STEP}", str(values["n"]))
            if values["k"] != k:
                sparse = "sparse " if values["sp"] else ""
                self._fail(columns["k"], f"k = {k}, that of {sparse}{values['dtype']}", str(values["k"]))
        gid = values.get("gid", 0)
        if opcode in op.STORES and gid in self.sealed:
            where = f"line {self.sealed[gid]} sealed it and no TMA_WAIT with N = 0 has proven it done"
            self._wrong(columns["gid"], f"no further store may join group {gid}: {where}")
        if opcode == op.TMA_COMMIT:
            self.sealed[gid] = self.line
        if opcode == op.TMA_WAIT and values["count"] == 0:
            self.sealed = {group: line for group, line in self.sealed.items() if group > gid}

    def _check_mask(self, columns: dict[str, int], mask: int) -> None:
        size = self.launch.cluster if self.launch else 1
        if mask >> size:
            known = f"the cluster has {size} CTAs" if size > 1 else "LAUNCH declares no cluster"
            self._wrong(columns["multicast"], f"multicast={mask:#x} names CTAs that are not: {known}")
        if mask and self.launch and self.launch.schedule == "dynamic":
            self._wrong(
                columns["multicast"], "multicast= with schedule=dynamic, where each CTA takes a tile of its own"
            )

    def _check_box(self, column: int, tensor: TensorMap, place: Any) -> None:
        if isinstance(place, tuple):
            if len(place) != tensor.rank:
                self._wrong(column, f"expected {tensor.rank} coordinates in map {tensor.name}; got {len(place)}")
            return
        self.absolute[list(self.programs)[-1]].add(self.map_numbers[tensor.name])
        try:
            tensor.coordinates(place)
        except TensorMapError as error:
            self._wrong(column, str(error))

    def _cta(self, column: int) -> None:
        self._end_program()
        names = []
        while self.tokens and "=" not in self.tokens[0][1]:
            at, name = self.tokens.pop(0)
            if name not in self.programs:
                self._fail(at, f"a program ({', '.join(list(self.programs)[:6]) or 'none is written yet'})", name)
            names.append(name)
        if not any(self.programs[name].rows for name in names):
            self._fail(self.end, "a program with instructions for each logical thread", "")
        columns, keys = self._columns(), self._keys({**dict.fromkeys(self.map_numbers, _ORIGIN), "turns": _TURNS})
        turns = keys.pop("turns", ())
        self._check_cta(column, columns, names, turns)
        absolute = set().union(*(self.absolute[name] for name in names))
        origins = tuple(sorted(self._origins(keys, columns, absolute)))
        self.ctas.append(Cta(tuple(names), origins, turns))

    def _check_cta(self, column: int, columns: dict[str, int], names: list[str], turns: tuple[int, ...]) -> None:
        """What the programs of a CTA must agree on, with each other and with its turns."""
        if (tuple(names), turns) in self.sound:
            return
        self.sound.add((tuple(names), turns))
        if len(turns) > op.LOOPS:
            self._wrong(columns["turns"], f"turns= for {len(turns)} loops; a program has at most {op.LOOPS}")
        programs = [self.programs[name].rows for name in names]
        for name, rows in zip(names, programs, strict=True):
            lacking = loops.open_count(rows, len(turns))
            if lacking is not None:
                self._wrong(
                    self.end, f"LOOP {lacking} 0 of program {name} has no count: expected turns= of this CTA"
                )
            self._check_reach(name, rows, turns)
        persistent = self.launch is not None and self.launch.is_persistent
        sentence = loops.problem_between(programs, persistent)
        if sentence:
            self._wrong(column, sentence)
        if (
            persistent
            and self.ctas
            and _roles(self.ctas[0].programs, self.programs) != _roles(names, self.programs)
        ):
            self._wrong(
                column, "a tile of a persistent CTA has instructions for the logical threads of the first one"
            )

    def _check_reach(self, name: str, rows: list[dict[str, Any]], turns: tuple[int, ...]) -> None:
        """Bulk copies that a counter moves stay among the addresses there are."""
        for place, reached in loops.bulk_reach(rows, turns):
            if not 0 <= reached <= ADDRESS:
                line = self.all_lines[name][place]
                self._wrong(1, f"the bulk copy of line {line} would move to address {reached}")

    def _origins(
        self, keys: dict[str, Any], columns: dict[str, int], absolute: set[int]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        for name, origin in keys.items():
            number = self.map_numbers[name]
            if len(origin) != self.maps[number].rank:
                count = f"expected {self.maps[number].rank} coordinates in map {name}; got {len(origin)}"
                self._wrong(columns[name] + len(name) + 1, count)
            if number in absolute:
                self._wrong(columns[name], f"an origin in map {name}, where a program of this CTA gives addresses")
            yield number, origin


def _roles(names: Iterable[str], programs: dict[str, Program]) -> list[int]:
    """Logical threads of a CTA that have instructions."""
    return [role for role, name in enumerate(names) if programs[name].rows]


def _close(word: str) -> str:
    from difflib import get_close_matches

    names = [spec.name for spec in INSTRUCTIONS] + ["LAUNCH", "PROGRAM", "CTA"]
    found = get_close_matches(word.upper(), names, n=1)
    return f". Did you mean {found[0]}?" if found else ""
