"""Show results to people and programs: progress, tables, timelines, JSON. Views only print."""
