"""Any sequence of good, bad, late, cancelled and too many requests leaves a server as it was: V1 to V6."""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from glassformer.serving import replies
from tests.serving.proofs import words_that_copy
from tests.serving.running import Running, copier, wait_until

LIMIT = 6
WORDS = st.integers(0, 39)


def count_of_open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a listing, not paths


class Visitors(RuleBasedStateMachine):
    """Clients that come and go in any order."""

    server: Running
    words: list[str]

    def __init__(self) -> None:
        super().__init__()
        self._pool = ThreadPoolExecutor(12)
        self._asked: list[tuple[str, Future[httpx.Response]]] = []
        self._files, self._threads = count_of_open_files(), threading.active_count()

    @rule(word=WORDS, beam=st.sampled_from([1, 4]))
    def ask(self, word: int, beam: int) -> None:
        """V1, V5: one answer, the right one, whatever else goes on."""
        text = self.words[word]
        self._asked.append((text, self._pool.submit(self.server.post, "/v1/translate", text=text, beam=beam)))

    @rule(words=st.lists(WORDS, min_size=8, max_size=12))
    def ask_too_much(self, words: list[int]) -> None:
        for word in words:
            self.ask(word, 1)

    @rule(body=st.sampled_from([b"{", b'{"text": 1}', b'{"text": "a", "beam": 0}', b"\xff"]))
    def ask_badly(self, body: bytes) -> None:
        reply = self.server.client.post(
            "/v1/translate", content=body, headers={"Content-Type": "application/json"}
        )

        assert reply.status_code in (400, 422, 429)  # 429: while the queue is full nothing is read
        replies.ProblemReply.model_validate_json(reply.content)  # V4

    @rule(word=WORDS)
    def hang_up(self, word: int) -> None:
        body = f'{{"text": "{self.words[word]}", "beam": 8}}'.encode()
        length = f"Content-Length: {len(body)}"
        head = self.server.head("POST /v1/translate HTTP/1.1", "Content-Type: application/json", length)
        with self.server.socket() as connection:
            connection.sendall(head + body)

    @rule(word=WORDS, seconds=st.sampled_from([1e-4, 0.01]))
    def be_impatient(self, word: int, seconds: float) -> None:
        """V6: an answer in time, or a refusal soon after."""
        reply = self.server.post("/v1/translate", text=self.words[word], timeout=seconds)

        assert reply.status_code in (200, 429, 504)

    @invariant()
    def queue_is_bounded(self) -> None:
        """V2."""
        assert 0 <= self.server.worker.n_waiting <= LIMIT

    def teardown(self) -> None:
        """V1 and V3: everybody was answered once, and nothing is left."""
        for text, asked in self._asked:
            reply = asked.result(120)
            assert reply.status_code in (200, 429), reply.text
            if reply.status_code == 200:
                found = replies.TranslateReply.model_validate_json(reply.content)
                assert [each.text for each in found.translations] == [text]
        self._pool.shutdown()
        worker = self.server.worker
        wait_until(lambda: worker.n_open == worker.n_running == worker.n_waiting == 0, 60)
        # The native engine may have started a thread for each core, and keeps it.
        wait_until(lambda: threading.active_count() <= self._threads + (os.cpu_count() or 1), 60)
        wait_until(lambda: count_of_open_files() <= self._files + 40, 60)  # connections that are kept alive


def test_a_server_is_as_it_was_after_anything() -> None:
    with Running({"copy": copier()}, limits={"max_queue": LIMIT}) as server:
        Visitors.server, Visitors.words = server, words_that_copy(40, 2)
        server.text(Visitors.words[0])
        run_state_machine_as_test(
            Visitors,
            settings=settings(
                max_examples=8,
                stateful_step_count=10,
                deadline=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
