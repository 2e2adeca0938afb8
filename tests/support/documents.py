"""What tests look for in the documents that an output was given, without reading them as JSON."""

import re

SEQUENCE = re.compile(rb'"etw":\{[^}]*"sequence":(\d+)')
OWN = b'"provider":{"name":"etwship"'


def sequence_of(document):
    """The number of an event; None for the agent's own events."""
    found = None if OWN in document else SEQUENCE.search(document)
    return found and int(found[1])
