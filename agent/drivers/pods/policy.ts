import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import { ANNOTATION_INSTANCE, LABEL_PROJECT } from './spec.ts'

/**
 * The policy of a project, in the words of the cluster: its boxes take connections from each other and from no other pod.
 * A network plugin that enforces policies does so besides this agent. A pure function.
 */
export function projectPolicy(project: string, instanceId: string): NetworkPolicy {
  const labels = { [LABEL_PROJECT]: project, [ANNOTATION_INSTANCE]: instanceId }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: policyName(project, instanceId),
      labels: { 'app.kubernetes.io/managed-by': 'boxyard', ...labels },
    },
    spec: {
      podSelector: { matchLabels: labels },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: labels } }] }],
    },
  }
}

/** Two deployments may share a namespace and the name of a project. */
export function policyName(project: string, instanceId: string): string {
  return `project-${project}-${instanceId}`
}
