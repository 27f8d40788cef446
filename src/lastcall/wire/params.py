"""How a deployment is asked, as the encoders see it.

Must not go in here: what it accepts (`wire.dialect`), addresses, keys, time limits (`providers`).
"""

from __future__ import annotations

from typing import Protocol


class ModelParams(Protocol):
    """The settings of a deployment that stand in a request's body; `providers.Deployment` has them."""

    @property
    def model(self) -> str:
        """The model's name on the wire."""
        ...

    @property
    def max_tokens(self) -> int:
        """The bound on a reply's output."""
        ...

    @property
    def thinking_tokens(self) -> int | None:
        """The budget of extended thinking: `None` for the model's default, 0 for none."""
        ...

    @property
    def thinking_display(self) -> str | None:
        """How thinking is shown, in the Messages API's word."""
        ...

    @property
    def temperature(self) -> float | None:
        """`None` leaves it to the service."""
        ...

    @property
    def seed(self) -> int | None:
        """`None` leaves it to the service."""
        ...

    @property
    def effort(self) -> str | None:
        """`None` leaves it to the service."""
        ...

    @property
    def shares_prefix(self) -> bool:
        """Whether many conversations begin alike and mostly end with their first reply."""
        ...
