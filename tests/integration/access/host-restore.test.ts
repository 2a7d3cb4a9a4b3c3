import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { openDeployment } from '../../../agent/compose/deployment.ts'
import { runRestoreCommand } from '../../../agent/compose/restore-command.ts'
import { createDeploymentLab, type DeploymentLab } from '../../helpers/access/made-deployment.ts'

let lab: DeploymentLab
let archive: string
/** Contents of the archive, unpacked again for each test. */
let unpacked: string
let target: string
let count = 0

beforeAll(async () => {
  lab = createDeploymentLab()
  await lab.make('origin')
  archive = await lab.backUp('origin')
})

beforeEach(() => {
  count++
  target = `target-${count}`
  unpacked = join(lab.scratch, `unpacked-${count}`)
  mkdirSync(unpacked)
  execFileSync('tar', ['-xzf', archive, '-C', unpacked])
})

afterAll(() => lab.remove())

const restore = (path: string) => runRestoreCommand(lab.depsOf(target), [path])
const inTarget = (...names: string[]) => join(lab.scratch, target, ...names)
const unpackedFile = (name: string) => join(unpacked, 'boxyard-backup', name)

/** Packs `unpacked` with these options of tar, and returns the archive's path. */
function pack(...options: string[]): string {
  const path = join(lab.scratch, `packed-${count}.tar.gz`)
  execFileSync('tar', ['-czf', path, '-C', unpacked, ...options, 'boxyard-backup'])
  return path
}

test.each(['boxyard.db-wal', 'boxyard.db-shm', 'boxyard.db-journal'])(
  'what SQLite left beside a database that was moved away is never applied to a restored one (%s)',
  async (name) => {
    mkdirSync(inTarget(), { recursive: true })
    writeFileSync(inTarget(name), 'of another database')
    await expect(restore(archive)).rejects.toThrow(`already has a deployment (${name})`)
    expect(readFileSync(inTarget(name), 'utf8')).toBe('of another database')
  },
)

test('a refused restore leaves nothing', async () => {
  const damaged = join(lab.scratch, `damaged-${count}.tar.gz`)
  writeFileSync(damaged, 'no archive')
  target = `target-${count}/below`
  await expect(restore(damaged)).rejects.toThrow('not a complete archive')
  expect(readdirSync(lab.scratch)).not.toContain(`target-${count}`)
  const running = join(lab.depsOf(target).settings.runRoot, readFileSync(unpackedFile('instance'), 'utf8').trim())
  mkdirSync(running, { recursive: true })
  try {
    await expect(restore(archive)).rejects.toThrow('boxyard admin down (in a checkout: npm run down)')
  } finally {
    rmSync(running, { recursive: true })
  }
  expect(readdirSync(lab.scratch)).not.toContain(`target-${count}`)
  // Files of others stay.
  mkdirSync(inTarget(), { recursive: true })
  writeFileSync(inTarget('mine'), '')
  await expect(restore(damaged)).rejects.toThrow('not a complete archive')
  expect(readdirSync(inTarget())).toEqual(['mine'])
})

test('a log of another database would change the restored one', async () => {
  // Shows why the test above matters. SQLite applies any valid log beside a database file.
  const [one, other] = ['one', 'other'].map((name) => join(lab.scratch, `${name}.db`)) as [string, string]
  const first = new DatabaseSync(one)
  first.exec('PRAGMA journal_mode = WAL; CREATE TABLE foreign_table (a); INSERT INTO foreign_table VALUES (1)')
  copyFileSync(unpackedFile('boxyard.db'), other)
  copyFileSync(`${one}-wal`, `${other}-wal`)
  first.close()
  const mixed = new DatabaseSync(other)
  const names = mixed.prepare("SELECT name FROM sqlite_schema WHERE name = 'foreign_table'").all()
  mixed.close()
  expect(names).toHaveLength(1)
})

test('a manifest that never ends, or is a link, is not read', async () => {
  for (const make of [
    () => execFileSync('mkfifo', [unpackedFile('manifest.json')]),
    () => symlinkSync('/dev/zero', unpackedFile('manifest.json')),
  ]) {
    rmSync(unpackedFile('manifest.json'))
    make()
    await expect(restore(pack())).rejects.toThrow('it has no manifest')
  }
  expect(existsSync(inTarget())).toBe(false)
})

test('a manifest that is no JSON is refused in words', async () => {
  writeFileSync(unpackedFile('manifest.json'), 'private words')
  const refusal = expect(restore(pack())).rejects
  await refusal.toThrow('The manifest of the archive has an unknown format.')
})

test('an archive without a database is no deployment', async () => {
  const manifest = JSON.parse(readFileSync(unpackedFile('manifest.json'), 'utf8'))
  delete manifest.files['boxyard.db']
  writeFileSync(unpackedFile('manifest.json'), JSON.stringify(manifest))
  rmSync(unpackedFile('boxyard.db'))
  await expect(restore(pack())).rejects.toThrow('The archive is damaged: boxyard.db')
  expect(existsSync(inTarget())).toBe(false)
})

test('files are taken from the archive alone, not through links in it', async () => {
  const elsewhere = join(lab.scratch, `elsewhere-${count}`)
  execFileSync('cp', ['-a', unpackedFile('keys'), elsewhere])
  rmSync(unpackedFile('keys'), { recursive: true })
  symlinkSync(elsewhere, unpackedFile('keys'))
  await expect(restore(pack())).rejects.toThrow(/damaged/)
  expect(readdirSync(elsewhere)).toContain('token-private.json')
})

test('what else an archive holds is not unpacked', async () => {
  writeFileSync(unpackedFile('bomb'), Buffer.alloc(64 * 1024 ** 2))
  const path = pack()
  mkdirSync(inTarget(), { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', inTarget()])
  try {
    expect(await restore(path)).toBe(0)
  } finally {
    execFileSync('umount', [inTarget()])
  }
})

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 200)],
  ['empty', () => Buffer.alloc(0)],
  ['no archive', () => Buffer.from('text')],
])('a file that is %s is refused, and leaves nothing', async (_case, change) => {
  const path = join(lab.scratch, `changed-${count}.tar.gz`)
  writeFileSync(path, change(readFileSync(archive)))
  await expect(restore(path)).rejects.toThrow()
  expect(existsSync(inTarget())).toBe(false)
})

test('of two restores at once one wins, and the other changes nothing', async () => {
  const outcomes = await Promise.allSettled([restore(archive), restore(archive)])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('an agent does not start on a restore that was cut off, and the same command ends it', async () => {
  mkdirSync(inTarget('.restoring'), { recursive: true })
  copyFileSync(unpackedFile('instance'), inTarget('instance'))
  const deps = lab.depsOf(target)
  expect(() => openDeployment(deps, { exclusive: true })).toThrow(/was interrupted.*admin restore/)
  await deps.closers.run(1_000)
  expect(existsSync(inTarget('boxyard.db'))).toBe(false)
  expect(await restore(archive)).toBe(0)
  const next = lab.depsOf(target)
  const { instanceId } = openDeployment(next, { exclusive: true })
  await next.closers.run(1_000)
  expect(instanceId).toBe(readFileSync(unpackedFile('instance'), 'utf8').trim())
})
