import { ServiceError } from './errors.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS } from './routes.ts'

/** The operation that a request names, with its path parameters decoded but not yet validated. */
export interface Match {
  operation: Operation
  params: Record<string, string>
}

/**
 * Finds the operation of `method` and the raw path. HEAD counts as GET.
 * @throws ServiceError `route_not_found`, or `method_not_allowed` with an `Allow` header
 */
export type Matcher = (method: string, pathname: string) => Match

/** Creates a matcher of only these operations. */
export function createMatcher(operations: readonly Operation[]): Matcher {
  const routesByLength = groupByLength(operations)
  return (method, pathname) => matchRoute(routesByLength, method, pathname)
}

/** Matches the operations of the whole table. */
export const matchOperation: Matcher = (method, pathname) => matchRoute(ROUTES_BY_LENGTH, method, pathname)

function matchRoute(routesByLength: ReadonlyMap<number, Route[]>, method: string, pathname: string): Match {
  const segments = pathname.split('/', SEGMENTS_MAX).slice(1)
  const wanted = method === 'HEAD' ? 'GET' : method
  const allowed: string[] = []
  for (const route of routesByLength.get(segments.length) ?? []) {
    if (!route.segments.every((segment, i) => segment.isParam || segment.text === segments[i])) continue
    if (route.operation.method === wanted) return { operation: route.operation, params: paramsOf(route, segments) }
    allowed.push(route.operation.method)
  }
  if (allowed.length === 0) throw new ServiceError('route_not_found', 'There is no such route.')
  const allow = [...new Set(allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed)].sort().join(', ')
  throw new ServiceError('method_not_allowed', `This route supports ${allow}.`, { headers: { Allow: allow } })
}

interface Route {
  operation: Operation
  segments: { isParam: boolean; text: string }[]
  paramCount: number
}

function paramsOf(route: Route, segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {}
  route.segments.forEach((segment, i) => {
    if (segment.isParam) params[segment.text] = decodeSegment(segments[i] ?? '')
  })
  return params
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new ServiceError('route_not_found', 'The path is not valid percent-encoding.', { cause })
  }
}

function routeOf(operation: Operation): Route {
  const segments = operation.path
    .split('/')
    .slice(1)
    .map((text) => (text.startsWith('{') ? { isParam: true, text: text.slice(1, -1) } : { isParam: false, text }))
  return { operation, segments, paramCount: segments.filter(({ isParam }) => isParam).length }
}

function groupByLength(operations: readonly Operation[]): ReadonlyMap<number, Route[]> {
  // Literal segments precede parameters at the same place: `exec/ws` is not an exec named "ws".
  const routes = operations.map(routeOf).sort((one, other) => one.paramCount - other.paramCount)
  return Map.groupBy(routes, (route) => route.segments.length)
}

/** More than any route has, so that a path with thousands is never scanned. */
const SEGMENTS_MAX = 64
const ROUTES_BY_LENGTH = groupByLength(OPERATIONS)
