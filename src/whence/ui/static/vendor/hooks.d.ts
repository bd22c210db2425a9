export type Setter<T> = (next: T | ((before: T) => T)) => void;
export declare function useState<T>(first: T | (() => T)): [T, Setter<T>];
export declare function useEffect(work: () => void | (() => void), seen?: readonly unknown[]): void;
export declare function useLayoutEffect(work: () => void | (() => void), seen?: readonly unknown[]): void;
export declare function useMemo<T>(make: () => T, seen: readonly unknown[]): T;
export declare function useCallback<T>(work: T, seen: readonly unknown[]): T;
export declare function useRef<T>(first: T): { current: T };
