"""A model's name and the settings of a run to a provider.

Names: `anthropic:NAME`, `openai:NAME`, `local[:standard|:small]`, `scripted:FILE`, the reference's aliases, and plain
names of the two vendors' own models. The environment comes in as a mapping: nobody reads it here.

Must not go in here: reading the environment or files other than a script (`cli.config`), what models are (`.models`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lastcall.errors import BadConfig
from lastcall.nouns.profile import Profile
from lastcall.providers import Deployment, Provider, models
from lastcall.providers.anthropic import messages_service
from lastcall.providers.capability import CapabilityMemory
from lastcall.providers.clock import Clock
from lastcall.providers.fallback import (
    ANY_TRIGGER,
    OVERLOADS_BEFORE_FALLBACK,
    RECORDED_TRIGGERS,
    REFUSAL,
    FallbackProvider,
    Link,
)
from lastcall.providers.flow import FREE, Flow
from lastcall.providers.http import HttpProvider
from lastcall.providers.retries import RULES, RetryRules
from lastcall.providers.service import Settings
from lastcall.wire.json import LIMITS, CallLimits

DEFAULT_RETRIES: Final = 10
FORBIDDEN: Final = "LASTCALL_FORBID_REQUESTS"
"""The variable that test runs set, so that no test asks a real model unawares."""
FORMS: Final = "anthropic:NAME, openai:NAME, local, local:small, scripted:FILE, or an alias such as haiku"


class ModelSettings(Struct, frozen=True, kw_only=True):
    """How models are asked in a run. What is `None` is left to the model's default.

    `memory` is what deployments refused lately (`None`: only this process remembers), `progress` says whether partial
    messages are wanted, `agent` is what services are told of who asks, `clock` what waiting goes by (scripts do not wait),
    `notice` tells people of a download (`None`: standard error does). `flow` is what the requests of conversations that
    share the provider pass, `shares_prefix` says that they begin alike and mostly end with their first reply.
    """

    profile: Profile = Profile.NATIVE
    max_tokens: int | None = None
    thinking_tokens: int | None = None
    thinking_display: str | None = None
    temperature: float | None = None
    seed: int | None = None
    effort: str | None = None
    max_retries: int | None = None
    connect_timeout_s: float | None = None
    idle_timeout_s: float | None = None
    limits: CallLimits | None = None
    progress: bool = True
    memory: CapabilityMemory | None = None
    agent: str = "lastcall"
    clock: Clock | None = None
    notice: Callable[[str], None] | None = None
    flow: Flow = FREE
    shares_prefix: bool = False


def choose_provider(
    model: str | None,
    env: Mapping[str, str],
    settings: ModelSettings | None = None,
    *,
    fallbacks: Sequence[str] = (),
) -> Provider:
    """The provider for `model`, with the models of `fallbacks` standing by in their order.

    Without a name: what `ANTHROPIC_MODEL` says, the default of a service whose key is there, or the embedded model.
    Raises `BadConfig` for a name that means nothing, for a key or a file that is not there; `MissingExtra` where an
    optional part is needed that is not installed.
    """
    settings = settings or ModelSettings()
    name = model or default_model(env)
    chain = _chain(name, fallbacks, env, settings)
    links: list[Link] = []
    for index, (link_name, triggers, categories) in enumerate(chain):
        later = frozenset().union(*(after for _, after, _ in chain[index + 1 :]))
        rules = _retry_rules(settings.profile, later)
        links.append(Link(_open(link_name, env, settings, rules), triggers, categories))
    if len(links) == 1:
        return links[0].provider
    return FallbackProvider(links, profile=settings.profile, clock=settings.clock)


def default_model(env: Mapping[str, str]) -> str:
    """The name of the model that answers when none is given. Raises `BadConfig` where a service leaves it open."""
    if env.get("ANTHROPIC_MODEL"):
        return env["ANTHROPIC_MODEL"]
    if env.get("ANTHROPIC_API_KEY") or env.get("ANTHROPIC_AUTH_TOKEN"):
        return models.DEFAULT_ALIAS
    if env.get("OPENAI_MODEL"):
        return f"openai:{env['OPENAI_MODEL']}"
    if env.get("OPENAI_API_KEY") or env.get("OPENAI_BASE_URL"):
        hint = "Say --model openai:NAME, or --model local for the embedded model."
        raise BadConfig(
            "OpenAI's service is configured, but not which of its models to ask.", hint=hint, where="--model"
        )
    return "local"


# -- chains ---------------------------------------------------------------------------------------------------------

_ChainItem = tuple[str, frozenset[str], frozenset[str] | None]


def _chain(name: str, fallbacks: Sequence[str], env: Mapping[str, str], settings: ModelSettings) -> list[_ChainItem]:
    """The names in order, what makes each take over, and for which refusals; a model stands in the chain once."""
    compat = settings.profile is Profile.COMPAT
    nothing: frozenset[str] = frozenset()
    items: list[_ChainItem] = [(name, nothing, None)]
    full = models.full_name(name.removeprefix("anthropic:"), env)
    if compat and full in models.REFUSAL_FALLBACK:
        items.append((models.REFUSAL_FALLBACK[full], frozenset({REFUSAL}), models.REFUSAL_CATEGORIES))
    triggers = RECORDED_TRIGGERS if compat else ANY_TRIGGER
    seen = {_resolved(name, env)}
    for fallback in fallbacks:
        if _resolved(fallback, env) not in seen:
            seen.add(_resolved(fallback, env))
            items.append((fallback, triggers, None))
    return items


def _resolved(name: str, env: Mapping[str, str]) -> str:
    return models.full_name(name.removeprefix("anthropic:"), env)


def _retry_rules(profile: Profile, later: frozenset[str]) -> RetryRules:
    """The profile's rules, less patient where another model would take over."""
    rules = RULES[profile]
    if "overloaded" in later:
        rules = replace(rules, overloads=OVERLOADS_BEFORE_FALLBACK)
    if "model_not_found" in later:
        rules = replace(rules, plain_after_not_found=False)
    return rules


# -- single models --------------------------------------------------------------------------------------------------


def _open(name: str, env: Mapping[str, str], settings: ModelSettings, rules: RetryRules) -> Provider:
    kind, _, rest = name.partition(":")
    if env.get(FORBIDDEN) and kind != "scripted":
        hint = "Use a scripted model, or mark the test with `real_requests`."
        raise BadConfig(f"real requests are forbidden here, and {name!r} would make one.", hint=hint, where=FORBIDDEN)
    match kind:
        case "anthropic":
            return _open_anthropic(rest, env, settings, rules)
        case "openai":
            return _open_openai(rest, env, settings, rules)
        case "local":
            return _open_local(rest or "standard", env, settings)
        case "scripted":
            return _open_scripted(rest, settings, rules)
        case _ if models.is_claude(name):
            return _open_anthropic(name, env, settings, rules)
        case _ if models.is_openai(name):
            return _open_openai(name, env, settings, rules)
        case _ if env.get("ANTHROPIC_BASE_URL"):
            return _open_anthropic(name, env, settings, rules)
        case _ if env.get("OPENAI_BASE_URL"):
            return _open_openai(name, env, settings, rules)
        case _:
            raise BadConfig(f"there is no model {name!r}.", hint=f"Write {FORMS}.", where="--model")


def _open_anthropic(name: str, env: Mapping[str, str], settings: ModelSettings, rules: RetryRules) -> Provider:
    base_url = env.get("ANTHROPIC_BASE_URL", "")
    key, token = _secret(env, "ANTHROPIC_API_KEY"), _secret(env, "ANTHROPIC_AUTH_TOKEN")
    full = models.full_name(name, env)
    _check(name, full, bool(key or token or base_url), "ANTHROPIC_API_KEY", "anthropic")
    deployment = _deployment("anthropic", full, base_url, settings, models.most_tokens(full))
    service = messages_service(base_url, api_key=key, auth_token=token, agent=settings.agent)
    dialect = models.messages_dialect(full)
    return HttpProvider(
        deployment, dialect, service, settings=_transport(settings, rules), memory=settings.memory, clock=settings.clock
    )


def _open_openai(name: str, env: Mapping[str, str], settings: ModelSettings, rules: RetryRules) -> Provider:
    from lastcall.providers.openai import completions_service  # noqa: PLC0415 -- a codec that no other service needs

    base_url, key = env.get("OPENAI_BASE_URL", ""), _secret(env, "OPENAI_API_KEY")
    _check(name, name, bool(key or base_url), "OPENAI_API_KEY", "openai")
    deployment = _deployment("openai", name, base_url, settings, 0)
    service = completions_service(base_url, api_key=key, agent=settings.agent)
    dialect = models.completions_dialect(own=not base_url)
    return HttpProvider(
        deployment, dialect, service, settings=_transport(settings, rules), memory=settings.memory, clock=settings.clock
    )


def _open_local(variant: str, env: Mapping[str, str], settings: ModelSettings) -> Provider:
    from lastcall.providers.local import MAX_TOKENS, LocalSettings, open_local  # noqa: PLC0415 -- an optional part
    from lastcall.providers.local_cache import FOLDER_VARIABLE, models_folder  # noqa: PLC0415

    chosen = LocalSettings(
        max_tokens=_or(settings.max_tokens, MAX_TOKENS), temperature=settings.temperature or 0.0, seed=settings.seed
    )
    models_here = models_folder(env.get(FOLDER_VARIABLE))
    return open_local(variant, models=models_here, notice=settings.notice, settings=chosen, clock=settings.clock)


def _open_scripted(file: str, settings: ModelSettings, rules: RetryRules) -> Provider:
    from lastcall.providers.scripted import load_script, scripted_provider  # noqa: PLC0415 -- for tests only

    if not file:
        raise BadConfig("a scripted model needs its script.", hint="Write scripted:FILE.", where="--model")
    script = load_script(Path(file))
    retries = _or(settings.max_retries, DEFAULT_RETRIES)
    return scripted_provider(script, settings=_transport(settings, rules), max_retries=retries)


def _check(name: str, full: str, has_access: bool, variable: str, kind: str) -> None:
    if not full:
        raise BadConfig(f"{kind}: lacks the model's name.", hint=f"Write {kind}:NAME.", where="--model")
    if not has_access:
        hint = f"Set {variable}, or use --model local for the embedded model."
        raise BadConfig(f"the model {name} needs {variable}, which is not set.", hint=hint, where="--model")


def _secret(env: Mapping[str, str], variable: str) -> str:
    """A key as it can stand in a header: files and shells leave line ends and quotes around it."""
    value = env.get(variable, "").strip()
    if value and not (value.isascii() and value.isprintable() and '"' not in value and " " not in value):
        raise BadConfig(
            "the key holds characters that no key has.", hint="Look for quotes and line breaks.", where=variable
        )
    return value


def _deployment(kind: str, name: str, base_url: str, settings: ModelSettings, most: int) -> Deployment:
    chosen = {
        "max_tokens": _or(settings.max_tokens, most),
        "thinking_tokens": settings.thinking_tokens,
        "thinking_display": settings.thinking_display,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "effort": settings.effort,
        "max_retries": settings.max_retries,
        "connect_timeout_s": settings.connect_timeout_s,
        "idle_timeout_s": settings.idle_timeout_s,
        "shares_prefix": settings.shares_prefix,
    }
    return replace(
        Deployment(kind, name, base_url), **{key: value for key, value in chosen.items() if value is not None}
    )


def _transport(settings: ModelSettings, rules: RetryRules) -> Settings:
    return Settings(
        profile=settings.profile,
        retry_rules=rules,
        limits=settings.limits or LIMITS[settings.profile],
        progress=settings.progress,
        flow=settings.flow,
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
