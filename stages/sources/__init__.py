"""Where pictures come from: files, streams, devices, a drawing."""
