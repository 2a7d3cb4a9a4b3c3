import { readAgentSettings } from '../../../agent/config/agent.ts'
import type { Facts } from '../../../agent/doctor/facts.ts'

/** Returns the details that doctor collects on a healthy host before the first start. */
export function soundFacts(): Facts {
  const agent = readAgentSettings({})
  return {
    isRoot: true,
    now: NOW,
    program: { version: '1.2.0', commit: null, node: '24.0.0', schema: 6 },
    settings: { agent, front: { host: '127.0.0.1', port: 8080 }, faults: [], hiddenFile: null },
    kernel: {
      release: '6.12.48+deb13-amd64',
      machine: 'x64',
      filesystems: { value: ['ext4', 'btrfs'] },
      modules: { btrfs: { value: true }, loop: { value: true }, nf_tables: { value: true } },
      hasLoopControl: true,
      mountInfo: { value: '25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw' },
      controllers: { value: ['cpuset', 'cpu', 'io', 'memory', 'pids'] },
      namespaces: { value: ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'] },
      namespaceLimits: { value: { user: 10_000, net: 10_000 } },
      terminals: { value: { max: 65_024, reserve: 1_024 } },
    },
    network: {
      nft: { value: { isUsable: true, output: '' } },
      problems: { value: [] },
      nameservers: { value: [{ address: '192.0.2.1', answered: true }] },
      lentNumbers: [],
    },
    tools: [{ name: 'crun', package: 'crun', minVersion: '1.8', path: '/usr/bin/crun', version: '1.21' }],
    crunPackage: { value: { name: 'crun', installed: '1.21-1', lacks: null, offered: null } },
    clock: { isSynchronized: { value: true }, newestFile: { path: '/x', at: NOW - 1000 } },
    disk: {
      value: {
        ...{ dataDir: agent.dataDir, exists: true, path: agent.dataDir, type: 'ext4', isReadOnly: false },
        ...{ totalBytes: 100 * GIB, availableBytes: 50 * GIB, freeInodes: 1_000_000, pool: null },
      },
    },
    ports: [port('BOXYARD_PORT', 8080), port('BOXYARD_AGENT_PORT', 8090)],
    files: [
      {
        ...{ path: agent.dataDir, allowed: 0o700, required: 0o700, neededBy: null },
        found: { value: { mode: 0o700, uid: 0, isDirectory: true } },
      },
    ],
    service: {
      ...{ schema: { value: null }, hasPoolImage: false, expectsPool: { value: false }, holder: { value: null } },
      ...{ url: 'http://127.0.0.1:8080', health: { hidden: 'no answer (ECONNREFUSED)' }, runningVersion: null },
      ...{ units: { value: null }, lastFailure: null },
    },
  }
}

function port(variable: string, number: number): Facts['ports'][number] {
  return { variable, host: '127.0.0.1', port: number, holders: { value: [] }, refusal: null }
}

const GIB = 1024 ** 3
const NOW = Date.parse('2026-11-24T12:00:00Z')
