// Enough of the library's types to check what is written against it.
export interface Body {
  index?: number;
  x: number;
  y: number;
  vx?: number;
  vy?: number;
  fx?: number | null;
  fy?: number | null;
}
export type Value<T> = number | ((one: T, place: number, all: T[]) => number);
export interface Force {
  (alpha: number): void;
}
export interface Link<N extends Body> {
  source: N;
  target: N;
}
export interface LinkForce<N extends Body, L extends Link<N>> extends Force {
  distance(distance: Value<L>): this;
  strength(strength: Value<L>): this;
  iterations(count: number): this;
}
export interface ManyBodyForce<N extends Body> extends Force {
  strength(strength: Value<N>): this;
  theta(theta: number): this;
  distanceMax(distance: number): this;
}
export interface CollideForce<N extends Body> extends Force {
  radius(radius: Value<N>): this;
  strength(strength: number): this;
  iterations(count: number): this;
}
export interface PositionForce<N extends Body> extends Force {
  strength(strength: Value<N>): this;
}
export interface Simulation<N extends Body> {
  stop(): this;
  tick(count?: number): this;
  alpha(): number;
  alpha(alpha: number): this;
  alphaMin(): number;
  alphaMin(alpha: number): this;
  alphaDecay(decay: number): this;
  velocityDecay(decay: number): this;
  force(name: string, force: Force | null): this;
}
export declare function forceSimulation<N extends Body>(nodes: N[]): Simulation<N>;
export declare function forceLink<N extends Body, L extends Link<N>>(links: L[]): LinkForce<N, L>;
export declare function forceManyBody<N extends Body>(): ManyBodyForce<N>;
export declare function forceCollide<N extends Body>(radius?: Value<N>): CollideForce<N>;
export declare function forceX<N extends Body>(x?: Value<N>): PositionForce<N>;
export declare function forceY<N extends Body>(y?: Value<N>): PositionForce<N>;
