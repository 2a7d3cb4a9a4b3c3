/**
 * Bounds for how clients speak HTTP with front and agent, and for the resources that clients of the front share. `GET /v1/config` publishes
 * them.
 */
export const HTTP_BOUNDS = {
  /** Unanswered requests of one connection. The server closes a connection with more. */
  requestsAhead: 8,
  /** Time in which a client must read something of an answer, in ms. */
  unreadMs: 60_000,
  /** Answers of one listener that stay in memory because their clients do not read them. Each counts for at least 16 KiB. */
  unreadBytes: 128 * 1024 ** 2,
  /** Fields of all objects in a JSON body. Twice the variables of an environment. */
  jsonFields: 1_024,
  /** Fields of objects and elements of arrays in a JSON body. Twice the arguments of a command. */
  jsonValues: 8_192,
  /** Parameters of a query, each argument of a WebSocket's command counted. */
  queryParameters: 1_024,
} as const

/** Bounds of the front. */
export const FRONT_BOUNDS = {
  /** Bodies in its memory until their requests are answered. */
  bodyBytes: 64 * 1024 ** 2,
  /** Bodies up to this size do not count. Smaller than in the agent, because there can be many more connections. */
  smallBodyBytes: 16 * 1024,
  /** Memory that a streamed body counts for, for pieces that the agent has not accepted yet. */
  streamedBodyBytes: 512 * 1024,
  /** Maximum body that is read before its ticket is checked. */
  ticketBodyBytes: 64 * 1024,
  /** Requests to the agent at once, for each kind. Requests with possibly long answers are separate. */
  requestsAtOnce: 512,
  /** Limits of refusals without a verified token: per second and at once for one source address, and waiting in total. */
  refusalsPerSecond: 100,
  refusalsBurst: 1_000,
  refusalsWaiting: 2_048,
} as const
