/** Tests whether `text` is valid for BOXYARD_HOSTS: a host name, or `*.` and a host name, without scheme and port. */
export function isHostPattern(text: string): boolean {
  return text.length <= 253 && PATTERN.test(text)
}

/** The error text for a setting with an invalid host pattern. */
export const HOSTS_EXPECTED = 'host names such as api.example.org or *.example.org, separated by commas'

const PATTERN = /^(\*\.)?[a-z0-9_][a-z0-9_-]{0,62}(\.[a-z0-9_][a-z0-9_-]{0,62})*$/i
