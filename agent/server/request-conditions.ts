import type { RequestConditions } from '../handlers/common/call.ts'

/** The conditions in `headers`, whose names are in lower case. A pure function. */
export function conditionsOf(headers: Readonly<Record<string, string>>): RequestConditions {
  const longest = ANSWER_BYTES.exec(headers.prefer ?? '')?.[1]
  return {
    ifMatch: headers['if-match'] ?? null,
    ifNoneMatch: headers['if-none-match'] ?? null,
    range: headers.range ?? null,
    accept: headers.accept ?? null,
    lastEventId: headers['last-event-id'] ?? null,
    answerBytesMax: longest === undefined ? null : Number(longest),
  }
}

// A preference (RFC 7240) of our own: a function says what it can return.
const ANSWER_BYTES = /(?:^|[,; ])answer-bytes-max=(\d{1,15})(?:$|[,; ])/
