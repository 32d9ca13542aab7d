"""Closed-form estimators: SimFA-python (the paper's equations and a roofline), GenZ-style, LLM-Viewer-style."""
