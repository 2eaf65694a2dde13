"""Per-region statistics as named maps, and maps as files."""
