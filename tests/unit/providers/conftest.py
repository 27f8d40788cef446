"""Fixtures of the transports' tests."""

from local_tools import engine

__all__ = ["engine"]
