import { describe, expect, test } from '@jest/globals'
import { INIT_PATH } from '../../../agent/drivers/host/oci-spec.ts'
import { buildPodConfig, parseGivenConfig, podIdentityOf } from '../../../agent/drivers/pods/config.ts'

const MIB = 1024 ** 2

/** Returns containerd's configuration for a box's container, with `changes`. */
function given(changes: { annotations?: object; linux?: object; process?: object; more?: object } = {}): string {
  return JSON.stringify({
    ociVersion: '1.3.0',
    process: {
      user: { uid: 65_535, gid: 65_535 },
      args: ['/pause'],
      env: ['PATH=/bin', 'HOSTNAME=web--demo-1', 'KUBERNETES_PORT=tcp://10.96.0.1:443'],
      cwd: '/srv',
      capabilities: { bounding: ['CAP_SYS_ADMIN'], effective: ['CAP_SYS_ADMIN'], permitted: [], inheritable: [] },
      noNewPrivileges: false,
      oomScoreAdj: 992,
      rlimits: [{ type: 'RLIMIT_NOFILE', soft: 1, hard: 1 }],
      ...changes.process,
    },
    root: { path: 'rootfs' },
    mounts: [
      { destination: '/etc/hosts', type: 'bind', source: '/var/lib/kubelet/pods/u/etc-hosts', options: ['rbind'] },
      { destination: '/dev/termination-log', type: 'bind', source: '/var/lib/kubelet/pods/u/t', options: ['rbind'] },
      { destination: '/data', type: 'bind', source: '/etc', options: ['rbind', 'rw'] },
    ],
    hooks: { createRuntime: [{ path: '/bin/evil' }] },
    annotations: { ...ANNOTATIONS, ...changes.annotations },
    linux: {
      uidMappings: [{ containerID: 0, hostID: 131_072, size: 65_536 }],
      gidMappings: [{ containerID: 0, hostID: 131_072, size: 65_536 }],
      resources: RESOURCES,
      cgroupsPath: '/kubepods/burstable/pod-u/c',
      namespaces: NAMESPACES,
      devices: [{ path: '/dev/sda', type: 'b', major: 8, minor: 0 }],
      maskedPaths: ['/proc/acpi'],
      readonlyPaths: [],
      ...changes.linux,
    },
    ...changes.more,
  })
}

const ANNOTATIONS = {
  'boxyard.dev/instance': 'abcd1234',
  'io.kubernetes.cri.container-name': 'box',
  'io.kubernetes.cri.container-type': 'container',
  'io.kubernetes.cri.sandbox-id': 'f00d',
  'io.kubernetes.cri.sandbox-name': 'web--demo-1',
  'io.kubernetes.cri.sandbox-namespace': 'boxyard',
  'io.kubernetes.cri.sandbox-uid': '11111111-2222-3333-4444-555555555555',
}
const NAMESPACES = [
  { type: 'pid' },
  { type: 'ipc', path: '/proc/7/ns/ipc' },
  { type: 'uts', path: '/proc/7/ns/uts' },
  { type: 'mount' },
  { type: 'network', path: '/proc/7/ns/net' },
  { type: 'cgroup' },
  { type: 'user', path: '/proc/7/ns/user' },
]
const RESOURCES = {
  devices: [{ allow: false, access: 'rwm' }],
  memory: { limit: 512 * MIB, swap: 512 * MIB },
  cpu: { shares: 102, quota: 20_000, period: 100_000 },
}

describe('the configuration that containerd gives', () => {
  test('names box and directory of the pod by its own annotations', () => {
    expect(podIdentityOf(parseGivenConfig(given()))).toEqual({
      podUid: '11111111-2222-3333-4444-555555555555',
      podName: 'web--demo-1',
      namespace: 'boxyard',
      container: 'box',
      instanceId: 'abcd1234',
      userNamespace: '/proc/7/ns/user',
      networkNamespace: '/proc/7/ns/net',
      idBase: 131_072,
    })
  })

  test.each<[string, string, RegExp]>([
    ['is no JSON', '{', /JSON/],
    ['is no object', '[]', /config\.json: /],
    ['has no annotations', given({ more: { annotations: undefined } }), /annotations/],
    ['has no linux part', given({ more: { linux: undefined } }), /linux/],
    ['has a number for an annotation', given({ annotations: { other: 1 } }), /other/],
    ['is of the sandbox', given({ annotations: { 'io.kubernetes.cri.container-type': 'sandbox' } }), /container-type/],
    ...Object.keys(ANNOTATIONS)
      .filter((name) => !/sandbox-(id|name)$/.test(name))
      .map((name): [string, string, RegExp] => [
        `lacks ${name}`,
        given({ annotations: { [name]: undefined } }),
        new RegExp(name.replaceAll('.', '\\.')),
      ]),
    ...['', 'ABCD1234', 'abcd123', 'abcd12345', '../x/../', 'abcd123\n'].map((value): [string, string, RegExp] => [
      `names the instance ${JSON.stringify(value)}`,
      given({ annotations: { 'boxyard.dev/instance': value } }),
      /boxyard\.dev\/instance/,
    ]),
    ['has an empty uid', given({ annotations: { 'io.kubernetes.cri.sandbox-uid': '' } }), /sandbox-uid/],
    ['has a namespace of no type', given({ linux: { namespaces: [{}] } }), /namespaces/],
  ])('is refused where it %s', (_, text, reason) => {
    expect(() => parseGivenConfig(text)).toThrow(reason)
  })

  test.each<[string, object, RegExp]>([
    ['a user namespace', { namespaces: without('user') }, /no user namespace.*hostUsers: false/],
    ['a user namespace that is there', { namespaces: [...without('user'), { type: 'user' }] }, /no user namespace/],
    ['a network of its own', { namespaces: without('network') }, /no network namespace/],
    ['ids', { uidMappings: undefined }, /65536 ids/],
    ['enough ids', { uidMappings: [{ containerID: 0, hostID: 131_072, size: 65_535 }] }, /65536 ids/],
    ['the id 0', { uidMappings: [{ containerID: 1, hostID: 131_072, size: 65_536 }] }, /65536 ids/],
    [
      'one range',
      {
        uidMappings: [
          { containerID: 0, hostID: 131_072, size: 65_536 },
          { containerID: 65_536, hostID: 0, size: 1 },
        ],
      },
      /65536 ids/,
    ],
  ])('is refused of a pod without %s', (_, linux, reason) => {
    expect(() => podIdentityOf(parseGivenConfig(given({ linux })))).toThrow(reason)
  })

  test("marks another container as such, for the agent to refuse, without the owner's text", () => {
    const annotations = {
      'io.kubernetes.cri.container-name': 'other',
      text: '"io.kubernetes.cri.container-name":"box"',
    }
    expect(podIdentityOf(parseGivenConfig(given({ annotations }))).container).toBe('other')
  })
})

describe('the configuration that runc gets', () => {
  const parts = {
    stagedRoot: '/run/boxyard/abcd1234/stage',
    userNamespace: '/proc/7/ns/user',
    networkNamespace: '/proc/7/ns/net',
    init: '/run/boxyard/init/catatonit',
    files: { '/etc/hosts': '/run/boxyard/abcd1234/hosts/box_a' },
    seccomp: { defaultAction: 'SCMP_ACT_ERRNO' },
    cgroupVersion: 1 as const,
  }
  const spec = { pidsMax: 64, environment: { GREETING: 'hi' } }
  const build = (changes?: Parameters<typeof given>[0], more: object = {}): any =>
    buildPodConfig(parseGivenConfig(given(changes)), spec, { ...parts, ...more })

  test("has the pod's namespaces, ids, cgroup and annotations", () => {
    const config = build()
    expect(config.linux.namespaces).toEqual([...without('cgroup'), { type: 'cgroup' }])
    expect(config.linux.uidMappings).toEqual([{ containerID: 0, hostID: 131_072, size: 65_536 }])
    expect(config.linux.gidMappings).toEqual([{ containerID: 0, hostID: 131_072, size: 65_536 }])
    expect(config.linux.cgroupsPath).toBe('/kubepods/burstable/pod-u/c')
    expect(config.annotations).toEqual(ANNOTATIONS)
    expect(config.ociVersion).toBe('1.3.0')
  })

  test("has one cgroup namespace of its own, also if containerd gives none or the host's", () => {
    for (const namespaces of [without('cgroup'), [...without('cgroup'), { type: 'cgroup', path: '/proc/1/ns/cgroup' }]])
      expect(build({ linux: { namespaces } }).linux.namespaces.slice(-1)).toEqual([{ type: 'cgroup' }])
  })

  test("has nothing of the image, the kubelet's files, the environment, hooks and devices", () => {
    const text = JSON.stringify(build())
    for (const foreign of ['/var/lib/kubelet', 'KUBERNETES_PORT', 'HOSTNAME', '/bin/evil', '/dev/sda', 'rootfs'])
      expect(text).not.toContain(foreign)
    expect(build({ more: { hooks: { prestart: [] } } })).not.toHaveProperty('hooks')
  })

  test('runs init with no capability and no way to more, and nothing else', () => {
    const { process } = build()
    expect(process.args).toEqual([INIT_PATH, '-P'])
    expect(process).toMatchObject({ noNewPrivileges: true, terminal: false, cwd: '/', user: { uid: 0, gid: 0 } })
    expect(process.env).toContain('GREETING=hi')
    expect(Object.values(process.capabilities).flat()).toEqual([])
    expect(process).not.toHaveProperty('rlimits')
  })

  test('is not the first that the kernel kills, and keeps the settings of security modules', () => {
    expect(build().process.oomScoreAdj).toBe(0)
    const process = { apparmorProfile: 'cri-default', selinuxLabel: 'system_u:x' }
    expect(build({ process }).process).toMatchObject(process)
    expect(build().process).not.toHaveProperty('apparmorProfile')
  })

  test('has the root, files, filters and masks of every box', () => {
    const config = build()
    expect(config.root).toEqual({ path: parts.stagedRoot, readonly: false })
    expect(config.linux.seccomp).toEqual(parts.seccomp)
    expect(config.linux.maskedPaths).toEqual(expect.arrayContaining(['/proc/kcore', '/sys/firmware', '/sys/fs']))
    expect(config.linux.readonlyPaths).toContain('/proc/sys')
    const hosts = config.mounts.find(({ destination }: { destination: string }) => destination === '/etc/hosts')
    expect(hosts).toMatchObject({ source: parts.files['/etc/hosts'], options: expect.arrayContaining(['ro', 'nodev']) })
    const sources = config.mounts.filter(({ type }: { type: string }) => type === 'bind')
    expect(sources.map(({ source }: { source: string }) => source)).toEqual([parts.init, parts.files['/etc/hosts']])
  })

  test("bounds processes by the box's limit, and leaves processor time unbounded for the start", () => {
    const { resources } = build().linux
    expect(resources.pids).toEqual({ limit: 64 })
    expect(resources.cpu).toEqual({ shares: 102, period: 100_000 })
    expect(resources.devices).toEqual(RESOURCES.devices)
  })

  test.each([
    ['a large limit stays', { limit: 512 * MIB, swap: 512 * MIB }, { limit: 512 * MIB, swap: 512 * MIB }],
    ['a small one leaves runc room', { limit: 16 * MIB, swap: 16 * MIB }, { limit: 64 * MIB, swap: 64 * MIB }],
    ['one without swap names none', { limit: 16 * MIB }, { limit: 64 * MIB }],
    ['none stays none', {}, {}],
  ])('memory: %s', (_, memory, expected) => {
    expect(build({ linux: { resources: { ...RESOURCES, memory } } }).linux.resources.memory).toEqual(expected)
  })
})

function without(type: string): typeof NAMESPACES {
  return NAMESPACES.filter((each) => each.type !== type)
}
