"""Lines on standard output, in any locale."""

from __future__ import annotations

import os
import subprocess
import sys


def test_lines_are_utf_8_in_any_locale_and_nothing_raises():
    code = "from lastcall.cli.say import say; say('größe \\u2603'); say('half \\ud83d')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert ran.stdout == "größe \u2603\nhalf \\ud83d\n".encode()
