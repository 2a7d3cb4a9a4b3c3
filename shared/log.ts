/** Fields of a log line, with JSON values. Must hold no secrets. Values in the form of a secret are redacted. */
export type LogFields = Record<string, unknown>

/** A structured logger. `child` adds fields to every line. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  child(fields: LogFields): Logger
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface JsonLoggerOptions {
  level: LogLevel
  /** Receives one line without its line feed. */
  write(line: string): void
  /** Milliseconds since the epoch. */
  now(): number
}

/** Creates a logger of JSON lines: `time`, `level`, `message`, then the fields, redacted. */
export function createJsonLogger(options: JsonLoggerOptions, bound: LogFields = {}): Logger {
  const log = (level: LogLevel, message: string, fields: LogFields = {}): void => {
    if (LEVELS[level] < LEVELS[options.level]) return
    const time = new Date(options.now()).toISOString()
    options.write(JSON.stringify({ time, level, message: redactText(message), ...redact({ ...bound, ...fields }) }))
  }
  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
    child: (fields) => createJsonLogger(options, { ...bound, ...fields }),
  }
}

/** Returns a copy of `value` with secrets replaced, by the name of their key or by their shape. Depth ≤ 8. */
export function redact<T>(value: T): T {
  return redactValue(value, 0) as T
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (value instanceof Error) return redactError(value, depth)
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : value
  if (depth >= MAX_DEPTH) return '[deep]'
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      SECRET_KEY.test(key) && item !== null ? REDACTED : redactValue(item, depth + 1),
    ]),
  )
}

function redactError(error: Error, depth: number): unknown {
  const { name, message, stack, cause } = error
  return {
    name,
    message: redactText(message),
    stack: stack === undefined ? undefined : redactText(stack),
    ...(cause === undefined || depth >= MAX_DEPTH ? {} : { cause: redactValue(cause, depth + 1) }),
  }
}

function redactText(text: string): string {
  return text.replace(JWT_SHAPE, REDACTED).replace(BEARER_SHAPE, `$1${REDACTED}`).replace(QUERY_SHAPE, `$1${REDACTED}`)
}

const LEVELS: Record<LogLevel, number> = { debug: 10, info: 20, warn: 30, error: 40 }
const REDACTED = '[redacted]'
const MAX_DEPTH = 8
const SECRET_KEY =
  /^(authorization|cookie|set-cookie|token|secret|password|environment|env|stdin|private_?key|x-boxyard-signature)$/i
const JWT_SHAPE = /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g
/** Secrets in a request target: a ticket, variables of a command, and the code that ends a sign-in. */
const QUERY_SHAPE = /([?&](?:ticket|env|code)=)[^&\s"']*/g
const BEARER_SHAPE = /\b(bearer\s+)[^\s"']+/gi
