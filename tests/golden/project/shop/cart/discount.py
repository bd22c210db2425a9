"""Discounts: vouchers and percentages."""

from dataclasses import dataclass


@dataclass
class Discount:
    """A percentage off the total."""

    code: str
    percent: int

    def apply(self, amount):
        """The amount after the discount, rounded down to whole cents."""
        return amount * (100 - self.percent) // 100


def discount_for(code, vouchers):
    """Look up a voucher code, ignoring case."""
    for voucher in vouchers:
        if voucher.code.lower() == code.lower():
            return voucher
    return None
