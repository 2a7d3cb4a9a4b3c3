import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createHostBaseBuilder } from '../../../agent/drivers/bases/builder.ts'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 * 1024
const builder = createHostBaseBuilder()
let directory = ''
let pool: BtrfsPool

beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-bases-'))
  pool = await openBtrfsPool({
    dataDir: directory,
    runDir: path.join(directory, 'run'),
    initialBytes: 768 * MIB,
    stepBytes: 0,
    hostReserveBytes: 0,
    logger: silentLogger,
  })
})

afterAll(async () => {
  await pool.close()
  fs.rmSync(directory, { recursive: true, force: true })
})

/** Builds a base into a new subvolume. Returns its path and the progress messages. */
async function build(name: string, signal = new AbortController().signal): Promise<{ root: string; told: string[] }> {
  const told: string[] = []
  await pool.create(`bas_${name}`, 'demo')
  const root = pool.path(`bas_${name}`)
  await builder.build(name, root, { progress: (message) => told.push(message), signal })
  return { root, told }
}

/** Runs a command as root in the base, and returns its output. */
async function runIn(root: string, shell: string): Promise<string> {
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' }
  const { stdout } = await runOk('/usr/sbin/chroot', [root, '/bin/sh', '-c', shell], { env })
  return stdout.trim()
}

function expectMountPoints(root: string): void {
  for (const name of ['proc', 'sys', 'dev', 'run', 'tmp', 'var/tmp']) {
    expect([name, fs.readdirSync(path.join(root, name))]).toEqual([name, []])
  }
  expect(fs.statSync(path.join(root, 'tmp')).mode & 0o7777).toBe(0o1777)
  expect(fs.statSync(path.join(root, 'root')).mode & 0o777).toBe(0o700)
  expect(fs.statSync(root).mode & 0o777).toBe(0o755)
  for (const name of ['hosts', 'resolv.conf', 'hostname', 'machine-id']) {
    const stat = fs.lstatSync(path.join(root, 'etc', name))
    expect([name, stat.isFile(), stat.size, stat.mode & 0o777]).toEqual([name, true, 0, 0o644])
  }
}

function expectNoDevicesOrMounts(root: string): void {
  // Uses find, because Node's recursive readdir follows links such as /var/run out of the root.
  const found = execFileSync('find', [root, '(', '-type', 'b', '-o', '-type', 'c', '-o', '-type', 's', ')'])
  expect(found.toString()).toBe('')
  expect(fs.readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(root)
}

describe('busybox', () => {
  test('it is a working system', async () => {
    const { root, told } = await build('busybox')
    expect(told.length).toBeGreaterThan(0)
    expectMountPoints(root)
    expectNoDevicesOrMounts(root)
    expect(await runIn(root, 'echo hello | tr a-z A-Z; id -un; grep -c . /etc/passwd; which vi')).toBe(
      'HELLO\nroot\n5\n/bin/vi',
    )
  })
})

describe('debian', () => {
  test('it is the current stable release with the promised programs, without caches', async () => {
    const { root, told } = await build('debian')
    expect(told.length).toBeGreaterThan(3)
    expectMountPoints(root)
    expectNoDevicesOrMounts(root)
    expect(await runIn(root, '. /etc/os-release; echo $ID $VERSION_CODENAME')).toBe('debian trixie')
    for (const program of ['bash', 'curl', 'git', 'ps', 'ip', 'apt-get']) {
      expect(await runIn(root, `command -v ${program}`)).toContain(program)
    }
    expect(fs.statSync(path.join(root, 'etc/ssl/certs/ca-certificates.crt')).size).toBeGreaterThan(100_000)
    for (const name of ['var/lib/apt/lists', 'var/cache', 'var/log']) {
      const files = fs.readdirSync(path.join(root, name), { recursive: true, withFileTypes: true })
      expect(files.filter((entry) => !entry.isDirectory())).toEqual([])
    }
    expect(fs.existsSync(path.join(root, 'etc/apt/apt.conf.d/99mmdebstrap'))).toBe(false)
    expect(fs.readFileSync(path.join(root, 'etc/apt/sources.list'), 'utf8')).toMatch(/^deb .* trixie main$/m)
  })

  test('an aborted build ends at once and leaves no mount', async () => {
    const controller = new AbortController()
    const reason = new Error('called off')
    await pool.create('bas_aborted', 'demo')
    const root = pool.path('bas_aborted')
    const building = builder.build('debian', root, {
      progress: (message) => {
        if (message.startsWith('Fetching')) controller.abort(reason)
      },
      signal: controller.signal,
    })
    await expect(building).rejects.toBe(reason)
    expect(fs.readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(root)
    await pool.destroy('bas_aborted')
  })
})

describe('any name', () => {
  test('an unknown one is base_not_found', async () => {
    const options = { progress: () => undefined, signal: new AbortController().signal }
    await expect(builder.build('arch', directory, options)).rejects.toMatchObject({ code: 'base_not_found' })
  })
})
