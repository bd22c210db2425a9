import { cartTotal, type CartItem } from "../cart";

interface Props {
  items: CartItem[];
  onCheckout: () => void;
}

/** The button that starts the payment; disabled while the cart is empty. */
export function CheckoutButton({ items, onCheckout }: Props) {
  return (
    <button disabled={items.length === 0} onClick={onCheckout}>
      Pay {cartTotal(items)}
    </button>
  );
}
