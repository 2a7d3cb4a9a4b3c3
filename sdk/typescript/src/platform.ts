/** Whether this is Node.js, or has its modules, as Bun and Deno do: headers can be sent with a WebSocket, and bodies streamed. */
export function isNode(): boolean {
  return typeof process === 'object' && typeof process.versions?.node === 'string'
}
