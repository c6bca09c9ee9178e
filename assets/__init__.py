"""The graph as Dagster assets, their checks, partitions and resource.

Each body turns partition keys into a call of the library and a report into metadata. How documents are
read, cut, embedded or published is decided in ``rag_platform``; when they are, in ``jobs`` and ``sensors``.
"""

from rag_platform.privacy import keep_private

keep_private()  # before Dagster is imported: it reads the environment then
