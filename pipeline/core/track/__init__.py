"""Things with identity: from what moves and what the classifier sees to tracks, one a thing. Pure."""
