"""Compiled core model: events, warpgroup front end, TMA engines, tensor cores, CTA dispatch."""
