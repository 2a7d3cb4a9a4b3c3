import type { ServiceError } from '../../../shared/errors.ts'
import type { ToldBytes } from '../../../shared/http/messages.ts'
import type { StreamStep, ValueStream } from '../../core/common/value-streams.ts'

/** Encodes a stream as server-sent events, whose data are the values that `view` returns. Each step is one piece. */
export function encodeEventStream<T>(
  stream: ValueStream<T>,
  view: (value: T) => unknown,
): ToldBytes & AsyncIterator<Uint8Array> {
  let isBegun = false
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: async () => {
      if (!isBegun) {
        isBegun = true
        return { done: false, value: Buffer.from(RETRY) }
      }
      const step = await stream.next()
      if (step.done === true) return { done: true, value: undefined }
      try {
        return { done: false, value: Buffer.from(encodeStep(step.value, view)) }
      } catch (error) {
        await stream.return()
        throw error
      }
    },
    return: async () => {
      isBegun = true
      await stream.return()
      return { done: true, value: undefined }
    },
    lastPiece: (reason) => Buffer.from(encodeProblem(reason)),
  }
}

function encodeStep<T>(step: StreamStep<T>, view: (value: T) => unknown): string {
  switch (step.kind) {
    case 'values':
      return step.values.map(({ value, ...head }) => encodeEvent({ ...head, data: view(value) })).join('')
    case 'waiting':
      return `id: ${step.cursor}\n: still here\n\n`
    case 'failed':
      return encodeProblem(step.error, step.cursor)
  }
}

// Without a cursor the client keeps the last that it had.
function encodeProblem({ code, message: detail }: ServiceError, cursor: string | null = null): string {
  return encodeEvent({ cursor, name: 'problem', data: { code, detail } })
}

/** An event. Without a name it is a `message`. */
interface ServerSentEvent {
  cursor: string | null
  name?: string
  data: unknown
}

/** Encodes an event on one `data` line, since JSON has no line breaks. */
function encodeEvent({ cursor, name, data }: ServerSentEvent): string {
  const event = name === undefined ? '' : `event: ${name}\n`
  const id = cursor === null ? '' : `id: ${cursor}\n`
  return `${id}${event}data: ${JSON.stringify(data)}\n\n`
}

const RETRY = 'retry: 1000\n\n'
