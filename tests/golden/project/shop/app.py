"""The web application: routes and start-up."""

from shop.cart.cart import Cart
from shop.config import load_config
from shop.payments.gateway import PaymentGateway


class App:
    """Answers requests."""

    def __init__(self, config):
        self.config = config
        self.gateway = PaymentGateway(config["payments"])
        self.carts = {}

    def cart_of(self, session_id):
        """The cart of a session, made when it is first asked for."""
        return self.carts.setdefault(session_id, Cart())

    def checkout(self, session_id, card):
        """Charge the card with the cart's total and empty the cart."""
        cart = self.cart_of(session_id)
        receipt = self.gateway.charge(card, cart.total())
        cart.clear()
        return receipt


def create_app(path="shop.yaml"):
    """An application with the configuration file at a path."""
    return App(load_config(path))
