"""Expressions, loops and traces: what a function computes, as data.

Knows neither who prints nor who compiles it. May import ``errors``.
"""
