"""Vision models that ship with the product, and what reads them."""
