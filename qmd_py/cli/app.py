"""The one place where every command ends: words on stderr and an exit status."""

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from qmd_py import config
from qmd_py.config import Config
from qmd_py.errors import QmdError, UsageError
from qmd_py.render import styled
from qmd_py.render.styled import Line

_WIDE_ENOUGH = 60  # columns; in a narrower window there is no room for panels and bars
_ISSUES = "https://github.com/qmd-py/qmd-py/issues"


class Status(IntEnum):
    """Exit statuses, as grep and ripgrep have them."""

    FOUND = 0
    NOTHING_FOUND = 1
    ERROR = 2
    INTERRUPTED = 130


class Command(TyperCommand):
    """A command whose help can be read in any window, and that is named where its options are wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 — Typer's own signature
        """Read the arguments."""
        try:
            return list(super().parse_args(ctx, args))
        except typer.TyperException as error:
            wrong: Any = error
            # where a value is missing, Typer does not say of which command
            wrong.ctx = getattr(wrong, "ctx", None) or ctx
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 — Typer's own signature
        """Write the help: panels where there is room for whole names in them, else plain lists."""
        import shutil

        width = shutil.get_terminal_size().columns
        if width >= _WIDE_ENOUGH:
            super().format_help(ctx, formatter)
        else:
            formatter.width = width
            super(TyperCommand, self).format_help(ctx, formatter)


class Commands(TyperGroup):
    """Ends every command the same way: one line on stderr and a status."""

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 — Typer's own signature
        """Run the chosen command and exit."""
        extra["standalone_mode"] = False
        try:
            status = super().main(*args, **extra)
            sys.stdout.flush()
        except QmdError as error:
            status = _fail(str(error))
        except typer.TyperException as error:
            status = _usage(error)
        except (typer.Abort, KeyboardInterrupt):
            status = Status.INTERRUPTED
        except BrokenPipeError:
            status = _reader_left()
        except Exception:  # noqa: BLE001 — a bug: say so, and keep status 1 for "nothing found"
            sys.stderr.write(styled.safe(traceback.format_exc()))
            status = _fail(f"this is a bug in qmd: please report the lines above at {_ISSUES}")
        sys.exit(int(status or 0))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 — Typer's own signature
        """Find the command, or name the nearest."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            from qmd_py.cli import hinting

            near = hinting.command(args[0], self.list_commands(ctx))
            raise UsageError(f"no command '{args[0]}'{near}: see '{ctx.command_path} --help'")
        return super().resolve_command(ctx, args)


class WordsCommand(Command):
    """A command whose words may start with a dash: `qmd search -draft release`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 — Typer's own signature
        """Move what is no option of ours behind `--`, in order."""
        return list(super().parse_args(ctx, _words_last(args, self._options())))

    def _options(self) -> dict[str, bool]:
        """Each option string, and whether a value follows it."""
        found = {"--help": False, "-h": False}
        for param in self.params:
            takes_value = not getattr(param, "is_flag", True)
            for name in (*param.opts, *param.secondary_opts):
                if name.startswith("-"):
                    found[name] = takes_value
        return found


def _words_last(args: Sequence[str], options: dict[str, bool]) -> list[str]:
    ours: list[str] = []
    words: list[str] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg == "--":
            words += rest
            break
        if _is_word(arg, options):
            words.append(arg)
            continue
        ours.append(arg)
        if options.get(arg):
            if not rest:
                return ours  # nothing may follow, or it would pass for the missing value
            ours.append(rest.pop(0))
    return [*ours, "--", *words]


def _is_word(arg: str, options: dict[str, bool]) -> bool:
    if not arg.startswith("-") or arg == "-":
        return True
    if arg.startswith("--") or arg in options:
        return False
    # `-n5` is an option and its value; `-nothing` is a word to leave out
    return not (options.get(arg[:2]) and arg[2:].isdigit())


def emit(text: str) -> None:
    """Write the answer to stdout: as it is, but on a terminal without what could command it."""
    emit_styled(styled.safe(text) if sys.stdout.isatty() else text)


def emit_styled(text: str) -> None:
    """Write text to stdout that `render` has made harmless and styled; a reader may leave.

    Raises:
        QmdError: it cannot be written (the disk is full, say).
    """
    try:
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:
            sys.stdout.write(text)
        else:
            # the answer is UTF-8 in every locale
            stream.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise typer.Exit(_reader_left()) from error
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise QmdError(f"cannot write the answer: {error.strerror}") from error


def show(lines: Sequence[Line]) -> None:
    """Write styled lines: coloured on a terminal, plain elsewhere."""
    emit_styled(styled.coloured(lines) if sys.stdout.isatty() else styled.plain(lines))


def columns() -> int:
    """How many columns the terminal has; 0 where stdout is none."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


@contextlib.contextmanager
def screen() -> Iterator[Callable[[Sequence[Line]], None]]:
    """Lines that stand on the terminal for the time being; nothing elsewhere.

    They are gone at the end, Ctrl-C included, and the cursor is where it was.
    """
    if not sys.stdout.isatty():
        yield lambda _lines: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)

    with contextlib.ExitStack() as stack:

        def preview(lines: Sequence[Line]) -> None:
            shown = styled.text(lines, console)
            live = Live(shown, console=console, transient=True, auto_refresh=False)
            stack.enter_context(live)

        yield preview


def notice(text: str) -> None:
    """Say something on stderr in one line."""
    line = styled.safe(" ".join(text.split()))
    print(f"qmd: {line}", file=sys.stderr)  # noqa: T201 — this is the one way to stderr


def confirm(question: str) -> None:
    """Ask on the terminal.

    Raises:
        Abort: the answer is no.
    """
    typer.confirm(styled.safe(question), abort=True, err=True)


def _fail(message: str) -> Status:
    notice(message)
    return Status.ERROR


def _usage(error: typer.TyperException) -> Status:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return Status.ERROR  # the help has been printed
    near = list(getattr(error, "possibilities", None) or ())
    # as for commands, the nearest alone
    message = getattr(error, "message", "") if near else error.format_message()
    message = re.sub(r"a valid (int|float)( range)?", _number, message.rstrip(".").strip())
    message = message[:1].lower() + message[1:] + (f" (did you mean '{near[0]}'?)" if near else "")
    if getattr(error, "option_name", "") and context and not context.parent and not near:
        message += " (options stand after the command)"
    command = context.command_path if context else "qmd"
    return _fail(f"{message}: see '{command} --help'")


def _number(kind: "re.Match[str]") -> str:
    """What Typer calls a kind of numbers, in plain words."""
    return "a whole number" if kind[1] == "int" else "a number"


def _reader_left() -> Status:
    """Point stdout nowhere, so that nothing is written to the closed pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Status.FOUND


def _indexes(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """What is offered after `--index`."""
    from qmd_py.cli import completing

    return completing.indexes(ctx, incomplete)


IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="NAME|FILE",
        help="The index (or QMD_INDEX): a bare word names one beside the default, "
        "what has a slash or a suffix is a file.",
        autocompletion=_indexes,
    ),
]


def configured(index: str | Path | None) -> Config:
    """The configuration of this run."""
    return config.load(os.environ, index)


Progress = Callable[[int, int], None]


@contextlib.contextmanager
def bar(name: str, *, of_bytes: bool = False) -> Iterator[Progress]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    narrow = console.width < _WIDE_ENOUGH
    columns = (
        TextColumn("{task.description}", markup=False),
        *([] if narrow else [BarColumn()]),
        DownloadColumn() if of_bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as shown:
        told = styled.safe(name)
        task = shown.add_task(told[: console.width // 4] if narrow else told, total=None)
        yield lambda done, all_: shown.update(task, completed=done, total=all_ or None)
