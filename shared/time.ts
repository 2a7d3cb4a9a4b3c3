/** Formats a time in milliseconds since the epoch as RFC 3339 in UTC, with milliseconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}
