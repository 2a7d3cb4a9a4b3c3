/** Defines the page globals that web console code uses, which are the origin and the local storage. */
export function definePageGlobals(origin: string): void {
  const kept = new Map<string, string>()
  const localStorage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  }
  const globals = { location: { origin }, localStorage }
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
}
