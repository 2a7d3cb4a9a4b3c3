import { ServiceError } from '../../../shared/errors.ts'
import { type HttpRequest, headerOf, splitTarget } from '../../../shared/http/messages.ts'
import { hostNameOf } from '../../core/common/urls.ts'

/** A parsed request for a page. */
export interface PageRequest {
  request: HttpRequest
  requestId: string
  host: string | null
  pathname: string
  /** The raw query. */
  search: string
  clientAddress: string
  header(name: string): string | undefined
}

/** Parses a request. */
export function pageRequestOf(request: HttpRequest, requestId: string): PageRequest {
  const header = (name: string): string | undefined => headerOf(request.headers, name)
  const { clientAddress } = request
  return { request, requestId, host: hostNameOf(header('host')), ...splitTarget(request.target), clientAddress, header }
}

/** Returns true if, by `Sec-Fetch-Site`, a page of another site or of another box caused the request. */
export function isForeign({ header }: PageRequest): boolean {
  const site = header('sec-fetch-site') ?? 'same-origin'
  return site !== 'same-origin' && site !== 'none'
}

/** Returns true for a request that only reads. */
export function isRead({ method }: HttpRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** @throws ServiceError `method_not_allowed` */
export function checkMethod({ method }: HttpRequest, allowed: readonly string[]): void {
  if (allowed.includes(method)) return
  const headers = { Allow: allowed.join(', ') }
  throw new ServiceError('method_not_allowed', `This page supports ${headers.Allow}.`, { headers })
}
