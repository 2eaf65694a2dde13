"""Inference over subjects."""
