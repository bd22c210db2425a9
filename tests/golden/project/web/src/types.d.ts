export declare function fetchCart(baseUrl: string): Promise<unknown>;
export declare function formatPrice(cents: number, currency?: string): string;
