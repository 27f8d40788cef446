"""`lastcall -p`: one prompt to one result, shown in one of three formats.

Must not go in here: rules of a run, what frames and envelopes look like, flags.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import anyio

from lastcall.cli.args import Args, BadFlag
from lastcall.cli.config import choose_profile, resolve
from lastcall.cli.contradictions import refuse_contradictions
from lastcall.cli.exits import FAULT, exit_code, usage_code
from lastcall.cli.output import Notes, Output
from lastcall.cli.prompts import continued, goes_on, prompt_of
from lastcall.cli.report import check_report, write_report
from lastcall.cli.signals import ENDING, heard
from lastcall.cli.stdin import Stdin
from lastcall.contract.finishing_tools import DECLINE, FINISH
from lastcall.core.events import Interrupted
from lastcall.errors import BadConfig, LastcallError, NotASchema, SchemaTooBig
from lastcall.nouns.ids import Uuid
from lastcall.nouns.profile import Profile
from lastcall.nouns.result import Cancelled, Signal, TerminalResult, outcome_name
from lastcall.runtime.clock import new_uuid
from lastcall.runtime.config import RunConfig
from lastcall.runtime.loops import loop_options
from lastcall.runtime.ports import Publisher
from lastcall.runtime.publish import FramePublisher, Silent
from lastcall.runtime.session import Session, open_session
from lastcall.runtime.veil import NO_VEIL, Veil, veil_of
from lastcall.wire.envelope import compat_text, error_frame, result_frame
from lastcall.wire.frames import Frame, Stage


class Show:
    """One output format on stdout: what is printed while the run goes on, and what at its end."""

    def __init__(self, args: Args, profile: Profile, output: Output, notes: Notes) -> None:
        self.format = args.text("output_format") or "text"
        self.profile = profile
        self.output = output
        self.notes = notes
        self.replays = args.on("replay_user_messages")
        self._verbose = args.on("verbose")
        self._partial = args.on("include_partial_messages")
        self.veil = NO_VEIL
        self._report = ""
        self._unreported = False
        self._frames: list[Frame] = []

    @property
    def machine(self) -> bool:
        """Whether stdout shows envelopes."""
        return self.format != "text"

    def hide(self, veil: Veil) -> None:
        """Keep these secrets out of what is said of errors from now on."""
        self.veil = veil
        self.notes.hide(veil)

    def report_to(self, path: str | None) -> None:
        """The file for the envelope of every end from now on. Raises `BadConfig` for one that cannot take it."""
        if path is not None:
            check_report(path)
            self._report = path

    def stage(self, stage: Stage) -> Stage:
        """The stage with what the flags say of the frames."""
        from msgspec.structs import replace  # noqa: PLC0415 -- one use

        return replace(stage, partial=self._partial and self.format == "stream-json")

    def publisher(self, stage: Stage) -> Publisher:
        """Who shows the run."""
        if self.format == "stream-json":
            return FramePublisher(self.stage(stage), new_uuid, self.output.frame)
        if self.format == "json" and self._verbose:
            return FramePublisher(stage, new_uuid, self._frames.append)
        return Silent()

    def result(self, result: TerminalResult, stage: Stage) -> None:
        """The run's end."""
        self._write_report(result_frame(result, stage, new_uuid()))
        if self.format == "json":
            self.output.line(self._frames if self._verbose else result_frame(result, stage, new_uuid()))
            self._frames = []
        elif self.format == "text":
            self._text(result, stage)
        if self.profile is Profile.NATIVE:
            self._tell(result)

    def refusal(self, error: LastcallError) -> int:
        """An error before anything was sent: one sentence on stderr, in machine formats an envelope too."""
        frame = error_frame(error.code, self.veil.text(str(error)), new_uuid())
        self._write_report(frame)
        if self.profile is Profile.COMPAT:
            self.notes.error(f"Error: {_compat_words(error)}")
            return usage_code(self.profile)
        self.notes.error(f"lastcall: {error}")
        if self.machine:
            self.output.line([frame] if self.format == "json" and self._verbose else frame)
        return usage_code(self.profile)

    def fault(self, error: BaseException) -> int:
        """A fault of lastcall itself: one sentence, an envelope, never a traceback unless asked for."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        words = self.veil.text(f"{type(error).__name__}: {error}")
        self.notes.error(f"lastcall: this is a fault of lastcall, please report it: {words}")
        frame = error_frame("internal", words, new_uuid())
        self._write_report(frame)
        if self.machine:
            self.output.line(frame)
        return FAULT

    def interrupted(self) -> int:
        """Ctrl-C before the run began or after it ended."""
        frame = error_frame("cancelled", "The run was interrupted before it began.", new_uuid())
        self._write_report(frame)
        if self.machine and self.profile is Profile.NATIVE:
            self.output.line(frame)
        return exit_code(Cancelled(Signal.INTERRUPT), self.profile)

    def delivered(self, code: int) -> int:
        """The exit code, unless what it stands for could not be written to stdout, or the report not to its file."""
        if not self.output.failure:
            return code or (FAULT if self._unreported else 0)
        self.notes.error(f"lastcall: stdout could not be written ({self.output.failure}); the result is in the session")
        return code or FAULT

    def bad_flag(self, error: BadFlag) -> int:
        """A value that a flag's meaning refuses: said as the parser says it."""
        self._write_report(error_frame(error.code, self.veil.text(error.message), new_uuid()))
        self.notes.error(f"{'error' if self.profile is Profile.COMPAT else 'lastcall'}: {error.message}")
        return usage_code(self.profile)

    def _write_report(self, frame: Frame) -> None:
        """The envelope to the file of `--report`; a file that cannot take it keeps nobody from the result."""
        if not self._report or self._unreported:
            return
        try:
            write_report(self._report, frame)
        except BadConfig as error:
            self._unreported = True
            self.notes.error(f"lastcall: {error}")

    def _text(self, result: TerminalResult, stage: Stage) -> None:
        if self.profile is Profile.COMPAT:
            self.output.write(compat_text(result, stage).encode("utf-8", "replace"))
        elif result.ok:
            text = result.object_text if result.object_text is not None else result.text
            self.output.write(f"{text}\n".encode("utf-8", "replace"))

    def _tell(self, result: TerminalResult) -> None:
        for warning in result.warnings:
            place = f" at {warning.path}" if warning.path else ""
            self.notes.say(f"lastcall: warning{place}: {warning.message}")
        if not result.ok:
            self.notes.error(f"lastcall: {outcome_name(result.outcome)}: {result.reason}")
            for problem in result.attempts[-1].problems[:3] if result.attempts else ():
                self.notes.error(f"  {problem.path or 'root'}: {problem.message}")


AGAIN_S: Final = 1.0
"""Signals closer together than this, in seconds, are one: some parents send each of them twice."""

Opener = Callable[..., Session]
"""Opens a session; `open_session`, or what a test puts in its place."""


def run_print(
    args: Args,
    environment: Mapping[str, str],
    *,
    stdin: Stdin | None = None,
    output: Output | None = None,
    notes: Notes | None = None,
    opener: Opener = open_session,
) -> int:
    """Run the prompt; the exit code. The keywords are the process's own streams and provider unless given."""
    profile = Profile.NATIVE
    notes = notes or Notes(quiet=args.on("quiet"))
    show = Show(args, profile, output or Output(), notes)
    stdin = stdin or Stdin()
    printed, sys.stdout = sys.stdout, sys.stderr  # what the caller's own modules print is not the result
    try:
        show.hide(veil_of(environment))
        show.report_to(args.text("report"))
        show.hide(veil_of(environment, args.words("redact")))
        profile = show.profile = choose_profile(args, environment)
        _check_flags(args, show, environment)
        config = resolve(args, environment, profile, stdin, notes.say)
        for line in _remarks(config):
            notes.say(line)
        if args.text("input_format") == "stream-json":
            from lastcall.cli.stream import run_stream  # noqa: PLC0415 -- a mode of its own

            return run_stream(config, show)
        if goes_on(args, profile, stdin):
            config = continued(config, args)
        prompt = "" if config.unfinished else prompt_of(args, stdin)
        if args.on("explain"):
            _explain(config, notes)
        return anyio.run(_once, config, prompt, show, opener, backend_options=loop_options(environment))
    except BadFlag as error:
        return show.bad_flag(error)
    except LastcallError as error:
        return show.refusal(error)
    except KeyboardInterrupt:
        return show.interrupted()
    except Exception as error:
        if environment.get("LASTCALL_LOG") == "debug":
            raise
        return show.fault(error)
    finally:
        sys.stdout = printed


def _remarks(config: RunConfig) -> tuple[str, ...]:
    """What is odd about the contract and about the rules for tools. In compat no rule is, as recorded."""
    contract = config.contract.warnings if config.contract is not None else ()
    if config.profile is Profile.COMPAT or not (config.allowed_tools or config.disallowed_tools):
        return contract
    from lastcall.tools.builtin import remarks_on_rules  # noqa: PLC0415 -- only where there are rules

    flags = {"--allowedTools": config.allowed_tools, "--disallowedTools": config.disallowed_tools}
    rules = [remarks_on_rules(texts, where=flag, known=(FINISH, DECLINE)) for flag, texts in flags.items()]
    return (*contract, *(f"lastcall: {line}" for lines in rules for line in lines))


async def _once(config: RunConfig, prompt: str, show: Show, opener: Opener) -> int:
    if config.mcp_servers:
        from lastcall.runtime.own_mcp import with_servers  # noqa: PLC0415 -- only where servers are configured

        async with with_servers(config) as client:
            return await _played(config, prompt, show, partial(opener, client=client))
    return await _played(config, prompt, show, opener)


async def _played(config: RunConfig, prompt: str, show: Show, opener: Opener) -> int:
    async with opener(config, show.publisher) as session:
        if config.model is None and session.local:
            show.notes.say("lastcall: no model is named and no provider configured: the embedded model answers.")
        result = await with_signals(session, session.go_on if config.unfinished else lambda: session.run(prompt))
        show.result(result, show.stage(session.stage))
        return show.delivered(exit_code(result.outcome, config.profile))


async def with_signals(session: Session, run: Callable[[], Awaitable[TerminalResult]]) -> TerminalResult:
    """The run's result, with SIGINT, SIGTERM and SIGHUP as events of the run.

    One more after a second ends the process at once, also while somebody's validator holds the loop.
    """
    loop = asyncio.get_running_loop()
    first_at: float | None = None

    def hear(number: int, _frame: object) -> None:
        nonlocal first_at
        now = time.monotonic()
        if first_at is not None and now - first_at > AGAIN_S:
            os._exit(128 + number)
        if first_at is not None:
            return
        first_at = now
        event = Interrupted(ENDING[signal.Signals(number)], Uuid(new_uuid()))
        loop.call_soon_threadsafe(session.driver.post, event)

    before = {number: signal.signal(number, hear) for number in heard()}
    try:
        return await run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_flags(args: Args, show: Show, environment: Mapping[str, str]) -> None:
    if show.profile is Profile.NATIVE and "CLAUDE_CODE_ENTRYPOINT" not in environment:
        refuse_contradictions(args)
    if show.profile is Profile.COMPAT and show.format == "stream-json" and not args.on("verbose") and args.on("print"):
        raise LastcallError("When using --print, --output-format=stream-json requires --verbose")


def _compat_words(error: LastcallError) -> str:
    match error:
        case NotASchema() | SchemaTooBig() if not error.message.startswith("--json-schema"):
            return f"--json-schema is not a valid JSON Schema: {error.message}"
        case _:
            return error.message


def _explain(config: RunConfig, notes: Notes) -> None:
    if config.contract is None:
        return
    from lastcall.cli.explain import explain_lines  # noqa: PLC0415 -- only when asked for

    for line in explain_lines(config.contract):
        notes.error(line)
