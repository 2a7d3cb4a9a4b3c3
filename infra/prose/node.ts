/** A node of a parsed module. */
export type Node = Readonly<Record<string, unknown>> & { type: string; start: number; end: number }

export function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && 'start' in value
  )
}
