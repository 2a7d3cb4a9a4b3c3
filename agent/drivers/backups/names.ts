/**
 * Splits an object's name into its segments.
 * @throws Error for an invalid name, since names come from records and from the store, and are not trusted
 */
export function segmentsOf(name: string): string[] {
  const segments = name.split('/')
  if (segments.length <= 8 && segments.every((segment) => SEGMENT.test(segment))) return segments
  throw new Error(`not the name of an object: ${JSON.stringify(name.slice(0, 200))}`)
}

const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/
