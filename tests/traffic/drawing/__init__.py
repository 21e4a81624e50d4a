"""Requests that are drawn at random. `cases.py` says what each module of this folder has."""
