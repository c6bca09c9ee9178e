"""The HTTP service over the latest published generation; knows the library, never Dagster."""
