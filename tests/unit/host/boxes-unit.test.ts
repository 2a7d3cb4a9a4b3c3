import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { boxesUnitOf, findBoxesHome, inBoxesUnit } from '../../../agent/drivers/host/boxes-unit.ts'
import { createBoxCgroups } from '../../../agent/drivers/host/cgroup/cgroup.ts'
import type { CgroupLayout } from '../../../agent/drivers/host/cgroup/layout.ts'

let root: string
let layout: CgroupLayout

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'boxyard-cgroup-'))
  layout = { version: 2, pids: root, memory: root, cpu: root, cpuacct: root, cpuset: root, blkio: root, execs: root }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test.each([
  ['the agent', '0::/system.slice/boxyard-agent.service\n', '/system.slice/boxyard-boxes.service'],
  ['the shim', '0::/system.slice/boxyard-boxes.service/shim\n', '/system.slice/boxyard-boxes.service'],
  ['the end of the boxes', '0::/custom.slice/boxyard-boxes.service/.control\n', '/custom.slice/boxyard-boxes.service'],
  [
    'the agent beside version 1',
    '3:pids:/x\n1:name=systemd:/system.slice/boxyard-agent.service\n',
    '/system.slice/boxyard-boxes.service',
  ],
  ['a login', '0::/user.slice/user-0.slice/session-1.scope\n', null],
  ['another service', '0::/system.slice/boxyard-front.service\n', null],
  ['a hierarchy without systemd', '4:memory:/boxyard-agent.service\n0::/\n', null],
])('knows the unit of the boxes from the cgroup of %s', (_whose, groups, unit) =>
  expect(boxesUnitOf(groups)).toBe(unit),
)

test('a process outside the units uses the cgroup that an agent in them noted, while it is there', () => {
  const runDir = join(root, 'run')
  mkdirSync(runDir)
  expect(findBoxesHome(layout, runDir)).toBe('')
  const unit = '/system.slice/boxyard-boxes.service'
  writeFileSync(join(runDir, 'cgroup'), unit)
  expect(findBoxesHome(layout, runDir)).toBe('')
  mkdirSync(`${root}${unit}`, { recursive: true })
  expect(findBoxesHome(layout, runDir)).toBe(unit)
  expect(findBoxesHome({ ...layout, version: 1 }, runDir)).toBe('')
  expect(inBoxesUnit('edge', ['haproxy', '-D'])).toEqual(['haproxy', '-D'])
})

test('boxes have their cgroups below the base, and those that run below the root keep them', () => {
  const base = '/system.slice/boxyard-boxes.service'
  mkdirSync(`${root}/boxyard/inst0001/box_old`, { recursive: true })
  const cgroups = createBoxCgroups(layout, 'inst0001', { base })
  expect(readFileSync(`${root}${base}/cgroup.subtree_control`, 'utf8')).toBe('+cpu +memory +pids')
  expect(existsSync(`${root}/cgroup.subtree_control`)).toBe(false)
  expect(existsSync(`${root}${base}/boxyard/pids.max`)).toBe(true)
  expect(cgroups.entrances('box_old')).toEqual([`${root}/boxyard/inst0001/box_old/cgroup.procs`])
  expect(cgroups.entrances('box_new', 'exec')).toEqual([`${root}${base}/boxyard/inst0001/box_new/exec/cgroup.procs`])
  mkdirSync(`${root}${base}/boxyard/inst0001/box_new`)
  expect(cgroups.list().sort()).toEqual(['box_new', 'box_old'])
  // The box's next start places it below the base.
  expect(cgroups.remove('box_old')).toBe(true)
  expect(cgroups.entrances('box_old')).toEqual([`${root}${base}/boxyard/inst0001/box_old/cgroup.procs`])
  cgroups.place('box_new', 'kubepods/pod')
  expect(cgroups.entrances('box_new')).toEqual([`${root}/kubepods/pod/cgroup.procs`])
})
