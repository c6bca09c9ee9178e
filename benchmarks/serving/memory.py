"""Whether a service that has answered 50,000 questions holds more memory than one that has answered 10,000.

Run by ``make soak``; it prints a row of ``docs/benchmarks.md``, and fails where memory grew. Half of the
questions are new, with a word that was never asked before, half repeat; the caches are full before 10,000.
Generations are published all the while.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from client import Asked, ended, load
from corpus import N_DOCUMENTS
from service import platform_of, publish, publishing, serving

MODEL, PARTS = "hashing", 10
GROWTH = 0.05
"""Of the last four fifths: what allocators and numbers of more digits may take."""


def measured(n_requests: int) -> list[float]:
    """Return the megabytes after each tenth of so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        home, held = Path(folder), []
        publish(platform_of(home, MODEL), 1, list(range(N_DOCUMENTS)))
        with serving(home, MODEL) as service:
            publisher = publishing(home, MODEL, 86_400)
            try:
                for part in range(PARTS):
                    for repeated in (False, True):
                        n = n_requests // PARTS // 2
                        asked = Asked(service.port, 16, n_requests=n, start=part * n, repeated=repeated)
                        if faults := ended(load(asked)).faults:
                            raise SystemExit(f"{len(faults)} faults: {faults[:3]}")
                    held.append(service.rss_mb())
                    print(
                        json.dumps({"requests": (part + 1) * n * 2, "megabytes": round(held[-1], 1)}),
                        flush=True,
                    )
                if publisher.poll() is not None:
                    raise SystemExit("the publisher ended")
            finally:
                publisher.terminate()
                publisher.wait(timeout=30)
    return held


def main() -> None:
    """Measure, tell, and say whether it is flat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=50_000)
    held = measured(parser.parse_args().requests)
    growth = max(held[2:]) / held[1] - 1
    print(f"| {' | '.join(f'{one:.0f}' for one in held)} |")
    print(f"growth from the second tenth to the highest after it: {growth:.1%}")
    if growth > GROWTH:
        raise SystemExit(f"memory grew by {growth:.1%}, more than {GROWTH:.0%}")


if __name__ == "__main__":
    main()
