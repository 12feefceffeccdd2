"""Processes, sockets, signals: the effects that join stages."""
