"""What encoders see of a deployment is what deployments have."""

from __future__ import annotations

from lastcall.providers import Deployment
from lastcall.wire.params import ModelParams


def test_a_deployment_has_every_setting_that_encoders_ask_for() -> None:
    asked = {name for name, member in vars(ModelParams).items() if isinstance(member, property)}
    assert asked
    assert asked <= set(Deployment.__struct_fields__)
