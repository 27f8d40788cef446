"""Journals: what became true in a session, on the disk, step by step.

Must not go in here: anything but the package's modules.
"""
