"""Faults between an operator and a real API server: what the sweep and the scenarios share."""
