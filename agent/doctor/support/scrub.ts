/** Takes secrets out of a text. */
export type RedactText = (text: string) => string

/**
 * Returns a function that replaces `secrets` (of at least 6 characters) wherever they occur. It finds them also as JSON, JSON in a string
 * of JSON, URLs, base64 and hexadecimal write them. It also replaces all text that has the shape of a secret. Takes time by the length of
 * the text, however many secrets there are. Pure.
 */
export function createRedactor(secrets: Iterable<string>): RedactText {
  const byStart = new Map<string, Bucket>()
  for (const secret of new Set([...secrets].flatMap(formsOf))) {
    if (secret.length < MIN_CHARACTERS) continue
    const start = secret.slice(0, MIN_CHARACTERS)
    const bucket = byStart.get(start) ?? { secrets: new Set(), lengths: [] }
    bucket.secrets.add(secret)
    byStart.set(start, bucket)
  }
  for (const bucket of byStart.values())
    bucket.lengths = [...new Set([...bucket.secrets].map(({ length }) => length))].sort((one, other) => other - one)
  return (text) => scrubShapes(scrubKnown(text, byStart))
}

/** Secrets that begin alike, and their lengths, the longest first. */
interface Bucket {
  secrets: Set<string>
  lengths: number[]
}

function formsOf(secret: string): string[] {
  const encoded = (['base64', 'base64url', 'hex'] as const).map((encoding) => Buffer.from(secret).toString(encoding))
  const quoted = JSON.stringify(secret).slice(1, -1)
  const written = [secret, quoted, JSON.stringify(quoted).slice(1, -1), encodeURIComponent(secret.toWellFormed())]
  return secret.length < MIN_CHARACTERS ? [] : [...written, ...encoded.map((text) => text.replace(/=+$/, ''))]
}

function scrubKnown(text: string, byStart: ReadonlyMap<string, Bucket>): string {
  const parts: string[] = []
  let from = 0
  for (let i = 0; i + MIN_CHARACTERS <= text.length; i++) {
    const bucket = byStart.get(text.slice(i, i + MIN_CHARACTERS))
    const length = bucket?.lengths.find((each) => bucket.secrets.has(text.slice(i, i + each)))
    if (length === undefined) continue
    parts.push(text.slice(from, i), REDACTED)
    from = i + length
    i = from - 1
  }
  return parts.join('') + text.slice(from)
}

function scrubShapes(text: string): string {
  return SHAPES.reduce((scrubbed, [shape, replacement]) => scrubbed.replace(shape, replacement), text)
}

const MIN_CHARACTERS = 6
const REDACTED = '[redacted]'
/**
 * Matches keys in PEM, whole or cut off, and tokens. Matches credentials in headers, URLs, settings and JSON, and key ids of S3. Each
 * repetition that can begin at many places is bounded, so that no text takes time by the square of its length.
 */
const SHAPES: readonly [RegExp, string][] = [
  [/-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^]*?(-----END \1PRIVATE KEY-----|$)/g, REDACTED],
  [/(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/=]{16,76}(?:\\n|\s){1,8}){1,100}-----END [A-Z ]*PRIVATE KEY-----/g, REDACTED],
  [/\beyJ[\w-]{8,256}\.[\w-]+\.[\w-]*/g, REDACTED],
  [/\b(bearer|basic)(\s{1,8})[\w+/=.~-]{6,}/gi, `$1$2${REDACTED}`],
  [/([?&](?:ticket|env|code|token|signature|x-amz-[a-z-]+)=)[^&\s"']*/gi, `$1${REDACTED}`],
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@:"']{0,256}:[^\s/@"']{1,1024}@/gi, `$1${REDACTED}@`],
  [/\b((?:set-)?cookie["']?\s{0,8}[:=]\s{0,8}["']?)[^"'\n]+/gi, `$1${REDACTED}`],
  [
    /((?:secret|password|passwd|passphrase|credential|private[_-]?key|api[_-]?key|access[_-]?key(?:[_-]id)?|[_-]token|client-key-data)\\{0,8}["']?\s{0,8}[:=]\s{0,8})(?:"(?:[^"\\\n]|\\.)*"|\\{1,8}"[^"\n]*"|'[^'\n]*'|[^\s,;}"']+)/gi,
    `$1${REDACTED}`,
  ],
  [/("d\\{0,8}"\s{0,8}:\s{0,8})\\{0,8}"[^"\n]*"/g, `$1${REDACTED}`],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{12,}\b/g, REDACTED],
  [/^([ \t]*Environment=)(?:.*\\\n)*.*$/gm, `$1${REDACTED}`],
]
