/** Bounds of how clients speak HTTP with front and agent, and of what the front holds for all; `GET /v1/config` publishes them. */
export const HTTP_BOUNDS = {
  /** Requests of one connection that are not answered yet; with more it is closed. */
  requestsAhead: 8,
  /** Time in which a client takes something of an answer, in ms. */
  unreadMs: 60_000,
  /** Answers of one listener that are in memory, since their clients do not take them: each counts for 16 KiB at least. */
  unreadBytes: 128 * 1024 ** 2,
  /** Fields of all objects in a JSON body: twice the variables of an environment. */
  jsonFields: 1_024,
  /** Fields of objects and elements of arrays in a JSON body: twice the arguments of a command. */
  jsonValues: 8_192,
  /** Parameters of a query, each argument of a WebSocket's command counted. */
  queryParameters: 1_024,
} as const

/** Bounds of the front. */
export const FRONT_BOUNDS = {
  /** Bodies in its memory until their requests are answered. */
  bodyBytes: 64 * 1024 ** 2,
  /** A body up to this size is not counted: less than in the agent, since there may be many more connections. */
  smallBodyBytes: 16 * 1024,
  /** Memory that a streamed body counts for: pieces of which the agent has taken none yet. */
  streamedBodyBytes: 512 * 1024,
  /** A body that is read before a ticket is checked. */
  ticketBodyBytes: 64 * 1024,
  /** Requests to the agent at once, of each kind: those whose answers may be long are apart. */
  requestsAtOnce: 512,
  /** Refusals of one source address without a verified token, a second, at once, and of all addresses that wait for theirs. */
  refusalsPerSecond: 100,
  refusalsBurst: 1_000,
  refusalsWaiting: 2_048,
} as const
