"""An OpenAI-style server that judges by rules and fails as a test tells it: busy, broken, slow, malformed."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from local_server import listening

Body = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """One bad reply: a status with headers, a raw body, the content of an else good reply, or a delay."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    content: str | None = None
    delay_s: float = 0.0


BUSY = Fault(429, (("retry-after", "0"),))
BROKEN = Fault(500)
NO_BODY = Fault(raw=b'{"id": "1", "choi')
NO_JSON = Fault(content="मलाई थाहा छैन।")
CUT_OFF = Fault(content='{"verdicts": [{"verdict": "yes", "rea')
WRONG_SCHEMA = Fault(content='{"verdict": "maybe"}')
EMPTY = Fault(content="")


@dataclass
class JudgeServer:
    """Where it listens, what it was asked, and the faults that it has yet to make, first one first."""

    url: str
    bodies: list[Body] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    most_at_once: int = 0
    delay_s: float = 0.0
    verdict: str = "yes"
    knows_schemas: bool = True

    @property
    def n(self) -> int:
        """Requests so far."""
        return len(self.bodies)


def judged(body: Body, verdict: str = "yes") -> Body:
    """Return what a judge says that gives everything the same verdict, in the schema that is asked for."""
    schema = body["response_format"]["json_schema"]["schema"]
    prompt = body["messages"][-1]["content"]
    names = set(schema["properties"])
    if "rating" in names:
        return {"rating": 4, "reason": "अलि अनुवाद जस्तो"}
    if "truths" in names:
        return {"truths": ["कर मङ्सिरमा तिर्नुपर्छ"]}
    if "statements" in names:
        return {"statements": ["कर मङ्सिरमा तिर्नुपर्छ", "छुट १० प्रतिशत छ"]}
    if "claims" in names and "$defs" in schema:
        claims = [("कर मङ्सिरमा तिर्नुपर्छ", "yes"), ("छुट १० प्रतिशत छ", verdict)]
        return {"claims": [{"claim": c, "supported": v, "reason": "अङ्क फरक"} for c, v in claims]}
    if "claims" in names:
        return {"claims": ["कर मङ्सिरमा तिर्नुपर्छ", "छुट १० प्रतिशत छ"]}
    if "verdicts" in names:
        fields = next(iter(schema["$defs"].values()))["properties"]
        one = {name: {"verdict": verdict, "reason": "कारण", "statement": "कर"}[name] for name in fields}
        n = len(re.findall(r"\[Node|node \d|Node \d", prompt)) or 2
        return {"verdicts": [{**one, "verdict": "yes"}, *[one] * (n - 1)]}
    return {"reason": "कारण"}


@contextmanager
def judging(answer: Callable[[Body, str], Body] = judged) -> Iterator[JudgeServer]:
    """Serve until the block ends."""
    lock, now = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                now[0] += 1
                local.most_at_once = max(local.most_at_once, now[0])
                local.bodies.append(body)
                local.keys.append(self.headers.get("authorization", ""))
                fault = local.faults.pop(0) if local.faults else Fault()
            try:
                time.sleep(fault.delay_s or local.delay_s)
                self._reply(body, fault)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client has given up on a slow reply: that is what is tested
            finally:
                with lock:
                    now[0] -= 1

        def _reply(self, body: Body, fault: Fault) -> None:
            status = fault.status
            if "response_format" in body and not local.knows_schemas:
                status = 400
            if fault.raw is not None:
                raw = fault.raw
            elif status != 200:
                raw = json.dumps({"error": {"message": f"fault {status}"}}).encode()
            else:
                content = fault.content
                if content is None:
                    content = json.dumps(answer(body, local.verdict), ensure_ascii=False)
                raw = json.dumps(chat(content)).encode()
            self.send_response(status)
            for name, value in (("content-type", "application/json"), *fault.headers):
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        local = JudgeServer(f"{address}/v1")
        yield local


def chat(content: str) -> Body:
    """Return the body of a good reply."""
    message = {"role": "assistant", "content": content}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
