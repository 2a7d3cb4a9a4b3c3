import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'

/** Reason of a failed call. `invalid`: the object itself is invalid. `refused`: a rule of the cluster other than RBAC. */
export type KubeReason =
  | 'unreachable'
  | 'credentials'
  | 'forbidden'
  | 'refused'
  | 'quota'
  | 'missing'
  | 'exists'
  | 'conflict'
  | 'expired'
  | 'invalid'

/** A cause that an operator must fix, as the health report shows it. */
export interface KubeFault {
  code: string
  evidence: string
  remedy: string
}

/** A failed Kubernetes API call. It is the ServiceError that a client gets, with the reason for callers that can handle it. */
export class KubeError extends ServiceError {
  readonly reason: KubeReason
  /** Null if the cause is not in the deployment. */
  readonly fault: KubeFault | null

  constructor(reason: KubeReason, detail: string, options: { cause?: unknown; fault?: KubeFault } = {}) {
    super(CODES[reason], detail, { cause: options.cause })
    this.reason = reason
    this.fault = options.fault ?? null
  }
}

/** Returns true if `error` is a KubeError with this reason. */
export function isKubeError(error: unknown, reason: KubeReason): error is KubeError {
  return error instanceof KubeError && error.reason === reason
}

/** The requested action, in RBAC terms. */
export interface KubeAction {
  verb: 'get' | 'list' | 'watch' | 'create' | 'patch' | 'delete'
  /** Resource, such as `pods` or `pods/resize`. */
  resource: string
  /** Null for a cluster-scoped resource. */
  namespace: string | null
}

/** Untrusted Status object of a refused request. */
export interface KubeStatus {
  status: number
  reason: string
  message: string
  /** Kind in `details`, such as `namespaces`. */
  kind: string
}

/** Reads a Status object from a response body. */
export function readKubeStatus(status: number, body: unknown): KubeStatus {
  const { reason, message, details } = asRecord(body)
  const { kind } = asRecord(details)
  return { status, reason: asText(reason), message: asText(message).slice(0, MESSAGE_CHARACTERS), kind: asText(kind) }
}

/** Builds the error for no answer or an overloaded server. `what` completes "The cluster's API server …", without a host name. */
export function unreachableError(what: string, cause: unknown): KubeError {
  return new KubeError('unreachable', "The cluster's API server does not answer.", {
    cause,
    fault: {
      code: 'kubernetes_unreachable',
      evidence: `The cluster's API server ${what}.`,
      remedy: 'Start it, or correct the server in the kubeconfig. Boxes keep running.',
    },
  })
}

/** Builds the error for an action that RBAC denies the account. */
export function forbiddenError({ verb, resource, namespace }: KubeAction, cause: unknown): KubeError {
  const where = namespace === null ? '' : ` in namespace "${namespace}"`
  const what = `The agent is not allowed to ${verb} ${resource}${where}`
  return new KubeError('forbidden', `${what}. Grant it to its ServiceAccount.`, {
    cause,
    fault: {
      code: 'kubernetes_forbidden',
      evidence: `${what}.`,
      remedy: `Allow its ServiceAccount to "${verb}" "${resource}": apply the manifests of infra/kubernetes again.`,
    },
  })
}

/** Builds the error for any other unsuccessful answer. A 403 here comes from admission, not from RBAC. */
export function kubeRefusalError(action: KubeAction, refusal: KubeStatus): KubeError {
  const cause = new Error(`${action.verb} ${action.resource}: ${refusal.status} ${refusal.reason}: ${refusal.message}`)
  if (refusal.status === 401) return credentialsError(cause)
  if (refusal.status === 403) return admissionError(action, refusal, cause)
  if (refusal.status === 404 && refusal.kind === 'namespaces') return namespaceError(action, cause)
  // The server answers a path of a kind that it does not have with no Status object.
  if (refusal.status === 404 && refusal.reason === '') return kindError(action, cause)
  if (refusal.status === 404) return new KubeError('missing', 'The cluster has no such object.', { cause })
  if (refusal.status === 410) return new KubeError('expired', 'The cluster no longer knows that version.', { cause })
  if (refusal.status === 409 && refusal.reason === 'AlreadyExists') {
    return new KubeError('exists', 'The cluster already has an object with this name.', { cause })
  }
  if (refusal.status === 409)
    return new KubeError('conflict', 'The object changed during the request. Try again.', { cause })
  // A policy of the cluster that cannot be evaluated, as for a while after the server's start, is no fault of the object.
  if (refusal.status === 422 && refusal.message.includes('ValidatingAdmissionPolicy'))
    return admissionError(action, refusal, cause)
  const fault = {
    ...refusedFault(action, refusal),
    remedy: "The agent or a policy has a fault. Find it in the agent's log.",
  }
  return new KubeError('invalid', "The cluster rejects the request as invalid. The agent's log has the cause.", {
    cause,
    fault,
  })
}

function credentialsError(cause: Error): KubeError {
  return new KubeError('credentials', "The cluster does not accept the agent's credentials. They may have expired.", {
    cause,
    fault: {
      code: 'kubernetes_credentials',
      evidence: "The cluster's API server does not accept the agent's credentials. They may have expired.",
      remedy: 'Replace the token or certificate in the kubeconfig. The agent reads it again automatically.',
    },
  })
}

function admissionError(action: KubeAction, refusal: KubeStatus, cause: Error): KubeError {
  // Quotas and other rules share status and reason. Only the message tells them apart.
  if (refusal.message.includes('exceeded quota')) {
    const detail = `The cluster's quota for namespace "${action.namespace}" is used up.`
    const remedy = 'Raise the ResourceQuota of the namespace, or delete boxes.'
    const fault = { code: 'kubernetes_quota', evidence: detail, remedy }
    const wayOut = 'Delete boxes, or have the operator raise the ResourceQuota.'
    return new KubeError('quota', `${detail} ${wayOut}`, { cause, fault })
  }
  const what = action.resource.startsWith('pods') ? 'the pod of the box' : `a change of ${action.resource}`
  const detail = `A rule of the cluster refuses ${what}. The health report names it.`
  return new KubeError('refused', detail, { cause, fault: refusedFault(action, refusal) })
}

function namespaceError({ namespace }: KubeAction, cause: Error): KubeError {
  const detail = `The cluster has no namespace "${namespace}".`
  const remedy = 'Apply the manifests of infra/kubernetes, or correct BOXYARD_NAMESPACE.'
  return new KubeError('refused', detail, { cause, fault: { code: 'kubernetes_namespace', evidence: detail, remedy } })
}

function kindError({ resource }: KubeAction, cause: Error): KubeError {
  const detail = `The cluster has no resource type "${resource}".`
  const remedy = 'Apply the manifests of infra/kubernetes again. They define it.'
  return new KubeError('refused', detail, { cause, fault: { code: 'kubernetes_kind', evidence: detail, remedy } })
}

function refusedFault({ verb, resource }: KubeAction, { message }: KubeStatus): KubeFault {
  const isRuntimeClass = /RuntimeClass .*not found/.test(message)
  return {
    code: isRuntimeClass ? 'kubernetes_runtime_class' : 'kubernetes_refused',
    evidence: `The cluster refuses to ${verb} ${resource}: ${message}`,
    remedy: isRuntimeClass
      ? 'Apply the manifests of infra/kubernetes. They define the RuntimeClass.'
      : 'Apply the manifests of infra/kubernetes again, or change the rule that the evidence names.',
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const CODES: Record<KubeReason, ErrorCode> = {
  unreachable: 'runtime_unavailable',
  credentials: 'runtime_unavailable',
  forbidden: 'runtime_unavailable',
  refused: 'runtime_unavailable',
  quota: 'quota_exceeded',
  missing: 'internal',
  exists: 'internal',
  conflict: 'runtime_unavailable',
  expired: 'internal',
  invalid: 'internal',
}
const MESSAGE_CHARACTERS = 500
