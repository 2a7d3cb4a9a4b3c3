import type { KubeCall } from './call.ts'
import type { KubeAction } from './errors.ts'

/** Asks whether the account may do it: RBAC's own answer, which no rule of admission changes. */
export function reviewOf({ verb, resource, namespace }: KubeAction, group: string): KubeCall {
  const [name, subresource] = resource.split('/')
  const attributes = { namespace, verb, group, resource: name, ...(subresource ? { subresource } : {}) }
  return {
    verb: 'create',
    resource: 'selfsubjectaccessreviews',
    namespace: null,
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: attributes },
    },
    deadlineMs: REVIEW_MS,
  }
}

/** What a review says; what says nothing does not allow. */
export function isAllowed(review: unknown): boolean {
  const { status } = (review ?? {}) as { status?: { allowed?: boolean } }
  return status?.allowed === true
}

const REVIEW_MS = 5_000
