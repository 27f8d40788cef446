"""Texts that are secrets by their form: keys of well-known services, tokens, private keys, assignments of a secret.

Each form is searched in time linear in the text: no form can begin inside of a run of its own characters, and what has no
end in sight is bounded. No form takes a quotation mark or a backslash, so that JSON stays JSON when it is replaced.

Must not go in here: values that are secret because somebody said so (`wire.redaction`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_ESCAPED: Final = r"(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})"
"""After an escape of JSON, whose last letter is no letter of the text."""
_FRONT: Final = rf"(?:(?<![A-Za-z0-9_-])|{_ESCAPED})"
_FORMS: Final = {
    "provider-key": (
        r"(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}"
        r"|(?:gsk|xai|hf|r8|pplx|nvapi|tgp|csk|fw)[-_][A-Za-z0-9_-]{20,}"
    ),
    "stripe": r"(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}",
    "google": r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}",
    "aws": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "github": r"gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}",
    "gitlab": r"gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{20,}",
    "slack": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    "npm": r"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
}
_BEARER: Final = r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{8,}+={0,2}|(?<=[Bb]asic )[A-Za-z0-9+/]{12,}+={0,2}"
_SLACK_HOOK: Final = r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/_-]{16,}"
_URL: Final = r"(?<=://)[^/\s:@\"'\\<>]{0,256}:[^/\s@\"'\\<>]{1,256}(?=@)"
_SEARCH: Final = "|".join(
    (
        *(f"{_FRONT}(?P<{kind.replace('-', '_')}>{form})" for kind, form in _FORMS.items()),
        f"(?P<bearer>{_BEARER})",
        f"(?P<slack_webhook>{_SLACK_HOOK})",
        f"(?P<url_password>{_URL})",
    )
)

_NAMES_OF_SECRETS: Final = r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)$"
_ASSIGNED: Final = (
    rf"(?:(?<![A-Za-z0-9_])|{_ESCAPED})"
    r"(?P<name>[A-Z][A-Z0-9_]{2,63})(?P<is>[ \t]{0,4}=[ \t]{0,4}\\?[\"']?)"
    r"(?P<value>[A-Za-z0-9_./+=:@%~^!#&*?,-]{8,}+)(?!\()"
)
_AWS_ASSIGNED: Final = (
    r"(?P<name>aws_secret_access_key|aws_session_token)(?P<is>[ \t]{0,4}[=:][ \t]{0,4}\\?[\"']?)"
    r"(?P<value>[A-Za-z0-9/+=]{20,}+)"
)
_BEGIN: Final = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BODY: Final = r"[A-Za-z0-9+/=\s\\:,.()-]{0,32768}"
_END: Final = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


@cache
def _compiled(form: str) -> re.Pattern[str]:
    """Compiled when it is first needed: that takes two milliseconds of a start, and most runs look for none of them."""
    return re.compile(form)


def marked(kind: str) -> str:
    """What stands in the place of a secret."""
    return f"[redacted:{kind}]"


def without_known(text: str) -> str:
    """The text with everything replaced that has the form of a secret."""
    if "PRIVATE KEY" in text:
        text = _without_private_keys(text)
    text = _compiled(_SEARCH).sub(lambda match: marked((match.lastgroup or "").replace("_", "-")), text)
    if "=" in text:
        text = _compiled(_ASSIGNED).sub(_assignment, text)
    if "aws_se" in text:
        text = _compiled(_AWS_ASSIGNED).sub(lambda match: f"{match['name']}{match['is']}{marked('aws')}", text)
    return text


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret, as names go."""
    return _compiled(_NAMES_OF_SECRETS).search(name.upper()) is not None


def _assignment(match: re.Match[str]) -> str:
    if not is_secret_name(match["name"]):
        return match[0]
    return f"{match['name']}{match['is']}{marked('assignment')}"


def _without_private_keys(text: str) -> str:
    """Each key from its first line to its last; one without a last line up to where it can be no key any more."""
    kept: list[str] = []
    at = 0
    while (begin := _compiled(_BEGIN).search(text, at)) is not None:
        body = _compiled(_BODY).match(text, begin.end())
        reach = body.end() if body is not None else begin.end()
        end = _compiled(_END).search(text, begin.end(), reach)
        kept += [text[at : begin.start()], marked("private-key")]
        at = end.end() if end is not None else max(reach, begin.end())
    return "".join((*kept, text[at:]))
