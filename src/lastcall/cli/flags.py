# ruff: noqa: E501 -- a table is read best with one row a line
"""The flags of `lastcall -p`, declared once: parsing, help and documentation come from this table.

Names and meanings are the reference's where it has them; `ours` marks lastcall's own. Flags that the reference has and
lastcall does not are listed in `REFUSED`, so that they are refused by name and never ignored.

Must not go in here: reading files or the environment (`cli.config`).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Flag(Struct, frozen=True):
    """One flag.

    `metavar` `""` marks a switch. `many`: takes several values (`--tools A B`, also `A,B`, also repeated). `choices`
    bounds the value. `optional`: the value may be left out. `group` is the heading in the help.
    """

    name: str
    metavar: str = ""
    help: str = ""
    group: str = "Run"
    short: str = ""
    many: bool = False
    repeat: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()
    ours: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def dest(self) -> str:
        """The key under which the value is kept."""
        return self.name.removeprefix("--").replace("-", "_")


_FORMATS: Final = ("text", "json", "stream-json")
_MODES: Final = ("acceptEdits", "bypassPermissions", "default", "dontAsk", "plan")

FLAGS: Final[tuple[Flag, ...]] = (
    Flag("--print", help="Run the prompt and print the result (the only mode there is).", short="-p"),
    Flag(
        "--json-schema",
        "<schema>",
        "The contract: JSON text, @file.json, @file.yaml, - for stdin, or module:Type.",
        "Contract",
    ),
    Flag("--rule", "<expr>", "A rule beyond the schema, in CEL; may be given several times.", "Contract", repeat=True, ours=True),
    Flag("--check", "<command>", "A command that gets the object on stdin; non-zero rejects it.", "Contract", repeat=True, ours=True),
    Flag("--check-timeout", "<time>", "The longest that a --check may take (default 60s).", "Contract", ours=True),
    Flag("--no-format", help="Take `format` as an annotation, not as a check.", group="Contract", ours=True),
    Flag("--strict-values", help="Take warnings about suspicious values as problems.", group="Contract", ours=True),
    Flag("--decline", help="Offer the decline tool (on by default).", group="Contract", ours=True),
    Flag("--no-decline", help="Do not offer the decline tool.", group="Contract", ours=True),
    Flag("--salvage", help="Take an object that stands in prose, if it passes; it is marked so.", group="Contract", ours=True),
    Flag("--max-attempts", "<n>", "Finishing calls before the run ends (default 5).", "Limits", ours=True),
    Flag("--max-turns", "<turns>", "Replies of the model before the run ends.", "Limits"),
    Flag("--max-budget-usd", "<amount>", "US dollars before the run ends.", "Limits"),
    Flag("--max-budget-tokens", "<n>", "Tokens, read and written and cached, before the run ends.", "Limits", ours=True),
    Flag("--max-repeats", "<n>", "Replies in a row that may only repeat earlier calls with the same answers (default 10; 0: any number).", "Limits", ours=True),
    Flag("--compact-after-turns", "<n>", "Leave old turns out of the history every n replies.", "Limits", ours=True),
    Flag("--no-compact", help="End the run when its history outgrows the model's window.", group="Limits", ours=True),
    Flag("--deadline", "<time>", "Time before the run ends: 90s, 5m, 1h.", "Limits", ours=True),
    Flag("--model", "<model>", "provider:name, or an alias: local, haiku, sonnet, opus.", "Model"),
    Flag("--fallback-model", "<models>", "Models that take over when the first is unavailable: a,b.", "Model"),
    Flag("--channel", "<channel>", "Where the object comes from: the finishing tool or the provider's JSON format.", "Model",
         choices=("auto", "tool", "native"), ours=True),
    Flag("--effort", "<level>", "How much the model thinks: low, medium, high, max.", "Model"),
    Flag("--max-thinking-tokens", "<n>", "Budget of extended thinking; 0 turns it off.", "Model"),
    Flag("--system-prompt", "<prompt>", "The system prompt.", "Model"),
    Flag("--append-system-prompt", "<prompt>", "Text after the system prompt.", "Model"),
    Flag("--output-format", "<format>", "What stdout shows.", "Output", choices=_FORMATS),
    Flag("--input-format", "<format>", "What stdin holds.", "Output", choices=("text", "stream-json")),
    Flag("--include-partial-messages", help="Raw stream events too (stream-json).", group="Output"),
    Flag("--include-hook-events", help="Hook events too (stream-json).", group="Output"),
    Flag("--replay-user-messages", help="User messages are shown again (stream-json).", group="Output"),
    Flag("--verbose", help="All frames (json: an array of them).", group="Output", short="-V"),
    Flag("--report", "<file>", "The envelope goes to this file too.", "Output", ours=True),
    Flag("--explain", help="Before the run: which keyword is enforced by what.", group="Output", ours=True),
    Flag("--quiet", help="Nothing on stderr but errors.", group="Output", short="-q", ours=True),
    Flag("--tools", "<tools>", 'The tools on offer: "", default (all; with a local model Read), or names.', "Tools", many=True),
    Flag("--allowedTools", "<rules>", "Calls that are allowed: Read, Bash(git log:*).", "Tools", many=True, aliases=("--allowed-tools",)),
    Flag("--disallowedTools", "<rules>", "Calls that are denied.", "Tools", many=True, aliases=("--disallowed-tools",)),
    Flag("--permission-mode", "<mode>", "What is allowed without a rule.", "Tools", choices=_MODES),
    Flag("--permission-prompt-tool", "<tool>", "stdio: the client decides what is left open.", "Tools", choices=("stdio",)),
    Flag("--dangerously-skip-permissions", help="Allow everything (same as --permission-mode bypassPermissions).", group="Tools"),
    Flag("--sandbox", help="Bash under bubblewrap: no network, only the workspace can be changed.", group="Tools", ours=True),
    Flag("--add-dir", "<dirs>", "Folders beside the working directory that tools may use.", "Tools", many=True),
    Flag("--mcp-config", "<configs>", "MCP servers: JSON text or files.", "Tools", many=True),
    Flag("--strict-mcp-config", help="Only the servers of --mcp-config.", group="Tools"),
    Flag("--settings", "<file-or-json>", "Settings (hooks): a file or JSON text.", "Session"),
    Flag("--setting-sources", "<sources>", "Settings files to read: user, project, local. None by default.", "Session"),
    Flag("--bare", help="Read no settings, memory or plugins (so it is by default).", group="Session"),
    Flag("--session-id", "<uuid>", "The session's id.", "Session"),
    Flag("--resume", "<session>", "Go on with a session; without a prompt, its unfinished run is continued.", "Session", short="-r"),
    Flag("--continue", help="Go on with the latest session of this directory.", group="Session", short="-c"),
    Flag("--fork-session", help="Resume under a new id.", group="Session"),
    Flag("--resume-session-at", "<message>", "Resume up to this message.", "Session"),
    Flag("--no-session-persistence", help="Write no journal.", group="Session"),
    Flag("--profile", "<profile>", "native (never lies) or compat (as the reference).", "Session",
         choices=("native", "compat", "compat-2.1.235", "compat-2.1.332"), ours=True),
    Flag("--redact", "<pattern>", "Keep secrets of known formats (and what matches, may be repeated) out of everything but the object.", "Session", repeat=True, optional=True, ours=True),
    Flag("--version", help="Print the version.", group="Run", short="-v"),
    Flag("--help", help="Print this help.", group="Run", short="-h"),
)  # fmt: skip

REFUSED: Final = frozenset({
    "--agents", "--agent", "--betas", "--chrome", "--debug", "--debug-file", "--disable-slash-commands", "--file",
    "--from-pr", "--ide", "--init", "--init-only", "--maintenance", "--plugin-dir", "--remote", "--teleport",
    "--thinking", "--thinking-display", "--worktree", "--tmux", "--no-chrome", "--allow-dangerously-skip-permissions",
})  # fmt: skip
"""Flags of the reference that lastcall does not have."""

BY_NAME: Final[dict[str, Flag]] = {
    alias: flag for flag in FLAGS for alias in (flag.name, flag.short, *flag.aliases) if alias
}
