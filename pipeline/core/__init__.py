"""Vocabulary and decisions: no sockets, processes, files of the system or models."""
