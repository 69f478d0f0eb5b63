"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A machine may be busy with other things: how long an example takes says nothing about what it shows.
settings.register_profile("askback", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("askback")
