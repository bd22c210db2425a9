// Enough of the library's types to check what is written against it.
export type VNode = object;
export type Child = VNode | string | number | boolean | null | undefined | Child[];
export declare function h(type: unknown, props: unknown, ...children: unknown[]): VNode;
export declare function render(node: Child, parent: Element): void;
export declare const Fragment: unknown;
