"""How long it takes until something can begin: the import, the help, the first answer of a cold process.

Run ``python benchmarks/startup.py``; it prints a Markdown table for ``docs/benchmarks.md``: the best and the
median of several fresh processes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "`import rag_platform`": ["-c", "import rag_platform"],
    "`rag --help`": ["-m", "rag_platform.cli", "--help"],
    "`rag models`": ["-m", "rag_platform.cli", "models"],
    "nothing but Python": ["-c", "pass"],
}
RUNS = 7


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one fresh process."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Print the table."""
    print("| process | best | median |\n| --- | --- | --- |")
    for name, arguments in COMMANDS.items():
        runs = [seconds(arguments) for _ in range(RUNS)]
        print(f"| {name} | {min(runs):.2f} s | {statistics.median(runs):.2f} s |")


if __name__ == "__main__":
    main()
