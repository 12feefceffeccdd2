"""What people see: progress, tables, timelines. Reads, never decides."""
