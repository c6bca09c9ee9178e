"""What starts jobs when something happens: a file is dropped, a job ends, a run fails or is lost.

What a job runs stands in ``jobs``. State is kept in the catalog and in Dagster's runs, never in a cursor.
"""
