/** Returns the manifest of a busybox pod with a user namespace. Its one container is `main`. `spec` extends the pod's specification. */
export function busyboxPod(name: string, spec: object = {}): string {
  const resources = { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '200m', memory: '64Mi' } }
  const main = { name: 'main', image: 'boxyard.test/busybox:1', command: ['sleep', '600'], resources }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      hostUsers: false,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: [main],
      ...spec,
    },
  })
}
