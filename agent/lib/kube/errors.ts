import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'

/** What a failed call comes down to. `invalid`: the object itself; `refused`: a rule of the cluster, not its RBAC. */
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

/** A cause that an operator has to mend, as the health report tells it. */
export interface KubeFault {
  code: string
  evidence: string
  remedy: string
}

/** A failed call of the Kubernetes API: the ServiceError that a client sees, and why, for those who can go on. */
export class KubeError extends ServiceError {
  readonly reason: KubeReason
  /** Null where it is nothing of the deployment. */
  readonly fault: KubeFault | null

  constructor(reason: KubeReason, detail: string, options: { cause?: unknown; fault?: KubeFault } = {}) {
    super(CODES[reason], detail, { cause: options.cause })
    this.reason = reason
    this.fault = options.fault ?? null
  }
}

/** Whether `error` is a failed call for this very reason. */
export function isKubeError(error: unknown, reason: KubeReason): error is KubeError {
  return error instanceof KubeError && error.reason === reason
}

/** What was asked, in the words of RBAC. */
export interface KubeAction {
  verb: 'get' | 'list' | 'watch' | 'create' | 'patch' | 'delete'
  /** Such as `pods` or `pods/resize`. */
  resource: string
  /** Null for what belongs to no namespace. */
  namespace: string | null
}

/** What the API server said instead of doing it: its Status object, distrusted. */
export interface KubeStatus {
  status: number
  reason: string
  message: string
  /** The kind that `details` names, such as `namespaces`. */
  kind: string
}

/** Reads a Status object out of an answer's body. */
export function readKubeStatus(status: number, body: unknown): KubeStatus {
  const { reason, message, details } = asRecord(body)
  const { kind } = asRecord(details)
  return { status, reason: asText(reason), message: asText(message).slice(0, MESSAGE_CHARACTERS), kind: asText(kind) }
}

/** No answer, or only that the server cannot: `what` it does instead, without a host name. */
export function unreachableError(what: string, cause: unknown): KubeError {
  return new KubeError('unreachable', "The cluster's API server does not answer.", {
    cause,
    fault: {
      code: 'kubernetes_unreachable',
      evidence: `The cluster's API server ${what}.`,
      remedy: 'Start it, or correct the server in the kubeconfig; boxes go on running meanwhile.',
    },
  })
}

/** The account lacks a verb: RBAC says no. */
export function forbiddenError({ verb, resource, namespace }: KubeAction, cause: unknown): KubeError {
  const where = namespace === null ? '' : ` in namespace "${namespace}"`
  const what = `The agent may not ${verb} ${resource}${where}`
  return new KubeError('forbidden', `${what}: give its ServiceAccount the verb.`, {
    cause,
    fault: {
      code: 'kubernetes_forbidden',
      evidence: `${what}.`,
      remedy: `Give its ServiceAccount the verb "${verb}" on "${resource}": apply the manifests of infra/kubernetes again.`,
    },
  })
}

/** Any other answer that is no success. A 403 here is one that RBAC did not say. */
export function kubeRefusalError(action: KubeAction, said: KubeStatus): KubeError {
  const cause = new Error(`${action.verb} ${action.resource}: ${said.status} ${said.reason}: ${said.message}`)
  if (said.status === 401) return credentialsError(cause)
  if (said.status === 403) return admissionError(action, said, cause)
  if (said.status === 404 && said.kind === 'namespaces') return namespaceError(action, cause)
  if (said.status === 404) return new KubeError('missing', 'The cluster does not know the pod.', { cause })
  if (said.status === 410) return new KubeError('expired', 'The cluster no longer knows that version.', { cause })
  if (said.status === 409 && said.reason === 'AlreadyExists') {
    return new KubeError('exists', 'The cluster has an object of that name.', { cause })
  }
  if (said.status === 409) return new KubeError('conflict', 'The pod changed meanwhile; try again.', { cause })
  const fault = {
    ...refusedFault(action, said),
    remedy: "It is a fault of the agent or a policy; the agent's log names it.",
  }
  return new KubeError('invalid', 'The cluster takes the request for invalid; the cause is logged.', { cause, fault })
}

function credentialsError(cause: Error): KubeError {
  return new KubeError('credentials', "The cluster does not accept the agent's credentials; they may have expired.", {
    cause,
    fault: {
      code: 'kubernetes_credentials',
      evidence: "The cluster's API server does not accept the agent's credentials; they may have expired.",
      remedy: 'Replace the token or certificate in the kubeconfig: it is read again by itself.',
    },
  })
}

function admissionError(action: KubeAction, said: KubeStatus, cause: Error): KubeError {
  // Quotas and other rules share status and reason; only the message tells them apart.
  if (said.message.includes('exceeded quota')) {
    const detail = `The cluster's quota for namespace "${action.namespace}" is used up.`
    const remedy = 'Raise the ResourceQuota of the namespace, or delete boxes.'
    const fault = { code: 'kubernetes_quota', evidence: detail, remedy }
    return new KubeError('quota', detail, { cause, fault })
  }
  const detail = 'A rule of the cluster refuses the pod of the box; the health report names it.'
  return new KubeError('refused', detail, { cause, fault: refusedFault(action, said) })
}

function namespaceError({ namespace }: KubeAction, cause: Error): KubeError {
  const detail = `The cluster has no namespace "${namespace}".`
  const remedy = 'Apply the manifests of infra/kubernetes, or correct BOXYARD_NAMESPACE.'
  return new KubeError('refused', detail, { cause, fault: { code: 'kubernetes_namespace', evidence: detail, remedy } })
}

function refusedFault({ verb, resource }: KubeAction, { message }: KubeStatus): KubeFault {
  const isRuntimeClass = /RuntimeClass .*not found/.test(message)
  return {
    code: isRuntimeClass ? 'kubernetes_runtime_class' : 'kubernetes_refused',
    evidence: `The cluster refuses to ${verb} ${resource}: ${message}`,
    remedy: isRuntimeClass
      ? 'Apply the manifests of infra/kubernetes: they bring the RuntimeClass.'
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
