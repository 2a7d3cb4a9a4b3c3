/** A line of a service's log, parsed for the process that started the service. */
export interface LogLine {
  message: string
  /** For a user who waits. */
  isProgress: boolean
  /** The service now accepts requests. */
  isReady: boolean
  isError: boolean
  /** Address of the service, if the line has it. */
  url: string | null
  port: number | null
}

/** Parses one line of JSON log. Any other line, such as a stack trace of Node.js, yields only a message. */
export function parseLogLine(line: string): LogLine {
  const fields = parseObject(line)
  if (fields === null) {
    return { message: line, isProgress: false, isReady: false, isError: false, url: null, port: null }
  }
  return {
    message: [fields['message'], fields['remedy']].filter((text) => typeof text === 'string').join(' '),
    isProgress: fields['progress'] === true,
    isReady: fields['ready'] === true,
    isError: fields['level'] === 'error',
    url: typeof fields['url'] === 'string' ? fields['url'] : null,
    port: typeof fields['port'] === 'number' ? fields['port'] : null,
  }
}

/** Splits a stream of text into lines. `push` returns complete lines without their ends. A line is at most 1 MiB. */
export function createLineSplitter(): { push(text: string): string[]; rest(): string } {
  let pending = ''
  return {
    push: (text) => {
      const lines = (pending + text).split('\n')
      pending = lines.pop() ?? ''
      if (pending.length > MAX_LINE_CHARACTERS) lines.push(pending.slice(0, MAX_LINE_CHARACTERS))
      if (pending.length > MAX_LINE_CHARACTERS) pending = ''
      return lines
    },
    rest: () => pending,
  }
}

function parseObject(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return null
  }
}

const MAX_LINE_CHARACTERS = 1024 * 1024
