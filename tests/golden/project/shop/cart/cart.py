"""The shopping cart."""

from dataclasses import dataclass, field


@dataclass
class Item:
    """A product with its price in cents and how many of it."""

    product: str
    price: int
    quantity: int = 1


@dataclass
class Cart:
    """What a customer is about to buy."""

    items: list = field(default_factory=list)
    discounts: list = field(default_factory=list)

    def add_item(self, product, price, quantity=1):
        """Add a product, or raise the quantity of one that is there."""
        for item in self.items:
            if item.product == product:
                item.quantity += quantity
                return
        self.items.append(Item(product, price, quantity))

    def remove_item(self, product):
        """Take a product out."""
        self.items = [item for item in self.items if item.product != product]

    def total(self):
        """The sum of all items in cents, after discounts."""
        amount = sum(item.price * item.quantity for item in self.items)
        for discount in self.discounts:
            amount = discount.apply(amount)
        return amount

    def clear(self):
        """Empty the cart."""
        self.items.clear()
