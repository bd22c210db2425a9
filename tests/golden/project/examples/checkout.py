"""Example: fill a cart and check out."""

from shop.app import create_app

app = create_app()
app.cart_of("session").add_item("lamp", 1000)
receipt = app.checkout("session", card="4111")
