import { formatPrice } from "./format";

export interface CartItem {
  product: string;
  price: number;
  quantity: number;
}

/** Fetch the cart of the current session from the backend. */
export async function fetchCart(baseUrl: string): Promise<CartItem[]> {
  const response = await fetch(`${baseUrl}/cart`, { credentials: "include" });
  if (!response.ok) {
    throw new Error(`cart request failed: ${response.status}`);
  }
  return response.json();
}

export function cartTotal(items: CartItem[]): string {
  return formatPrice(items.reduce((sum, item) => sum + item.price * item.quantity, 0));
}
