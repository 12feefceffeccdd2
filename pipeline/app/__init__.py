"""What a command, a console or a script asks for, as values: nothing in here prints or parses a command line."""
