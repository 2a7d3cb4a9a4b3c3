import type { Seen } from '../facts.ts'

/** Looks at something. Keeps the reason if that fails. */
export async function look<T>(read: () => T | Promise<T>): Promise<Seen<T>> {
  try {
    return { value: await read() }
  } catch (error) {
    return { hidden: reasonOf(error) }
  }
}

/** Returns the result, or `fallback`. */
export function seenOr<T>(seen: Seen<T>, fallback: T): T {
  return 'value' in seen ? seen.value : fallback
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(/\s+/g, ' ').slice(0, REASON_CHARACTERS)
}

const REASON_CHARACTERS = 300
