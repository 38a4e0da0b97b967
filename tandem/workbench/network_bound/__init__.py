"""A lower bound of a network's cycles on a machine with its memory, resource by resource."""

from tandem.workbench.network_bound.bound import NetworkBound, Resource, network_bound
from tandem.workbench.network_bound.traffic import Schedules

__all__ = ["NetworkBound", "Resource", "Schedules", "network_bound"]
