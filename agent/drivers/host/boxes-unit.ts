import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { type CgroupLayout, findCgroupLayout } from './cgroup/layout.ts'

/**
 * Returns the path, below the mount point of the hierarchy, of the cgroup that systemd has delegated to programs that outlive the agent.
 * Works for a process of the unit of the agent or of the boxes, and returns null for any other. `groups` is its /proc/PID/cgroup. Pure.
 */
export function boxesUnitOf(groups: string): string | null {
  for (const [, path = ''] of groups.matchAll(/^(?:0:|\d+:name=systemd):(.*)$/gm)) {
    const parts = path.split('/')
    const index = parts.findIndex((part) => part === AGENT_UNIT || part === BOXES_UNIT)
    if (index >= 0) return [...parts.slice(0, index), BOXES_UNIT].join('/')
  }
  return null
}

/**
 * Returns the path of the cgroup below which this process keeps the cgroups of boxes. In a unit, it is the cgroup of the unit of the boxes.
 * For processes outside of the units, `runDir` records it. An empty path is the root of the hierarchy.
 * @throws Error with the remedy if this process belongs to the units, and the boxes' own cannot be used
 */
export function findBoxesHome({ version, memory: root }: CgroupLayout, runDir: string): string {
  const note = `${runDir}/cgroup`
  const unit = boxesUnitOf(readFileSync('/proc/self/cgroup', 'utf8'))
  if (unit === null) {
    const noted = version === 2 ? tryReadText(note) : ''
    return noted !== '' && existsSync(`${root}${noted}`) ? noted : ''
  }
  if (version === 1)
    throw new Error('Under systemd, boxes need cgroup version 2. Boot without systemd.unified_cgroup_hierarchy=0.')
  if (!existsSync(`${root}${unit}`)) throw new Error(`${BOXES_UNIT} is not active: systemctl start ${BOXES_UNIT}`)
  if (tryReadText(note) !== unit) writeFileSync(note, unit, { mode: 0o600 })
  return unit
}

/**
 * Returns `command`, changed so that it runs in the cgroup `name` of the unit of the boxes, where it outlives the agent. Returns it
 * unchanged if this process does not belong to the units.
 * @throws Error as a file system operation if the unit is not active
 */
export function inBoxesUnit(name: 'edge' | 'lxcfs' | 'names' | 'shim', command: readonly string[]): string[] {
  const unit = boxesUnitOf(readFileSync('/proc/self/cgroup', 'utf8'))
  if (unit === null) return [...command]
  const { memory: root } = findCgroupLayout(readFileSync('/proc/self/mountinfo', 'utf8'))
  mkdirSync(`${root}${unit}/${name}`, { recursive: true })
  return ['sh', '-c', JOIN, `${root}${unit}/${name}/cgroup.procs`, ...command]
}

const AGENT_UNIT = 'boxyard-agent.service'
const BOXES_UNIT = 'boxyard-boxes.service'
// A process that moves itself before it starts anything leaves nothing behind in the cgroup of the agent.
const JOIN = 'echo 0 >"$0" && exec "$@"'
