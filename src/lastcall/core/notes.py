"""Events whose content becomes a record as it is: the copying, apart from the rules.

Must not go in here: anything that depends on the state.
"""

from __future__ import annotations

from lastcall.core import events as e
from lastcall.core import records as r
from lastcall.nouns.ids import MessageId


def reply_closed(event: e.ReplyEnded, *, cut: bool, counted: bool) -> r.ReplyClosed:
    """A complete reply."""
    return r.ReplyClosed(
        event.request,
        event.message_id,
        event.stop_reason,
        event.usage,
        event.stop_sequence,
        event.stop_details,
        event.cost_usd,
        event.took_ms,
        cut,
        counted,
        event.window,
    )


def retry_noted(event: e.Retrying, retracted: tuple[MessageId, ...]) -> r.RetryNoted:
    """A retry of the transport."""
    return r.RetryNoted(
        event.request,
        event.attempt,
        event.max_retries,
        event.delay_ms,
        event.failure,
        retracted,
        event.from_model,
        event.usage,
        event.cost_usd,
    )


def fallback_noted(event: e.FellBack, retracted: tuple[MessageId, ...]) -> r.FallbackNoted:
    """Another model's turn."""
    return r.FallbackNoted(
        event.request,
        event.from_model,
        event.to_model,
        event.trigger,
        event.uuid,
        retracted,
        event.usage,
        event.cost_usd,
        event.details,
    )


def request_lost(event: e.RequestFailed, *, goes_on: bool) -> r.RequestLost:
    """A request without a complete reply."""
    return r.RequestLost(event.request, event.failure, event.uuid, event.took_ms, event.usage, goes_on)


def feature_dropped(event: e.ChannelChanged, retracted: tuple[MessageId, ...]) -> r.FeatureDropped:
    """A request without a refused feature."""
    return r.FeatureDropped(event.request, event.feature, event.detail, retracted)
