import * as z from 'zod'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import { type BoxParts, buildBoxConfig } from '../host/oci-spec.ts'

/** The part of containerd's `config.json` for a box's container that the agent reads. */
export type GivenConfig = z.infer<typeof GIVEN>

/** The identity, namespaces and ids of a container's pod. */
export interface PodIdentity {
  podUid: string
  podName: string
  namespace: string
  container: string
  /** The value of the pod's instance annotation. */
  instanceId: string
  userNamespace: string
  networkNamespace: string
  /** The host id of the box's id 0. */
  idBase: number
}

/** Parses containerd's configuration. Throws an error that names the first invalid field. */
export function parseGivenConfig(text: string): GivenConfig {
  const parsed = GIVEN.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(`config.json: ${issue?.path.join('.')}: ${issue?.message}`)
}

/** Reads the pod from containerd's own annotations, which the pod cannot set. Throws for a pod without a user namespace. */
export function podIdentityOf(given: GivenConfig): PodIdentity {
  const { annotations, linux } = given
  const pathOf = (type: string): string => {
    const path = linux.namespaces.find((each) => each.type === type)?.path
    if (path === undefined) throw new Error(`the pod has no ${type} namespace of its own; it needs hostUsers: false`)
    return path
  }
  const [range, ...more] = linux.uidMappings ?? []
  const isWhole = range !== undefined && range.containerID === 0 && range.size >= IDS_PER_BOX && more.length === 0
  if (!isWhole) throw new Error('the pod must have 65536 ids of its own')
  return {
    podUid: annotations['io.kubernetes.cri.sandbox-uid'],
    podName: annotations['io.kubernetes.cri.sandbox-name'],
    namespace: annotations['io.kubernetes.cri.sandbox-namespace'],
    container: annotations['io.kubernetes.cri.container-name'],
    instanceId: annotations['boxyard.dev/instance'],
    userNamespace: pathOf('user'),
    networkNamespace: pathOf('network'),
    idBase: range.hostID,
  }
}

/**
 * Builds the configuration of a box's container in a pod. It has the mounts, filters and (no) capabilities of every box, with the pod's
 * namespaces, cgroup and ids. Omits the CPU limit, which the agent sets after the start, because a throttled start takes a second.
 */
export function buildPodConfig(given: GivenConfig, spec: PodBox, { seccomp, ...parts }: PodParts): object {
  const own = buildBoxConfig(spec, { ...parts, seccompFilter: '' })
  const { rlimits: _rlimits, ...process } = own.process ?? {}
  // Drops the pod's devices.
  const { resources, devices: _devices, ...linux } = given.linux
  const { quota: _quota, ...cpu } = resources.cpu ?? {}
  const memory = resources.memory?.limit === undefined ? {} : withRoom(resources.memory)
  return {
    ociVersion: given.ociVersion,
    root: own.root,
    // Omits rlimits, which the wrapper sets, because runc may lack the privilege for a process of other ids.
    process: { ...process, ...labelsOf(given) },
    mounts: own.mounts,
    annotations: given.annotations,
    linux: {
      ...linux,
      namespaces: [...linux.namespaces.filter(({ type }) => type !== 'cgroup'), { type: 'cgroup' }],
      resources: { ...resources, cpu, memory, pids: { limit: spec.pidsMax } },
      seccomp,
      maskedPaths: own.linux.maskedPaths,
      readonlyPaths: own.linux.readonlyPaths,
    },
  }
}

type PodBox = Pick<BoxSpec, 'pidsMax' | 'environment'>

export interface PodParts extends Omit<BoxParts, 'seccompFilter'> {
  /** The seccomp profile in OCI form. */
  seccomp: unknown
}

// Keeps the labels of the cluster's security modules, but not the kubelet's oom_score_adj. With it, the OOM killer would choose init, and
// with it the box, before the commands.
function labelsOf({ process }: GivenConfig): object {
  const { apparmorProfile, selinuxLabel } = process
  return {
    oomScoreAdj: 0,
    ...(apparmorProfile === undefined ? {} : { apparmorProfile }),
    ...(selinuxLabel === undefined ? {} : { selinuxLabel }),
  }
}

// Raises the limit for runc, which needs about 20 MiB in the box's cgroup. The agent sets the box's own limit after the start.
function withRoom(memory: { limit?: number | undefined; swap?: number | undefined }): object {
  const limit = Math.max(memory.limit ?? 0, START_BYTES)
  return { ...memory, limit, ...(memory.swap === undefined ? {} : { swap: Math.max(memory.swap, limit) }) }
}

const IDS_PER_BOX = 65_536
const START_BYTES = 64 * 1024 ** 2

const NAME = z.string().min(1).max(253)
const MAPPING = z.looseObject({ containerID: z.number(), hostID: z.number(), size: z.number() })
const MEMORY = z.looseObject({ limit: z.number().optional(), swap: z.number().optional() })
const CPU = z.looseObject({ quota: z.number().optional() })
const GIVEN = z.looseObject({
  ociVersion: z.string(),
  process: z.looseObject({
    apparmorProfile: z.string().optional(),
    selinuxLabel: z.string().optional(),
  }),
  annotations: z
    .looseObject({
      'io.kubernetes.cri.sandbox-uid': NAME,
      'io.kubernetes.cri.sandbox-name': NAME,
      'io.kubernetes.cri.sandbox-namespace': NAME,
      'io.kubernetes.cri.container-name': NAME,
      'io.kubernetes.cri.container-type': z.literal('container'),
      'boxyard.dev/instance': z.string().regex(/^[a-z0-9]{8}$/),
    })
    .catchall(z.string()),
  linux: z.looseObject({
    namespaces: z.array(z.looseObject({ type: z.string(), path: z.string().optional() })),
    uidMappings: z.array(MAPPING).optional(),
    resources: z.looseObject({ memory: MEMORY.optional(), cpu: CPU.optional() }),
  }),
})
