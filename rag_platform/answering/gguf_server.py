"""The process that serves one GGUF file: started by ``gguf`` by its path, and never imported.

It is a process of its own because a crash of the engine must not take the service down, and because the
engine's Cython cannot be in one process with that of some other packages. It imports nothing of the platform.
"""

from __future__ import annotations

import os
import select
import sys
import threading

__all__ = ["serve"]

_LOOK_S = 1.0
"""Seconds until the death of a parent is seen whose pipe a fork of it still holds."""


def serve(path: str, context: int, threads: int, parent: int) -> None:
    """Serve a file on a free port of this machine and write the address to stdout.

    Whoever calls needs the key that came through stdin: any page in a browser can reach a port of its
    machine.

    Args:
        path: The GGUF file.
        context: Tokens that prompt and answer may have together; 0: what the file says.
        threads: Threads that compute; 0: as many as the engine takes.
        parent: The process with which this one ends, however that one does.
    """
    key = os.read(0, 1_000).decode().strip()
    stdout = os.dup(1)
    os.dup2(2, 1)  # whatever the engine prints is talk
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path, asked.port = path, 0
    asked.n_ctx, asked.n_parallel = context, 1
    asked.ui, asked.endpoint_slots, asked.warmup, asked.offline = False, False, False, True
    asked.verbosity = 1  # errors alone
    asked.api_keys = [key]
    if threads:
        asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    try:
        server = xllamacpp.Server(asked)
    except RuntimeError as error:
        raise SystemExit(str(error)) from None
    os.write(stdout, f"{server.listening_address}\n".encode())
    threading.Event().wait()


def _end_with(parent: int) -> None:
    """End at once when the parent closes the pipe, and soon after it was killed."""
    while os.getppid() == parent and not select.select([sys.stdin], [], [], _LOOK_S)[0]:
        pass
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:]))
