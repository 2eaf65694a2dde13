"""How a run goes on: workers, progress, and what finished tasks leave on disk."""
