"""`lastcall view`: a session, an envelope, a batch's output or a probe as a page, served on loopback or written to a file.

Must not go in here: what was named (`cli.view_targets`), what the pages show (`lastcall.viewer`, `batches.report`,
`probe.page`).
"""

from __future__ import annotations

import os

import click

from lastcall.cli.report import check_report, write_file
from lastcall.cli.say import say
from lastcall.cli.streams import say as tell
from lastcall.cli.view_targets import ToFollow, ToShow, choose
from lastcall.errors import BadConfig
from lastcall.journal.sessions import Sessions
from lastcall.viewer.listing import list_sessions
from lastcall.viewer.serving import Shelf, ViewServer


@click.command("view")
@click.argument("target", required=False, metavar="[SESSION|ENVELOPE|BATCH OUTPUT|PROBE]")
@click.option("--export", metavar="FILE", help="Write the page to a file instead of serving it.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Serve there; a free port if left out.")
@click.option("--no-open", is_flag=True, help="Do not open the browser; the address is on stdout either way.")
@click.option("--all", "everywhere", is_flag=True, help="List the sessions of every directory, not of this one alone.")
def view(target: str | None, *, export: str | None, port: int, no_open: bool, everywhere: bool) -> int:
    """Shows a run, a batch or a probe in the browser; without a name, the list of runs.

    A session is named by its id or the beginning of it, all others by their file. A run that goes on is followed.
    """
    chosen = None if target is None else choose(target)
    if export is None:
        return _serve(_server(chosen, port, everywhere=everywhere), opens=not no_open)
    if chosen is None:
        raise BadConfig("one run, batch or probe can be written to a file", hint="Name it.", where="--export")
    check_report(export, "--export")
    write_file(export, chosen.page().encode())
    return 0


def _server(chosen: ToFollow | ToShow | None, port: int, *, everywhere: bool) -> ViewServer:
    store = Sessions(os.environ.get("LASTCALL_STATE_DIR", ""))
    cwd = None if everywhere else os.getcwd()  # noqa: PTH109 -- as journals name it
    followed = chosen if isinstance(chosen, ToFollow) else None

    def path_of(session: str) -> str | None:
        if followed is not None and session == followed.session_id:
            return followed.path
        try:
            file = store.find(session)
        except BadConfig:
            return None
        return None if file is None else file.path

    shelf = Shelf(lambda: list_sessions(store, cwd), path_of, chosen.page if isinstance(chosen, ToShow) else None)
    try:
        return ViewServer(shelf, session="" if followed is None else followed.session_id, port=port)
    except OSError as error:
        words = os.strerror(error.errno) if error.errno else str(error)
        raise BadConfig(f"the page cannot be served: {words}", hint="Choose another port.", where="--port") from error


def _serve(server: ViewServer, *, opens: bool) -> int:
    say(server.url)
    tell("lastcall: the page is served until Ctrl-C")
    if opens:
        import webbrowser  # noqa: PLC0415 -- only where a browser is wanted

        if not webbrowser.open(server.url):
            tell("lastcall: no browser could be opened; open the address above")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.stopping.set()
        server.server_close()
    return 0
