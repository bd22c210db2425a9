"""The cart as it was before discounts. Kept for old sessions."""


class OldCart:
    """A list of product names."""

    def __init__(self):
        self.products = []

    def add_item(self, product):
        """Add a product to the cart."""
        self.products.append(product)
