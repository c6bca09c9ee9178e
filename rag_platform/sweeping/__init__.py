"""A sweep on a wired system: documents of a set enter as a collection, variants become arms, work is planned.

What is measured and how stands in ``evaluation``; who runs it (Dagster, the command line) is not known here.
"""
