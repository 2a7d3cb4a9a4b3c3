import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { invalidRequest } from '../../../shared/validate.ts'

/** Creates the error for an image that cannot become a base, for a reason that the client can act on. */
export function imageFault(detail: string): ServiceError {
  return invalidRequest([{ pointer: '/image', detail }])
}

/** Creates the error for a registry that did not answer, or closed the connection early. */
export function registryAway(registry: string, cause: unknown): ServiceError {
  return new ServiceError(
    'internal',
    `The registry ${registry} did not answer, or closed the connection. Retry later.`,
    {
      cause,
    },
  )
}

/** Maps the status of a registry's failed answer to an error. */
export function registryAnswerFault(registry: string, status: number): ServiceError {
  if (status === 400 || status === 404) return imageFault('the registry has no such image')
  if (status === 401 || status === 403) {
    return imageFault('the registry has no such image, or does not offer it without a login')
  }
  if (status === 429) {
    return refusal('rate_limited', [`The registry ${registry} was asked too often.`, 'Try again in a minute.'], {
      headers: { 'Retry-After': '60' },
    })
  }
  return registryAway(registry, new Error(`the registry answered ${status}`))
}
