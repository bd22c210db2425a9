import type { VNode } from "./preact.js";
type Template = (parts: TemplateStringsArray, ...values: unknown[]) => VNode;
declare const htm: { bind(make: unknown): Template };
export default htm;
