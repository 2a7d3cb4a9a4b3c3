/**
 * Returns whether this is Node.js or a platform with its modules, such as Bun and Deno. They can send headers with a WebSocket, and stream
 * bodies.
 */
export function isNode(): boolean {
  return typeof process === 'object' && typeof process.versions?.node === 'string'
}
