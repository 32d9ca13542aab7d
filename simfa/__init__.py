"""Sim-FA: an event-driven cycle simulation of FlashAttention-3 on a whole GPU (paper, sections 4 and 5)."""
