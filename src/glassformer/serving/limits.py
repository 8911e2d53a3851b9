"""How much one client, and all of them together, may ask for."""

from typing import Annotated

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from glassformer.config import Strict


class Limits(Strict):
    """The limits of a server; ``GET /v1/models`` reports them."""

    max_header_bytes: PositiveInt = 16 * 1024
    """Request line and headers together, in bytes."""
    max_body_bytes: PositiveInt = 256 * 1024
    """The body of a request, in bytes."""
    max_json_depth: PositiveInt = 16
    """Lists and objects within each other."""
    max_json_digits: PositiveInt = 32
    """Characters of a number."""
    max_inputs: PositiveInt = 64
    """Texts of one request."""
    max_characters: PositiveInt = 5_000
    """Characters of a text, before and after it is normalised."""
    max_input_tokens: PositiveInt = 512
    """Tokens of a sentence; the model's own limit holds besides."""
    max_beam: PositiveInt = 8
    """Hypotheses of a beam search."""
    max_samples: PositiveInt = 8
    """Outputs drawn for one input."""
    max_output_tokens: PositiveInt = 1_024
    """Tokens that may be asked for; the model's own limit holds besides."""
    max_connections: PositiveInt = 256
    """Sockets open at the same time; one more is closed at once."""
    max_queue: PositiveInt = 128
    """Requests that wait."""
    max_queue_tokens: PositiveInt = 32_768
    """Input tokens that wait."""
    max_batch_tokens: PositiveInt = 4_096
    """Input tokens times hypotheses that are decoded side by side."""
    max_wait_ms: NonNegativeFloat = 5.0
    """How long an idle server waits for a second request before it begins with the first."""
    header_seconds: PositiveFloat = 5.0
    """Time for the headers of a request to arrive."""
    request_seconds: PositiveFloat = 10.0
    """Time for a whole request to arrive."""
    keep_alive_seconds: PositiveFloat = 10.0
    """How long a connection may be idle."""
    deadline_seconds: PositiveFloat = 30.0
    """Time from the arrival of a request to its answer; a client may ask for less."""
    drain_seconds: PositiveFloat = 30.0
    """Time for what is running to finish once the server is told to stop."""
    heartbeat_seconds: PositiveFloat = 15.0
    """A stream with nothing to say says so this often."""
    rate: NonNegativeFloat = 0.0
    """Requests per second for each key, or each address where there is no key; 0: any number."""
    burst: PositiveInt = 40
    """Requests that may come at once before the rate counts."""
    max_memory_share: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Share of the memory of this machine or container above which new work is refused."""
