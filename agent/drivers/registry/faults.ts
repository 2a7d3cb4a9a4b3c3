import { ServiceError } from '../../../shared/errors.ts'
import { invalidRequest } from '../../../shared/validate.ts'

/** That there can be no base of an image, for a reason that a client can do something about. */
export function imageFault(detail: string): ServiceError {
  return invalidRequest([{ pointer: '/image', detail }])
}

/** That a registry, as the client names it, did not do its part. */
export function registryAway(registry: string, cause: unknown): ServiceError {
  return new ServiceError('internal', `The registry ${registry} did not answer, or broke off; try again later.`, {
    cause,
  })
}

/** What an answer of a registry that is no success means. */
export function registryAnswerFault(registry: string, status: number): ServiceError {
  if (status === 400 || status === 404) return imageFault('the registry has no such image')
  if (status === 401 || status === 403) {
    return imageFault('the registry has no such image, or does not give it to everybody')
  }
  if (status === 429) {
    const detail = `The registry ${registry} was asked too often; try again later.`
    return new ServiceError('rate_limited', detail, { headers: { 'Retry-After': '60' } })
  }
  return registryAway(registry, new Error(`the registry answered ${status}`))
}
