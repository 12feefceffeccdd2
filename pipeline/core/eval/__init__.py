"""How well events tell what was there: what people saw in recordings, compared with incidents and their things."""
