"""The event log: one author appends, every sink reads at its own pace; it survives kills and full disks."""
