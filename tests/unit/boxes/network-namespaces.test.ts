import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { mountedNamespaces, namespacesOf } from '../../../agent/drivers/boxes/network-namespaces.ts'
import { eventually } from '../../helpers/eventually.ts'

const here = (): number => fs.statSync('/proc/self/ns/net').ino

test('finds the namespace of a process among thousands of its descriptors, and lets others run meanwhile', async () => {
  const fds = Array.from({ length: 4_000 }, () => fs.openSync('/dev/null', 'r'))
  let rounds = 0
  let isOver = false
  const others = (async () => {
    for (; !isOver; rounds++) await nextTurn()
  })()
  const found = await namespacesOf({ processes: () => [process.pid, 2 ** 22 + 1] }, 'box')
  isOver = true
  await others
  for (const fd of fds) fs.closeSync(fd)
  expect(found).toEqual([{ inode: here(), path: `/proc/${process.pid}/ns/net` }])
  expect(rounds).toBeGreaterThan(4_000 / 256 / 2)
})

test('finds a namespace that only a descriptor holds, and those that are mounted', async () => {
  const child = spawn('unshare', ['--net', 'sleep', '1000'], { stdio: 'ignore' })
  const path = `/proc/${child.pid}/ns/net`
  await eventually(() => fs.statSync(path).ino !== here())
  const inode = fs.statSync(path).ino
  const fd = fs.openSync(path, 'r')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const found = await namespacesOf({ processes: () => [process.pid] }, 'box')
  fs.closeSync(fd)
  expect(found).toContainEqual({ inode, path: `/proc/${process.pid}/fd/${fd}` })
  const table = '40 1 0:4 net:[4026532008] /run/netns/a\\040b rw - nsfs nsfs rw\n41 1 0:5 / /proc rw - proc proc rw\n'
  expect(mountedNamespaces(table)).toEqual([['net:[4026532008]', '/run/netns/a b']])
})
