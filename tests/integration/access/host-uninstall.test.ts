import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { runTokenCommand } from '../../../agent/compose/access-commands.ts'
import { runBackupCommand } from '../../../agent/compose/backup-command.ts'
import { runDownCommand } from '../../../agent/compose/take-down.ts'
import { runUninstallCommand } from '../../../agent/compose/uninstall-command.ts'
import { agentCommand } from '../../../infra/commands.ts'
import { createDeploymentLab, type DeploymentLab } from '../../helpers/access/made-deployment.ts'
import { createScratchRoot } from '../../helpers/systemd/scratch-root.ts'

let lab: DeploymentLab
let name: string
let count = 0

beforeAll(() => {
  lab = createDeploymentLab()
})

beforeEach(() => {
  name = `data directory ${++count}`
  mkdirSync(path())
  lab.printed.length = 0
})

afterAll(() => lab.remove())

const path = (...names: string[]) => join(lab.scratch, name, ...names)
const purge = (of = name) =>
  runUninstallCommand(lab.depsOf(of), ['--purge-data', '--yes'], (text) => lab.printed.push(text))

test('in a directory that was never a deployment nothing is removed', async () => {
  for (const own of ['backups', 'keys', 'log']) {
    mkdirSync(path(own))
    writeFileSync(path(own, 'mine'), '')
  }
  writeFileSync(path('instance'), 'of another program\n')
  expect(await purge()).toBe(0)
  expect(readdirSync(path())).toEqual(['backups', 'instance', 'keys', 'log'])
  expect(lab.printed[0]).toBe(`${path()} has no deployment. Nothing in it was removed.`)
})

test('a purge that was killed after the database had gone is done again', async () => {
  writeFileSync(path('instance'), '0123abcd\n')
  mkdirSync(path('keys'))
  expect(await purge()).toBe(0)
  expect(existsSync(path())).toBe(false)
})

test('nothing is removed of what is mounted in a directory with spaces, nor behind a link to it', async () => {
  writeFileSync(path('instance'), '0123abcd\n')
  mkdirSync(path('backups'))
  symlinkSync(path(), join(lab.scratch, `link-${count}`))
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', path('backups')])
  try {
    for (const each of [name, `link-${count}`]) await expect(purge(each)).rejects.toThrow(' has mounts (')
  } finally {
    execFileSync('umount', [path('backups')])
  }
  expect(readdirSync(path())).toEqual(['backups', 'instance'])
})

test('the pool goes where its image is a link to another disk', async () => {
  const image = join(lab.scratch, 'elsewhere.img')
  writeFileSync(image, 'data of boxes')
  writeFileSync(path('instance'), '0123abcd\n')
  symlinkSync(image, path('pool.img'))
  symlinkSync(path(), join(lab.scratch, `link-${count}`))
  expect(await purge(`link-${count}`)).toBe(0)
  expect([existsSync(image), readdirSync(path())]).toEqual([false, []])
})

test('services of systemd that are of another data directory stay', () => {
  const root = createScratchRoot()
  try {
    const stub = '#!/bin/sh\necho "$@" >>/asked\n[ "$1" != show ] || echo loaded\n'
    root.write('/usr/local/bin/systemctl', stub, 0o755)
    root.write('/etc/boxyard/boxyard.conf', "BOXYARD_DATA_DIR='/srv/boxyard/'\n")
    const command = agentCommand(['admin', 'uninstall', '--keep-data', '--yes']).join(' ')
    const uninstall = (directory: string) =>
      root.run(`mkdir -p ${directory} && BOXYARD_DATA_DIR=${directory} BOXYARD_RUN_DIR=/run/of-test ${command}`)
    expect(uninstall('/srv/other')).toEqual({
      code: 0,
      output: expect.stringContaining('because they serve /srv/boxyard.'),
    })
    expect(root.asked()).toEqual([])
    expect(uninstall('/srv/boxyard').output).toContain('Stopped and disabled boxyard-agent.service.')
    expect(root.asked()).toContain('stop boxyard-boxes.service')
  } finally {
    root.remove()
  }
})

test('a purge says only what it removes', async () => {
  const print = (text: string) => lab.printed.push(text)
  const made = `purged-${count}`
  await lab.make(made)
  lab.printed.length = 0
  await runUninstallCommand(lab.depsOf(made), ['--keep-data', '--yes'], print)
  expect(lab.printed.join('\n')).toContain(`Kept in ${join(lab.scratch, made)}: 0 boxes with all data`)
  lab.printed.length = 0
  await purge(made)
  expect(lab.printed.slice(0, 2)).toEqual(['Stopped 0 boxes.', `Removed ${join(lab.scratch, made)}.`])
  expect(lab.printed.join('\n')).not.toMatch(/Kept|restarts/)
})

test.each([
  ['--expires', '0', 'must be at least 1 s, not "0"'],
  ['--expires', '99999999d', 'must be at most 315360000 s, not "99999999d"'],
  ['--name', '', 'with a letter or digit at both ends, not ""'],
  ['--permissions', 'read,fly', 'must be read, write, exec, ports or admin, not "read,fly"'],
  ['--projects', 'A', 'not "A"'],
])('token %s %j is refused in plain words', async (flag, value, words) => {
  const made = `tokens-${count}`
  await lab.make(made)
  const refused = runTokenCommand(lab.depsOf(made), [`${flag}=${value}`], () => undefined)
  await expect(refused).rejects.toThrow(`${flag}: `)
  await expect(refused).rejects.toThrow(words)
})

test('the help of token names the commands of the client', async () => {
  const print = (text: string) => lab.printed.push(text)
  await runTokenCommand(lab.depsOf(name), ['--help'], print)
  expect(lab.printed.join()).toContain('boxyard token ls')
})

test('who may not look into the data directory is not told that it is empty', async () => {
  const made = `made-${count}`
  await lab.make(made)
  execFileSync('chmod', ['0711', lab.scratch])
  const print = (text: string) => lab.printed.push(text)
  process.seteuid?.(65_534)
  try {
    for (const command of [
      () => runDownCommand(lab.depsOf(made), [], print),
      () => runTokenCommand(lab.depsOf(made), [], print),
      () => runBackupCommand(lab.depsOf(made), ['/tmp/none.tar.gz']),
    ])
      await expect(command()).rejects.toThrow(/EACCES/)
  } finally {
    process.seteuid?.(0)
  }
  expect(lab.printed).toEqual([])
})
