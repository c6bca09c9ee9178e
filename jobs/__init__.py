"""Which assets run together, over which ranges of keys, when, and on whose claim.

What an asset does stands in ``assets``; what starts a job when something happens in ``sensors``.
"""

from rag_platform.privacy import keep_private

keep_private()  # before Dagster is imported: it reads the environment then
