"""Talks to the payment provider."""

import time


class PaymentError(Exception):
    """The provider refused the card."""


class PaymentGateway:
    """Charges and refunds cards, retrying when the provider is busy."""

    def __init__(self, config):
        self.retries = config["retries"]
        self.timeout = config["timeout"]

    def charge(self, card, amount):
        """Charge a card; failed attempts are retried with exponential backoff."""
        for attempt in range(self.retries):
            try:
                return self._send("charge", card, amount)
            except ConnectionError:
                time.sleep(backoff(attempt))
        raise PaymentError(card)

    def refund(self, receipt):
        """Give the money back."""
        return self._send("refund", receipt, 0)

    def _send(self, action, target, amount):
        return {"action": action, "target": target, "amount": amount, "timeout": self.timeout}


def backoff(attempt):
    """Seconds to wait before the next attempt: 1, 2, 4, ..."""
    return 2**attempt
