"""``rag``: the platform on the command line.

stdout is data, stderr is talk. Exit code 0: done; 1: an error of the platform, or a document that could
not be ingested; 2: bad usage; 130: interrupted. Each command stands in a module of
this package: it reads its options, calls the library and renders (``render``). Everything heavy is imported
by the command that needs it.
"""

from rag_platform.cli.app import app, main

__all__ = ["app", "main"]
