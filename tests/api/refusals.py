"""Every bad manifest, for two readers: the API server with the CRDs, and the models."""

from tests.api.refused_classes import CLASSES
from tests.api.refused_limits import LIMITS, VERIFY
from tests.api.refused_places import PLACES
from tests.api.refused_subtasks import SUBTASKS

REFUSALS = (*SUBTASKS, *VERIFY, *LIMITS, *PLACES, *CLASSES)
