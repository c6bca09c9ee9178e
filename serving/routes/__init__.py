"""The routes: they validate, call the service off the event loop, and shape the answer; nothing else."""
