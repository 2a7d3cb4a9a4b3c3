/** A pod manifest for kubectl. */
export interface PodManifest {
  apiVersion: 'v1'
  kind: 'Pod'
  metadata: Record<string, unknown>
  spec: Record<string, unknown>
}

/** Returns a pod as the agent creates it, with changes to its specification, its security context and its container. */
export function boxManifest(
  name: string,
  spec: Record<string, unknown> = {},
  { security = {}, container = {} }: { security?: object; container?: object } = {},
): PodManifest {
  const securityContext = {
    ...{ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, seccompProfile: { type: 'RuntimeDefault' } },
    ...security,
  }
  const limits = { cpu: '100m', memory: '32Mi' }
  const image = 'registry.k8s.io/pause:3.10'
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: {
        'app.kubernetes.io/managed-by': 'boxyard',
        'app.kubernetes.io/name': 'box',
        'boxyard.dev/instance': 'manifest',
        'boxyard.dev/project': 'demo',
        'boxyard.dev/box': 'web',
      },
      annotations: { 'boxyard.dev/instance': 'manifest' },
    },
    spec: {
      runtimeClassName: 'boxyard',
      hostUsers: false,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      containers: [{ name: 'box', image, resources: { requests: limits, limits }, securityContext, ...container }],
      ...spec,
    },
  }
}
